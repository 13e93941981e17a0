"""The command line.

`main` holds the table of commands, each a line with its module, which is imported when the command is called. Those that ask a
topology that runs (verbs, status, top, logs, list) find it in `asking`; explain, report and whatif find what may be over there too.
`run` is on its own: supervisor and stop are its life. `views` is what run, top and status show, `jobs` is traces and et.
"""
