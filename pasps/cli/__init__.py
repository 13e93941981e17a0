"""The command line.

Layout: `main` holds the table of commands, each a line with its module. Those that run a topology: words, exit_codes, stop,
output, scaling, frame <- outcome <- summary <- view, live_view <- choose_view, attachment, served <-
supervisor <- run. Those that ask one in another terminal or in a cluster: options, find_run, control_client <- local_topology;
http_exchange, topology_view <- master_client <- find_cluster, cluster_topology; all of them <- find_topology <- status, top, scale,
kill and the others. explain and report ask find_past; of this machine, `list` and they only read run directories.
"""
