"""The folder of real traces, which are no part of the project: given by --data, or by an environment variable."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

DATA_VARIABLE = "PASPS_TRACES"
NO_FOLDER = f"no folder of traces; give it with --data or in {DATA_VARIABLE}"


def add_data(parser: argparse.ArgumentParser, what: str = "folder of the traces") -> None:
    """--data of those benchmarks that read them; None where nobody gives it."""
    folder = os.environ.get(DATA_VARIABLE)
    default = Path(folder) if folder else None
    parser.add_argument("--data", type=Path, default=default, metavar="DIR", help=f"{what} (default: ${DATA_VARIABLE})")
