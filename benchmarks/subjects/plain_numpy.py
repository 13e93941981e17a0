"""The limit of one core for W4: one process, one loop over the source's batches, numpy for each."""

from __future__ import annotations

import time

from benchmarks.event_source import EventSource
from benchmarks.options import parse
from benchmarks.scoring import rate_events
from benchmarks.sink import Sink


def main() -> None:
    """Run W4 until the source ends."""
    options = parse("benchmarks.subjects.plain_numpy")
    source, sink = EventSource(options), Sink(options)
    take, add = source.take, sink.add
    while (events := take()) is not None:
        if not events:
            time.sleep(source.wait_seconds())
            continue
        for event in rate_events(events):
            add(event)
    sink.close()


if __name__ == "__main__":
    main()
