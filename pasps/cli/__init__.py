"""The command line.

Layout: `main` holds the table of commands, each a module of its own name. Those that run a topology: words, exit_codes, stop,
output, scaling, tracebacks <- load_file, frame <- outcome <- summary <- view, live_view <- choose_view, attachment, served <-
supervisor <- run. Those that ask one in another terminal: options, find_run, control_client <- status, top, scale, kill and the
others. `list` only reads run directories.
"""
