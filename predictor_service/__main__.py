"""`python -m predictor_service`: the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from predictor_service.errors import SettingsError
from predictor_service.serve import serve
from predictor_service.settings import DEFAULT_PORT, MOST_WORKERS, Settings, usual_workers

TOKEN_VARIABLE = "PASPS_PREDICTOR_TOKEN"

_ABOUT = """\
Predicts the next steps of a series of counts, over HTTP.
When it answers it prints one line, `predictor listening on http://HOST:PORT`; SIGTERM and Ctrl-C end it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; the exit code is 0 when a signal or its standard input ended it, 2 when it cannot be started like this."""
    options = _parser().parse_args(arguments)
    try:
        settings = Settings(
            host=options.host,
            port=options.port,
            workers=options.workers,
            token=options.token,
            fit_timeout_seconds=options.fit_timeout,
            most_waiting=options.most_waiting,
            artifacts=options.artifacts,
        )
        serve(settings, end_with_stdin=options.end_with_stdin)
    except SettingsError as error:
        sys.stderr.write(f"predictor: {error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m predictor_service", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="the address to listen on; one that others can reach needs --token (default: 127.0.0.1)")
    add("--port", type=int, default=DEFAULT_PORT, help=f"0 takes a free one (default: {DEFAULT_PORT})")
    cores = f"the number of cores, at most {MOST_WORKERS}"
    add("--workers", type=int, default=usual_workers(), metavar="N", help=f"processes for long fits (default: {cores})")
    add(
        "--token",
        default=os.environ.get(TOKEN_VARIABLE) or None,
        help=f"requests must send it as `Authorization: Bearer TOKEN`; better given in the environment, as {TOKEN_VARIABLE}",
    )
    add("--fit-timeout", type=float, default=10.0, metavar="S", help="a fit is stopped after S seconds (default: 10)")
    add("--most-waiting", type=int, default=64, metavar="N", help="refuse a fit when N wait for a process already (default: 64)")
    add(
        "--artifacts",
        type=Path,
        metavar="DIR",
        help="trained models, of `pasps predictor train`, each in a directory of its name",
    )
    add("--end-with-stdin", action="store_true", help="end when standard input does: for a parent that must not leave it behind")
    return parser


if __name__ == "__main__":
    sys.exit(main())
