"""What `pasps run` tells the shell: one number for what became of the tuples. Pure."""

from __future__ import annotations

OK = 0
BROKEN = 1
INVALID = 2
NOT_STARTED = 3
LEFT_OVER = 4
FAILED = 5
BY_SIGNAL = 128

HELP = """\
exit codes:
  0    finished, or drained after --duration, Ctrl-C or SIGTERM; nothing failed, nothing was left
  1    something in pasps broke
  2    nothing was started: a wrong option, file, topology or --scale
  3    it could not start: initialize raised, a worker process did not come up, or --scale was refused
  4    not drained in time: tuples were left
  5    it ended in order, but user code raised, or tuples failed or were lost and were not replayed
  128+n  ended by signal n without draining: 130 a second Ctrl-C, 143 a second SIGTERM, 141 its output was closed
"""
