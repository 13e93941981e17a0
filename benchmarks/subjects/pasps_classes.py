"""pasps with class bolts."""

from __future__ import annotations

from benchmarks.options import parse
from benchmarks.subjects.pasps_components import CLASSES, TupleSink
from benchmarks.subjects.pasps_run import run


def main() -> None:
    """Run the workload until the sources end."""
    options = parse("benchmarks.subjects.pasps_classes")
    run(options, CLASSES[options.workload], TupleSink)


if __name__ == "__main__":
    main()
