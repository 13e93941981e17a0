"""What is acked, what is failed, and when: anchors, switches, errors, time-outs, replays."""

from __future__ import annotations

from typing import Any

import pytest

from pasps import BatchBolt, Bolt, EndOfInput, Grouping, Spout, Topology, Tuple, bolt
from pasps.metrics import ReplicaCounts
from pasps.runtime.snapshot import take_counts
from pasps.testing import PAUSE, StepOptions, StepRun, complete_topology
from tests.unit.runtime.parts import Explode, Forward, Numbers, add_one, rows


class Join(Bolt):
    """Keeps tuples by number until both branches are there; emits one that descends from both, then acks them."""

    outputs = ["number"]
    auto_ack = False

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.waiting: dict[int, Tuple] = {}

    def process(self, tup: Tuple) -> None:
        number = tup["number"]
        other = self.waiting.pop(number, None)
        if other is None:
            self.waiting[number] = tup
            return
        self.emit([number], anchors=[tup, other])
        self.ack(tup)
        self.ack(other)


class Pair(Bolt):
    """One output for every two inputs, whatever they are: descends from two spout tuples."""

    outputs = ["number"]
    auto_ack = False

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.first: Tuple | None = None

    def process(self, tup: Tuple) -> None:
        if self.first is None:
            self.first = tup
            return
        self.emit([tup[0]], anchors=[self.first, tup])
        for one in (self.first, tup):
            self.ack(one)
        self.first = None


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_diamond_is_acked_exactly_once_when_both_branches_are_done(workers: int) -> None:
    class Diamond(Topology):
        numbers = Numbers.spec()
        left = Forward.spec(inputs=[numbers], par=2)
        right = Forward.spec(inputs=[numbers], par=2)
        join = Join.spec(inputs={left: Grouping.fields("number"), right: Grouping.fields("number")}, par=2, pool=4)
        sink = add_one.spec(inputs=[join])

    result = complete_topology(Diamond, {"numbers": rows(100)}, workers=workers)
    assert sorted(result.rows("join")) == [(i,) for i in range(100)]
    assert sorted(result.acked["numbers"]) == list(range(100))
    assert result.counts["sink"].executed == 100


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("after", [add_one, Forward, Pair], ids=["function", "class", "pair"])
def test_tuples_of_several_roots_ack_all_of_them(workers: int, after: Any) -> None:
    class Paired(Topology):
        numbers = Numbers.spec()
        pair = Pair.spec(inputs={numbers: Grouping.GLOBAL})
        after_ = after.spec(inputs={pair: Grouping.GLOBAL})
        last = add_one.spec(inputs={"pair": Grouping.SHUFFLE}, par=2)

    result = complete_topology(Paired, {"numbers": rows(40)}, workers=workers)
    assert sorted(result.acked["numbers"]) == list(range(40))
    assert result.errors == []


def test_when_a_tuple_of_several_roots_fails_all_of_them_fail() -> None:
    class Failing(Topology):
        numbers = Numbers.spec()
        pair = Pair.spec(inputs={numbers: Grouping.GLOBAL})
        explode = Explode.spec(inputs=[pair])

    result = complete_topology(Failing, {"numbers": rows(8)}, workers=2)
    assert sorted(result.failed["numbers"]) == [2, 3]
    assert sorted(result.acked["numbers"]) == [0, 1, 4, 5, 6, 7]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_bolt_that_raises_fails_its_tuple_is_reported_and_goes_on(workers: int) -> None:
    class Raising(Topology):
        numbers = Numbers.spec()
        explode = Explode.spec(inputs=[numbers], par=2)

    result = complete_topology(Raising, {"numbers": rows(20)}, workers=workers)
    assert sorted(result.failed["numbers"]) == [3, 8, 13, 18]
    assert len(result.acked["numbers"]) == 16
    assert result.counts["explode"].errors == 4
    text = result.errors[0].text
    assert "Traceback" in text
    assert "ValueError: no 3" in "".join(error.text for error in result.errors)
    assert 'in process\n    raise ValueError(f"no {tup.values[0]}")' in text


