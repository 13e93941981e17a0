"""What one subject is asked to do: parsed from its command line, and handed to its own worker processes by the environment."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, dataclass
from pathlib import Path

_OPTIONS = "BENCH_OPTIONS"
_RECORDS = "BENCH_RECORDS"


@dataclass(frozen=True, slots=True)
class Options:
    """One run of one subject; `rate` 0 means full speed, `events` 0 means as many as the seconds hold."""

    workload: str
    workers: int = 1
    events: int = 0
    seconds: float = 10.0
    rate: float = 0.0
    tracked: bool = False

    def arguments(self) -> list[str]:
        """The command line that `parse` reads back."""
        words = ["--workload", self.workload, "--workers", str(self.workers), "--events", str(self.events)]
        words += ["--seconds", f"{self.seconds:g}", "--rate", f"{self.rate:.3f}"]
        return words + (["--tracked"] if self.tracked else [])

    def export(self, environment: MutableMapping[str, str] = os.environ) -> None:
        """Leave them for processes that this one starts."""
        environment[_OPTIONS] = json.dumps(asdict(self))


def parse(program: str) -> Options:
    """Read a subject's command line, and export it, with a directory for the records if the caller gave none."""
    parser = argparse.ArgumentParser(f"python -m {program}")
    parser.add_argument("--workload", choices=["w1", "w2", "w3", "w4"], required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--events", type=int, default=0, help="stop after so many; 0: no such limit")
    parser.add_argument("--seconds", type=float, default=10.0, help="stop after so long")
    parser.add_argument("--rate", type=float, default=0.0, help="events per second over all sources; 0: full speed")
    parser.add_argument("--tracked", action="store_true", help="with tuple ids, where the subject knows them")
    options = Options(**vars(parser.parse_args()))
    options.export()
    if _RECORDS not in os.environ:
        os.environ[_RECORDS] = tempfile.mkdtemp(prefix="bench-")
        print(f"records in {os.environ[_RECORDS]}", flush=True)
    return options


def inherited(environment: Mapping[str, str] = os.environ) -> Options:
    """The options that the process which started this one exported."""
    return Options(**json.loads(environment[_OPTIONS]))


def records_directory() -> Path:
    """Where sinks and sources leave their records."""
    return Path(os.environ[_RECORDS])


def set_records_directory(directory: Path, environment: MutableMapping[str, str] = os.environ) -> None:
    """Choose it, for processes that inherit `environment`."""
    environment[_RECORDS] = str(directory)
