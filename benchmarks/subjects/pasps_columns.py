"""pasps with a batch function that takes and returns columns, for W4."""

from __future__ import annotations

from benchmarks.options import parse
from benchmarks.scoring import rate_columns
from benchmarks.subjects.pasps_components import BatchSink
from benchmarks.subjects.pasps_run import run
from benchmarks.workloads import RATED_FIELDS
from pasps import bolt


def main() -> None:
    """Run W4 until the sources end."""
    options = parse("benchmarks.subjects.pasps_columns")
    run(options, (bolt(outputs=RATED_FIELDS, columns="numpy")(rate_columns),), BatchSink)


if __name__ == "__main__":
    main()