class BatchRaises(BatchBolt):
    def process_batch(self, tuples: list[Tuple]) -> None:
        raise RuntimeError("all of it")


@bolt(outputs=["number"], batch=True)
def too_short(found: list[tuple[int]]) -> list[tuple[int]]:
    return found[1:]


@bolt(outputs=["number"])
def wrong_width(number: int) -> tuple[int, int]:
    return number, number


@bolt(outputs=["number"])
async def async_raises(number: int) -> tuple[int]:
    raise KeyError(number)


@bolt(outputs=["number"], execution="thread")
def thread_raises(number: int) -> tuple[int]:
    raise KeyError(number)


@pytest.mark.parametrize("kind", [BatchRaises, too_short, wrong_width, async_raises, thread_raises], ids=lambda kind: kind.__name__)
def test_whatever_goes_wrong_in_a_bolt_fails_its_tuples(kind: Any) -> None:
    class Wrong(Topology):
        numbers = Numbers.spec()
        wrong = kind.spec(inputs=[numbers])

    result = complete_topology(Wrong, {"numbers": rows(5)})
    assert sorted(result.failed["numbers"]) == [0, 1, 2, 3, 4]
    assert result.acked["numbers"] == []
    assert result.errors


class Switches(Bolt):
    """Fails multiples of three, acks what follows them by one, and lets the rest time out."""

    auto_ack = False

    def process(self, tup: Tuple) -> None:
        if tup[0] % 3 == 0:
            self.fail(tup)
        elif tup[0] % 3 == 1:
            self.ack(tup)
            self.ack(tup)  # a second verdict means nothing
            self.fail(tup)


def test_explicit_acks_and_fails_and_nothing_at_all() -> None:
    class Explicit(Topology):
        config = {"topology.message.timeout.secs": 5}
        numbers = Numbers.spec()
        switches = Switches.spec(inputs=[numbers])

    result = complete_topology(Explicit, {"numbers": rows(9)})
    assert sorted(result.acked["numbers"]) == [1, 4, 7]
    assert result.failed["numbers"] == [0, 3, 6, 2, 5, 8], "what nobody judged fails last, by its time-out"
    assert 5 <= result.seconds <= 10


class NoAnchor(Bolt):
    outputs = ["number"]
    auto_anchor = False

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


def test_without_anchors_what_fails_later_does_not_fail_the_root() -> None:
    class Loose(Topology):
        numbers = Numbers.spec()
        loose = NoAnchor.spec(inputs=[numbers])
        explode = Explode.spec(inputs=[loose])

    result = complete_topology(Loose, {"numbers": rows(10)})
    assert sorted(result.acked["numbers"]) == list(range(10))
    assert result.failed["numbers"] == []
    assert result.counts["explode"].failed == 0 or result.counts["explode"].errors == 2


class NoAutoFail(Explode):
    auto_fail = False


def test_without_auto_fail_a_tuple_that_raised_times_out() -> None:
    class Patient(Topology):
        config = {"topology.message.timeout.secs": 3}
        numbers = Numbers.spec()
        explode = NoAutoFail.spec(inputs=[numbers])

    result = complete_topology(Patient, {"numbers": rows(5)})
    assert result.failed["numbers"] == [3]
    assert 3 <= result.seconds <= 6


class Never(Bolt):
    auto_ack = False

    def process(self, tup: Tuple) -> None:
        return None


@pytest.mark.parametrize("pause", [0.0, 1.0, 4.5])
def test_a_tuple_times_out_after_one_to_two_time_outs(pause: float) -> None:
    class Slow(Topology):
        config = {"topology.message.timeout.secs": 5}
        numbers = Numbers.spec()
        never = Never.spec(inputs=[numbers])

    with StepRun(Slow, 1, inputs={"numbers": [PAUSE(pause), [1]]}) as run:
        run.advance(pause + 4.9)
        assert run.verdicts.failed["numbers"] == []
        run.advance(5.2)
        assert run.verdicts.failed["numbers"] == [0]


