"""`pasps predictor`: becomes the predictor service, which shares no code with pasps; `pasps predictor train` makes what it serves."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import cast

from pasps.cli import exit_codes
from pasps.cli.options import add_json, at_least_one, describe
from pasps.cli.trace_rows import add_trace
from pasps.topology.predictor_process import CURE, TOKEN_VARIABLE, missing_packages

_ABOUT = """\
Becomes the service that forecasts the input: this very process, so that a signal to it reaches the service.
When it answers it prints one line, `predictor listening on http://HOST:PORT`; SIGTERM and Ctrl-C end it."""

_EXAMPLES = (
    "pasps predictor",
    "pasps predictor --port 0 --workers 1",
    "pasps predictor --artifacts artifacts",
    "pasps predictor train --help",
    "PASPS_PREDICTOR_TOKEN=secret pasps predictor --host 0.0.0.0",
)

_CODES = """\
exit codes:
  0    ended by SIGTERM or Ctrl-C
  2    it cannot be started like this: a wrong option, an address that is taken, or the extra is not installed"""

_TRAIN = """\
Trains a model on a trace and writes an artifact, a directory that `pasps predictor --artifacts` serves under its name.
The rows are parted in time: from the first part it learns, the second says when to stop and which parameters are best, and the
third, which it never sees, how good it is. Counts are scaled by the least and the most of the first part.
The networks take minutes, the others less; the same seed gives the same artifact.
What serves a control loop is asked for steps of a second: give --step 1, and the --peak that the run has."""

_TRAIN_EXAMPLES = (
    "pasps predictor train --model bigru --trace traffic.csv --step 1 --out artifacts/traffic",
    "pasps predictor train --model arima --trace rates.csv --window 48 --horizon 12 --out artifacts/rates",
    "pasps run shop.py -o pasps.predictor=bigru@traffic -o pasps.predictor.artifacts=artifacts",
)

_TRAIN_CODES = """\
exit codes:
  0    trained, and written
  2    nothing was written: a wrong option or trace, the artifact is there already, or the extra is not installed
  130  Ctrl-C"""


def add(parser: argparse.ArgumentParser) -> None:
    """The service's own options, which it checks itself, and those of `train`."""
    describe(parser, _ABOUT, _EXAMPLES, _CODES)
    option = parser.add_argument
    option("--host", help="the address to listen on; one that others can reach needs --token (default: 127.0.0.1)")
    option("--port", help="0 takes a free one (default: 8888)")
    option("--workers", metavar="N", help="processes for long fits (default: the number of cores, at most 256)")
    option("--token", help=f"requests must send it as `Authorization: Bearer TOKEN`; better in the environment, as {TOKEN_VARIABLE}")
    option("--fit-timeout", metavar="S", help="a fit is stopped after S seconds (default: 10)")
    option("--most-waiting", metavar="N", help="refuse a fit when N wait for a process already (default: 64)")
    option("--artifacts", metavar="DIR", help="trained models, each in a directory of its name")
    option("--end-with-stdin", action="store_true", help="end when standard input does")
    actions = parser.add_subparsers(title="actions", dest="action", metavar="ACTION")
    _add_train(actions.add_parser("train", help="train a model on a trace, for --artifacts"))


def _add_train(parser: argparse.ArgumentParser) -> None:
    describe(parser, _TRAIN, _TRAIN_EXAMPLES, _TRAIN_CODES)
    add = parser.add_argument
    add("--model", required=True, metavar="NAME", help="arima, svr, lstm, gru, bilstm or bigru")
    add("--out", required=True, metavar="DIR", help="the artifact's directory, to be made; its last part is the artifact's name")
    add_trace(parser)
    add("--window", metavar="N", type=at_least_one, default=60, help="it forecasts from so many samples (default: 60)")
    add("--horizon", metavar="N", type=at_least_one, default=35, help="it says so many steps at once (default: 35)")
    add("--split", metavar="A:B:C", type=_shares, default=(4.0, 1.0, 1.0), help="training, validation, test (default: 4:1:1)")
    add("--seed", metavar="N", type=int, default=1, help="what is random is the same for the same number (default: 1)")
    add("--epochs", metavar="N", type=at_least_one, default=100, help="of a network: most passes over the training part (default: 100)")
    add("--units", metavar="N", type=at_least_one, default=32, help="of a network: in each layer, in each direction (default: 32)")
    add("--layers", metavar="N", type=at_least_one, default=1, help="of a network (default: 1)")
    add("--batch", metavar="N", type=at_least_one, default=128, help="of a network: windows that it learns from at once (default: 128)")
    add("--learning-rate", metavar="X", type=float, default=0.003, help="of a network: how far a step goes (default: 0.003)")
    add("--overwrite", action="store_true", help="replace the artifact if it is there")
    add("--quiet", action="store_true", help="no progress on standard error")
    add_json(parser)


def _shares(text: str) -> tuple[float, float, float]:
    try:
        one, two, three = (float(word) for word in text.split(":"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected three numbers, such as 4:1:1 or 40:10:10, got {text!r}") from None
    return one, two, three


def predictor(options: argparse.Namespace) -> int:
    """Does not return when the service can be started.

    Raises:
        InvalidError: of `train`: a wrong option, trace or directory.
    """
    if missing := missing_packages():
        print(f"pasps predictor: {', '.join(missing)} not installed; run: {CURE}", file=sys.stderr, flush=True)
        return exit_codes.INVALID
    if options.action == "train":
        return cast("int", importlib.import_module("pasps.cli.predictor_train").train(options))
    if options.token is not None:
        # an argument would be seen by every user of the machine for as long as the service runs
        os.environ[TOKEN_VARIABLE] = options.token
    os.execv(sys.executable, command(options))


def command(options: argparse.Namespace) -> list[str]:
    """The service's command line."""
    words = [sys.executable, "-m", "predictor_service"]
    for name in ("host", "port", "workers", "fit_timeout", "most_waiting", "artifacts"):
        value = getattr(options, name)
        if value is not None:
            # one word, so that a value such as -1 is not taken for an option
            words.append(f"--{name.replace('_', '-')}={value}")
    return [*words, "--end-with-stdin"] if options.end_with_stdin else words
