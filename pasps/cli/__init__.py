"""The command line.

Layout: `main` holds the table of commands, each a line with its module. Those that run a topology: words, exit_codes, stop,
output, frame <- outcome <- summary <- view, live_view <- supervisor, elasticity <- run. Those that ask one in another terminal
or in a cluster: http_exchange <- master_client <- asked_topology <- which_run <- verbs, status, top, logs, list. explain, report and
whatif ask `which_run` for what may be over; of this machine, `list` and they only read run directories.
"""
