"""What people write themselves: a process for each stage, bounded multiprocessing queues that carry lists of 100 events.

With `--workers n` each stage has n processes on one shared queue; the counting stage of W2 and W3 has one queue for each of its
processes, and the stage before it picks the queue by class. In W3 the process that counts is the one that ends.
"""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.queues import Queue
from typing import TypeAlias

from benchmarks.event_source import EventSource
from benchmarks.options import Options, parse
from benchmarks.sink import Sink
from benchmarks.workloads import OPERATORS, Event, Operator, RunningCount

_LIST = 100
_QUEUE_LISTS = 10

Lists: TypeAlias = "Queue[list[Event] | None]"


def run_stage(operator: Operator, inbox: Lists, outboxes: list[Lists], by_class: bool) -> None:
    """Take lists until the None that ends this process."""
    turn = 0
    while (events := inbox.get()) is not None:
        results = [operator(*event) for event in events]
        if by_class and len(outboxes) > 1:
            _send_by_class(results, outboxes)
        else:
            outboxes[turn % len(outboxes)].put(results)
            turn += 1


def _send_by_class(results: list[Event], outboxes: list[Lists]) -> None:
    parts: list[list[Event]] = [[] for _ in outboxes]
    for event in results:
        parts[event[1] % len(parts)].append(event)
    for part, outbox in zip(parts, outboxes, strict=True):
        if part:
            outbox.put(part)


def run_sink(inbox: Lists, options: Options) -> None:
    """Count until the None that ends this process."""
    sink, count = Sink(options), RunningCount()
    while (events := inbox.get()) is not None:
        for event in [count(*event) for event in events] if options.workload == "w3" else events:
            sink.add(event)
    sink.close()


def feed(options: Options, first: Lists) -> None:
    """Run the source in this process until it ends."""
    source = EventSource(options)
    while (events := source.take(_LIST)) is not None:
        if events:
            first.put(events)
        else:
            time.sleep(source.wait_seconds())


def main() -> None:
    """Start the stages, feed the first, and end them one after the other."""
    options = parse("benchmarks.subjects.mp_lists")
    context = multiprocessing.get_context("fork")
    operators, width = OPERATORS[options.workload], options.workers
    inboxes: list[Lists] = [context.Queue(_QUEUE_LISTS) for _ in operators]
    sink_inboxes: list[Lists] = [context.Queue(_QUEUE_LISTS) for _ in range(width)]
    stages = []
    for place, operator in enumerate(operators):
        last = place == len(operators) - 1
        arguments = (operator, inboxes[place], sink_inboxes if last else [inboxes[place + 1]], last and options.workload in ("w2", "w3"))
        stages.append([context.Process(target=run_stage, args=arguments) for _ in range(width)])
    sinks = [context.Process(target=run_sink, args=(inbox, options)) for inbox in sink_inboxes]
    for process in [*sinks, *(process for stage in stages for process in stage)]:
        process.start()
    feed(options, inboxes[0])
    for inbox, stage in zip(inboxes, stages, strict=True):
        for _ in stage:
            inbox.put(None)
        for process in stage:
            process.join()
    for inbox, process in zip(sink_inboxes, sinks, strict=True):
        inbox.put(None)
        process.join()


if __name__ == "__main__":
    main()
