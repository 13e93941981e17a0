"""A time-out that is shorter than the work, and a tuple that fails over and over, are said: once in a while, with numbers."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from pasps import Bolt, EndOfInput, Spout, Topology, TopologyContext, Tuple
from pasps.runtime.ack_ledger import AckLedger, Repeats
from pasps.testing import StepRun


class Numbers(Spout):
    """Emits `total` numbers, each again until it is acked."""

    outputs = ["number"]
    total = 3

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.left = list(range(self.total))

    def next_tuple(self) -> float | None:
        if not self.left:
            raise EndOfInput
        number = self.left.pop(0)
        self.emit([number], tup_id=number)
        return None

    def fail(self, number: int) -> None:
        self.left.append(number)


class Takes(Bolt):
    """Each tuple takes so many seconds."""

    seconds = 5.0
    concurrency = 100

    async def process(self, tup: Tuple) -> None:
        await asyncio.sleep(self.seconds)


def line(bolt: type[Bolt], spout: type[Spout] = Numbers) -> type[Topology]:
    class Line(Topology):
        numbers = spout.spec()
        last = bolt.spec(inputs=[numbers])

    return Line


def texts(run: StepRun) -> list[str]:
    return [report.text for report in run.journal.of("error") if report.component == "numbers"]


def test_a_time_out_shorter_than_the_work_is_told_with_both_numbers() -> None:
    with StepRun(line(Takes), 1, config={"topology.message.timeout.secs": 2}) as run:
        run.advance(20.0)
        told = texts(run)
        assert "the time-out is shorter than the work takes: topology.message.timeout.secs is 2," in told[0]
        assert "done after 5 s in the mean, 5 s at most" in told[0]
        assert "topology.max.spout.pending" in told[0]
        assert len(told) == 1
        run.advance(100.0)
        assert [("shorter than the work" in text) for text in texts(run) if "time-out" in text] == [True, True]


def test_what_times_out_and_is_never_acked_is_told_as_that() -> None:
    class Keeps(Bolt):
        auto_ack = False

        def process(self, tup: Tuple) -> None:
            """Neither acks nor fails."""

    with StepRun(line(Keeps), 1, config={"topology.message.timeout.secs": 2}) as run:
        run.advance(7.0)
        (told,) = texts(run)
        assert "3 tuples timed out, and nothing was heard of them since: topology.message.timeout.secs is 2" in told


def test_that_nothing_was_heard_does_not_keep_what_is_heard_later_from_being_told() -> None:
    with StepRun(line(Takes), 1, config={"topology.message.timeout.secs": 0.5}) as run:
        run.advance(8.0)
        told = [text for text in texts(run) if "topology.message.timeout.secs is 0.5" in text]
        assert ["nothing was heard" in told[0], "shorter than the work takes" in told[1], len(told)] == [True, True, 2]


def test_work_that_is_done_in_time_is_not_worth_a_word() -> None:
    class Fits(Takes):
        seconds = 1.0

    with StepRun(line(Fits), 1, config={"topology.message.timeout.secs": 2}) as run:
        run.run_to_end()
        run.advance(20.0)
        assert texts(run) == []


class FailsAlways(Bolt):
    """Fails the number 1, after a pause, and everything else once."""

    pause = 0.05

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.seen: set[int] = set()

    async def process(self, tup: Tuple) -> None:
        await asyncio.sleep(self.pause)
        number = tup[0]
        if number == 1 or number not in self.seen:
            self.seen.add(number)
            self.fail(tup)
        else:
            self.ack(tup)

    auto_ack = False


def test_a_tuple_that_fails_over_and_over_is_told_at_growing_counts() -> None:
    with StepRun(line(FailsAlways), 1) as run:
        run.advance(1.0)
        (told,) = texts(run)
        assert "the tuple with the id 1 has failed 10 times in " in told
        assert "put aside what fails too often" in told
        run.advance(11.0)
        counts = [int(text.split("has failed ")[1].split()[0]) for text in texts(run)]
        assert counts[0] == 10
        assert len(counts) == 2
        assert all(later >= 10 * earlier for earlier, later in pairwise(counts))


def test_others_that_fail_as_often_are_counted() -> None:
    class Nothing(FailsAlways):
        async def process(self, tup: Tuple) -> None:
            await asyncio.sleep(self.pause)
            self.fail(tup)

    with StepRun(line(Nothing), 1) as run:
        run.advance(12.0)
        assert any("and so often at least have 2 others" in text for text in texts(run))


def test_what_fails_with_a_lost_worker_says_nothing_of_the_tuples() -> None:
    class Slow(Takes):
        seconds = 1000.0

    with StepRun(line(Slow), 1) as run:
        for _ in range(30):
            run.advance(0.1)
            run.workers["w0"].fence()
        assert run.counts()["numbers"].failed >= 60
        assert texts(run) == []


class Odd:
    """An id that breaks comparisons, and whose text is long."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("incomparable")

    def __repr__(self) -> str:
        return "x" * 1000


