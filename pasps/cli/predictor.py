"""`pasps predictor`: becomes the predictor service, which shares no code with pasps."""

from __future__ import annotations

import argparse
import os
import sys

from pasps.cli import exit_codes
from pasps.daemons.predictor_process import CURE, TOKEN_VARIABLE, missing_packages

_ABOUT = """\
Becomes the service that forecasts the input: this very process, so that a signal to it reaches the service.
When it answers it prints one line, `predictor listening on http://HOST:PORT`; SIGTERM and Ctrl-C end it.

examples:
  pasps predictor
  pasps predictor --port 0 --workers 1
  PASPS_PREDICTOR_TOKEN=secret pasps predictor --host 0.0.0.0

exit codes:
  0    ended by SIGTERM or Ctrl-C
  2    it cannot be started like this: a wrong option, an address that is taken, or the extra is not installed"""


def add(parser: argparse.ArgumentParser) -> None:
    """The service's own options; it checks them itself."""
    parser.description = _ABOUT
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    option = parser.add_argument
    option("--host", help="the address to listen on; one that others can reach needs --token (default: 127.0.0.1)")
    option("--port", help="0 takes a free one (default: 8888)")
    option("--workers", metavar="N", help="processes for long fits (default: the number of cores, at most 256)")
    option("--token", help=f"requests must send it as `Authorization: Bearer TOKEN`; better in the environment, as {TOKEN_VARIABLE}")
    option("--fit-timeout", metavar="S", help="a fit is stopped after S seconds (default: 10)")
    option("--most-waiting", metavar="N", help="refuse a fit when N wait for a process already (default: 64)")
    option("--end-with-stdin", action="store_true", help="end when standard input does")


def predictor(options: argparse.Namespace) -> int:
    """Does not return when the service can be started."""
    if missing := missing_packages():
        print(f"pasps predictor: {', '.join(missing)} not installed; run: {CURE}", file=sys.stderr, flush=True)
        return exit_codes.INVALID
    if options.token is not None:
        # an argument would be seen by every user of the machine for as long as the service runs
        os.environ[TOKEN_VARIABLE] = options.token
    os.execv(sys.executable, command(options))


def command(options: argparse.Namespace) -> list[str]:
    """The service's command line."""
    words = [sys.executable, "-m", "predictor_service"]
    for name in ("host", "port", "workers", "fit_timeout", "most_waiting"):
        value = getattr(options, name)
        if value is not None:
            # one word, so that a value such as -1 is not taken for an option
            words.append(f"--{name.replace('_', '-')}={value}")
    return [*words, "--end-with-stdin"] if options.end_with_stdin else words
