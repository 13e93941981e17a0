"""pasps with function bolts."""

from __future__ import annotations

from benchmarks.options import parse
from benchmarks.subjects.pasps_components import FUNCTIONS, BatchSink
from benchmarks.subjects.pasps_run import run


def main() -> None:
    """Run the workload until the sources end."""
    options = parse("benchmarks.subjects.pasps_functions")
    run(options, FUNCTIONS[options.workload], BatchSink)


if __name__ == "__main__":
    main()