@pytest.mark.parametrize("broken", [True, False])
def test_ids_that_are_hard_to_handle_cost_nothing_but_a_report(broken: bool) -> None:
    class Objects(Numbers):
        def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
            self.ids = [Odd(number) if broken else "y" * 1000 + str(number) for number in range(3)]
            self.left = self.ids  # type: ignore[assignment]

        def next_tuple(self) -> float | None:
            if not self.left:
                raise EndOfInput
            found = self.left.pop(0)
            self.emit([0], tup_id=found)
            return None

    class Thrice(Bolt):
        """Fails the first fifty."""

        def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
            self.count = 0

        def process(self, tup: Tuple) -> None:
            self.count += 1
            if self.count <= 50:
                self.fail(tup)

    with StepRun(line(Thrice, Objects), 1) as run:
        run.run_to_end()
        assert len(run.verdicts.acked["numbers"]) == 3
        assert len(run.verdicts.failed["numbers"]) == 50
        assert all(len(text) < 3000 for text in texts(run))
        expected = "RuntimeError: incomparable" if broken else "(1003 characters) has failed 10 times"
        assert any(expected in text for text in texts(run))


# ---- the counters themselves


def test_the_ledger_says_when_expired_roots_were_done() -> None:
    ledger = AckLedger()
    ledger.add([11, 12, 13], ["a", "b", "c"], 5.0)
    assert ledger.ack([12], [12 ^ 4]) == []  # its tree has an open edge 4
    ledger.rotate()
    assert len(ledger.rotate()) == 3
    assert ledger.ack([11], None) == []
    assert ledger.late == [5.0]
    assert ledger.ack([12, 13], [4, 13 ^ 9]) == []
    assert ledger.late == [5.0, 5.0]
    ledger.fail([13])
    ledger.ack([13], [9])
    assert ledger.late == [5.0, 5.0]


def test_of_what_expired_so_much_is_remembered_and_no_more() -> None:
    ledger = AckLedger()
    roots = list(range(1, 10_001))
    ledger.add(roots, roots, 1.0)
    ledger.rotate()
    ledger.rotate()
    ledger.ack(roots, None)
    assert len(ledger.late) == 4096


def test_repeats_are_bounded_and_forget_what_failed_longest_ago() -> None:
    repeats = Repeats()
    for now in range(9):
        repeats.failed(["often"], float(now))
    repeats.failed(list(range(9_999)), 9.0)
    found = repeats.failed(["often"], 10.0)
    assert found is not None
    assert (found[0], found[1].count, found[1].since) == ("often", 10, 0.0)
    repeats.failed(list(range(9_999, 20_000)), 11.0)
    assert len(repeats) == 10_000
    assert repeats.failed(["often"], 30.0) is None


def test_an_ack_ends_the_count() -> None:
    repeats = Repeats()
    for _ in range(9):
        repeats.failed(["a"], 0.0)
    repeats.acked(["a", "b"])
    assert len(repeats) == 0
    assert repeats.failed(["a"], 0.0) is None
