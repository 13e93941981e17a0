"""A spout that reads ahead of a reader without a thread, and a bolt that fails and keeps what it is told to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pasps import Bolt, Topology, Tuple
from pasps.connectors.read_ahead import ReadAheadSpout
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.testing import StepRun
from tests.unit.connectors.list_reader import ListReader


class Reads(ReadAheadSpout):
    outputs = ["number"]
    most_pending, most_tries = 100, None
    bad: frozenset[int] = frozenset()

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.reader = ListReader()
        self.read_from(self.reader, type(self).most_pending, type(self).most_tries)

    def values(self, record: Any) -> Sequence[Any] | None:
        if record in type(self).bad:
            raise LookupError(f"{record} is bad")
        if record == 404:
            raise ValueError("no number")
        return None if record < 0 else [record]


class Judge(Bolt):
    """Fails the numbers of `fails` each time, keeps those of `keeps`, acks the others."""

    outputs = ["number"]
    auto_ack = auto_fail = False
    fails: frozenset[int] = frozenset()
    keeps: frozenset[int] = frozenset()

    def process(self, tup: Tuple) -> None:
        (number,) = tup.values
        if number in type(self).fails:
            self.fail(tup)
        elif number not in type(self).keeps:
            self.emit([number])
            self.ack(tup)


class Shape(Topology):
    config = {"topology.message.timeout.secs": 50}
    reads = Reads.spec()
    judge = Judge.spec(inputs=[reads])


@contextmanager
def as_it_was() -> Iterator[None]:
    """What a test changes at these classes is undone."""
    yield
    Reads.most_pending, Reads.most_tries, Reads.bad = 100, None, frozenset()
    Judge.fails = Judge.keeps = frozenset()


def started() -> tuple[StepRun, ListReader]:
    run = StepRun(Shape, 1)
    Reads.clock = run.clock
    (spout,) = executors(run)
    spout.instance.initialize({}, spout.instance.ctx)  # anew, with the run's clock
    return run, spout.instance.reader


def executors(run: StepRun) -> list[SpoutExecutor]:
    return [spout for worker in run.workers.values() for spout in worker.residents.spouts.values()]


def emitted(run: StepRun) -> list[int]:
    return [row[0] for row in run.emitted.get("reads", {}).get("default", [])]


def errors(run: StepRun) -> list[str]:
    return [report.text for report in run.journal.of("error")]
