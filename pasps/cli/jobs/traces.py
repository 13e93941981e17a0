"""`pasps traces`: input rates, from raw records, from other traces or from parameters.

Each action has a module; here is what they are together, and the arguments that several have.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pasps.cli.options import describe
from pasps.data.spark import is_local
from pasps.data.steps import SECOND, iso_time, step_micros
from pasps.errors import InvalidError

_WHAT = """\
A trace says how many events came in each step of time, as rows of `time,count`; the trace spout replays one, and predictors and
policies are judged by it."""

_EXAMPLES = (
    "pasps traces build --format hdfs 'logs/*.log' --out rates",
    "pasps traces describe rates/trace.csv",
    "pasps traces ACTION --help",
)

_CODES = """\
exit codes:
  0    done; `pasps traces ACTION --help` has the others
"""


def add_traces(parser: argparse.ArgumentParser) -> None:
    """What all actions are."""
    describe(parser, _WHAT, _EXAMPLES, _CODES)


FIRST = 1_704_067_200 * SECOND
"""2024-01-01T00:00:00Z: the same trace has the same times whenever it is made."""
_ELSEWHERE = re.compile(r"^\w[\w+.-]*://|[*?\[{]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def add_times(parser: argparse.ArgumentParser) -> None:
    """`--step` and `--start`."""
    parser.add_argument("--step", metavar="STEP", type=step, default=SECOND, help="how long a row lasts: 500ms, 1s, 5min, 1h (default: 1s)")
    parser.add_argument("--start", metavar="TIME", type=moment, default=FIRST, help=f"of the first row (default: {iso_time(FIRST)})")


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """`--overwrite`."""
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")


def check_there(paths: Sequence[str], master: str) -> None:
    """Before Spark is started, which takes seconds: files of this machine that one is to read here.

    Raises:
        InvalidError: one is not there.
    """
    for path in paths:
        if is_local(master) and not _ELSEWHERE.search(path) and not Path(path).exists():
            raise InvalidError(f"{path}: no such file or directory; patterns go in quotes, such as 'rates/*.csv'")


def step(text: str) -> int:
    """The length of a step, in microseconds."""
    try:
        return step_micros(text)
    except InvalidError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("step: ")) from error


def moment(text: str) -> int:
    """A time in ISO 8601, in microseconds since the epoch; without a zone it is in UTC."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a time such as 2024-02-29T12:00:00Z, got {text!r}") from None
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def whole(text: str) -> int:
    """A whole number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, got {text!r}")
    return int(text)


def from_zero(text: str) -> float:
    """A number of at least 0."""
    try:
        read = float(text)
    except ValueError:
        read = math.nan
    if not 0 <= read < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")
    return read
