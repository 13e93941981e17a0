"""The command line.

Layout: words, exit_codes, stop, output, scaling, tracebacks <- load_file, frame <- outcome <- summary <- view, live_view <- supervisor
<- run <- main.
"""
