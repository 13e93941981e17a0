"""`python -m benchmarks.in_cluster.run_here BOLTS`: the subject of `benchmarks.cluster` that is run by `pasps run`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.in_cluster.given import configuration
from benchmarks.in_cluster.names import BOLTS, topology_name
from benchmarks.options import Options, inherited, records_directory
from pasps.cli.main import main as pasps

FILE = Path(__file__).with_name("workload_topologies.py")


def command(options: Options, bolts: str, records: Path) -> list[str]:
    """The words after `pasps`."""
    words = ["run", str(FILE), "--topology", topology_name(options.workload, bolts, options.workers), "--workers", str(options.workers)]
    for key, value in configuration(options, records).items():
        words += ["-o", f"{key}={_text(value)}"]
    return [*words, "--no-tty", "--run-dir", str(records / "run")]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def main() -> int:
    """Until the sources have ended and all that they emitted has arrived."""
    parser = argparse.ArgumentParser("python -m benchmarks.in_cluster.run_here", description=__doc__)
    parser.add_argument("bolts", choices=BOLTS)
    # who measures adds a subject's options, which come by the environment too
    wanted, _ = parser.parse_known_args()
    return pasps(command(inherited(), wanted.bolts, records_directory()))


if __name__ == "__main__":
    sys.exit(main())
