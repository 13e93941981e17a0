"""What the command line tells the shell: one number for what became of a run's tuples, or of what was asked of a run. Pure."""

from __future__ import annotations

from pasps.cluster.master.failures import UnknownTopologyError
from pasps.errors import BusyError, InvalidError, PaspsError, TimeoutExpiredError

OK = 0
BROKEN = 1
INVALID = 2
NOT_STARTED = 3
LEFT_OVER = 4
FAILED = 5
NOT_RUNNING = 6
NO_ANSWER = 7
BY_SIGNAL = 128

HELP = """\
exit codes:
  0    finished, or drained after --duration, Ctrl-C, SIGTERM or `pasps kill`; nothing failed, nothing was left
  1    something in pasps broke
  2    nothing was started: a wrong option, file, topology, --scale or --run-dir
  3    it could not start: initialize raised, a worker process did not come up, --scale was refused, or no run directory
  4    not drained in time: tuples were left
  5    it ended in order, but user code raised, tuples failed or were lost and were not replayed, or a worker could not live
  128+n  ended by signal n without draining: 130 a second Ctrl-C, 143 a second SIGTERM, 141 its output was closed
"""

VERB_HELP = """\
exit codes:
  0    done
  1    something in pasps broke, the run ended meanwhile, or no master of the cluster answers
  2    refused: a wrong option, argument or token, or a name that several runs have
  6    no such topology runs
  7    no answer in time, not done in time, or still starting
  130  Ctrl-C
"""


class NotRunningError(InvalidError):
    """Nothing that is meant runs; the message is complete."""


def code_of(error: PaspsError) -> int:
    """What a command ends with that raised this."""
    if isinstance(error, NotRunningError | UnknownTopologyError):
        return NOT_RUNNING
    if isinstance(error, TimeoutExpiredError | BusyError):
        return NO_ANSWER
    return INVALID if isinstance(error, InvalidError) else BROKEN
