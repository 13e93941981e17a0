"""The limit of one core: one process, one loop, the operators called one inside the other."""

from __future__ import annotations

import time

from benchmarks.event_source import EventSource
from benchmarks.options import parse
from benchmarks.sink import Sink
from benchmarks.workloads import RunningCount, ident, rate, sentiment, stopwords, userclass


def main() -> None:
    """Run the workload until the source ends."""
    options = parse("benchmarks.subjects.plain")
    source, sink = EventSource(options), Sink(options)
    take, add, count = source.take, sink.add, RunningCount()
    while (events := take()) is not None:
        if not events:
            time.sleep(source.wait_seconds())
        elif options.workload == "w1":
            for event in events:
                add(ident(*ident(*ident(*ident(*event)))))
        elif options.workload == "w2":
            for event in events:
                add(userclass(*sentiment(*stopwords(*event))))
        elif options.workload == "w3":
            for event in events:
                add(count(*userclass(*sentiment(*stopwords(*event)))))
        else:
            for event in events:
                add(rate(*event))
    sink.close()


if __name__ == "__main__":
    main()