def test_replays_and_first_emissions_are_told_apart() -> None:
    class Stubborn(Topology):
        numbers = Numbers.spec()
        explode = Explode.spec(inputs=[numbers])

    result = complete_topology(Stubborn, {"numbers": rows(10)}, workers=2, replays=2)
    assert sorted(result.failed["numbers"]) == [3, 3, 3, 8, 8, 8]
    counts = result.counts["numbers"]
    assert (counts.emitted, counts.replayed) == (14, 4)
    assert (counts.acked, counts.failed) == (8, 6)


class Pending(Spout):
    """Emits without end, and notes how many are pending."""

    outputs = ["number"]

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.sent = self.pending = self.most = 0

    def next_tuple(self) -> float | None:
        if self.sent == 100:
            raise EndOfInput
        self.emit([self.sent], tup_id=self.sent)
        self.sent += 1
        self.pending += 1
        self.most = max(self.most, self.pending)
        return None

    def ack(self, tup_id: Any) -> None:
        self.pending -= 1


def test_no_more_than_max_spout_pending_are_in_flight() -> None:
    class Bounded(Topology):
        config = {"topology.max.spout.pending": 7}
        numbers = Pending.spec()
        bolt = add_one.spec(inputs=[numbers])

    with StepRun(Bounded, 2, options=StepOptions(delays=True, seed=3)) as run:
        spout = next(iter(worker for worker in run.workers.values() if worker.residents.spouts)).residents.spouts[1].instance
        run.run_to_end()
        assert spout.most == 7
        assert sorted(run.verdicts.acked["numbers"]) == list(range(100))


class Again(Spout):
    """One tuple, emitted again as often as it fails."""

    outputs = ["number"]

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.left = [0]

    def next_tuple(self) -> None:
        if not self.left:
            raise EndOfInput
        self.emit([self.left.pop()], tup_id=0)

    def fail(self, tup_id: Any) -> None:
        self.left.append(tup_id)


class Refuses(Bolt):
    """Takes what it is given at the fifth try."""

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.tries = 0

    def process(self, tup: Tuple) -> None:
        self.tries += 1
        if self.tries < 5:
            raise ValueError("not yet")


def test_at_no_moment_between_a_failure_and_the_replay_is_nothing_left() -> None:
    class Refused(Topology):
        numbers = Again.spec()
        refuses = Refuses.spec(inputs={numbers: Grouping.GLOBAL})

    with StepRun(Refused, 2) as run:

        def spout() -> ReplicaCounts:
            counts = (replica for worker in run.workers.values() for replica in take_counts(worker, 1).replicas)
            return next(replica for replica in counts if replica.component == "numbers")

        while not spout().pending:
            run.step()
        while not run.verdicts.acked["numbers"]:
            assert spout().pending or spout().queued
            run.step()
        assert (len(run.verdicts.failed["numbers"]), spout().pending, spout().queued) == (4, 0, 0)


def test_a_spout_that_gives_a_failed_tuple_up_after_its_end_has_nothing_left() -> None:
    class GivesUp(Again):
        def fail(self, tup_id: Any) -> None:
            pass

    class Refused(Topology):
        numbers = GivesUp.spec()
        refuses = Refuses.spec(inputs={numbers: Grouping.GLOBAL})

    for drains in (False, True):
        with StepRun(Refused, 2) as run:
            if drains:
                while not run.verdicts.failed["numbers"]:
                    run.step()
                run.drain()
            else:
                run.run_to_end()
            assert [take_counts(worker, 1).replicas[-1].queued for worker in run.workers.values()] == [0, 0]


def test_without_ackers_everything_is_acked_at_once() -> None:
    class Untracked(Topology):
        config = {"topology.acker.executors": 0}
        numbers = Numbers.spec()
        explode = Explode.spec(inputs=[numbers])

    result = complete_topology(Untracked, {"numbers": rows(5)})
    assert result.acked["numbers"] == [0, 1, 2, 3, 4]
    assert result.failed["numbers"] == []
