"""Observers see what was executed and what it took, hear payloads in their place, and what they tell reaches the senders.

Whatever they do, and whoever dies, no tuple is lost for it and nothing waits.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from random import Random
from typing import Any

import pytest

from pasps import BatchBolt, Bolt, Grouping, StatefulFunction, TopologyBuilder, Tuple, bolt
from pasps.errors import GroupingError, ProtocolError, TopologyError
from pasps.groupings import GroupingType
from pasps.runtime.batch import Batch, Payload
from pasps.runtime.inbox import Inbox
from pasps.runtime.observing import ObservedInbox, ObservedSettler, ObservedWay
from pasps.testing import PAUSE, FakeClock, StepOptions, StepRun
from pasps.transport.messages import Carried, Told
from tests.unit.runtime.parts import Forward
from tests.unit.runtime.watched import IN_TURN, TASKS_IN_TURN, InTurn, Numbers, Seen, Writer, rows, watched, watching

COUNT = 60
CLOCK: list[FakeClock] = []
BAD: set[int] = set()
"""Numbers that are not to be had."""
WAIT = 0.0
"""Seconds that nobody computes in, in each call."""


def seconds_of(number: int) -> float:
    return 0.001 * (1 + number % 7)


def spend(number: int) -> None:
    if number in BAD:
        raise ValueError(f"no {number}")
    CLOCK[-1].wait(WAIT)
    CLOCK[-1].advance(seconds_of(number))


class Inline(Bolt):
    outputs = ["number"]

    def process(self, tup: Tuple) -> None:
        spend(tup.values[0])
        self.emit(tup.values)


class Threaded(Inline):
    execution = "thread"


class Awaited(Bolt):
    outputs = ["number"]

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        spend(tup.values[0])
        self.emit(tup.values)


@bolt(outputs=["number"])
def function(number: int) -> tuple[int]:
    spend(number)
    return (number,)


class Stateful(StatefulFunction):
    outputs = ["number"]

    def __call__(self, number: int) -> tuple[int]:
        spend(number)
        return (number,)


@bolt(outputs=["number"], batch=True)
def batches(given: list[tuple[int]]) -> list[tuple[int]]:
    for (number,) in given:
        spend(number)
    return given


class Batches(BatchBolt):
    outputs = ["number"]

    def process_batch(self, tuples: list[Tuple]) -> list[tuple[int]]:
        for tup in tuples:
            spend(tup.values[0])
        return [tuple(tup.values) for tup in tuples]


ONE_BY_ONE = [Inline, Threaded, Awaited, function, Stateful]
ways = pytest.mark.parametrize("kind", [*ONE_BY_ONE, batches, Batches], ids=lambda kind: getattr(kind, "__name__", "function"))


def completed(kind: Any, workers: int = 1, count: int = COUNT, options: StepOptions | None = None, **more: Any) -> StepRun:
    """A run that has come to its end, and is still to be looked at."""
    run = StepRun(watched(kind, **more), workers, inputs={"numbers": rows(count)}, options=options)
    CLOCK.append(run.clock)
    run.run_to_end()
    return run


def check_order(seen: Seen) -> None:
    """Whoever hears a payload has just been told of the row that carried it, as far as the rows of its sender go."""
    last: dict[tuple[int, int], int] = {}
    senders: dict[int, int] = {}
    for event in seen.events:
        if event[0] == "heard":
            _, _, sender, payload = event
            senders[int(payload)] = sender
    for event in seen.events:
        if event[0] == "executed":
            number = event[2][0]
            if number in senders:
                last[event[1], senders[number]] = number
        else:
            _, index, sender, payload = event
            assert last.get((index, sender)) == int(payload), f"{payload!r} was heard by {index} after {last.get((index, sender))}"


# ---- what was executed


@ways
@pytest.mark.parametrize("workers", [1, 2])
def test_each_tuple_is_shown_where_it_was_executed_with_what_it_took(kind: Any, workers: int) -> None:
    with watching() as seen, completed(kind, workers) as run:
        assert run.journal.of("error") == []
        assert sorted(row[0] for _, row, _ in seen.executed()) == list(range(COUNT))
        bolts = [executor for worker in run.workers.values() for executor in worker.residents.executors.values()]
        assert sum(seconds for _, _, seconds in seen.executed()) == pytest.approx(sum(executor.meter.seconds for executor in bolts))
        if kind in ONE_BY_ONE:
            for _, row, seconds in seen.executed():
                assert seconds == pytest.approx(seconds_of(row[0]))


@pytest.mark.parametrize("kind", [batches, Batches], ids=["function", "bolt"])
def test_of_a_call_that_takes_a_batch_each_tuple_has_the_same_part(kind: Any) -> None:
    with watching() as seen, completed(kind, par=1, spouts=1, every=1000) as run:
        parts = {seconds for _, _, seconds in seen.executed()}
        assert len(parts) < COUNT, "several were in one call"
        assert sum(seconds for _, _, seconds in seen.executed()) == pytest.approx(sum(map(seconds_of, range(COUNT))))
        assert run.counts()["bolt"].executed == COUNT


@pytest.mark.parametrize(("kind", "counted"), [(Inline, 0.0), (Threaded, 0.25), (Awaited, 0.25)])
def test_a_wait_counts_for_bolts_that_wait_alone(kind: type[Bolt], counted: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "WAIT", 0.25)
    with watching() as seen, completed(kind, count=3):
        assert {row[0]: seconds for _, row, seconds in seen.executed()} == pytest.approx({n: counted + seconds_of(n) for n in range(3)})


def test_a_bolt_that_was_found_to_block_the_loop_is_shown_by_wall_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "WAIT", 0.25)
    with watching() as seen, StepRun(watched(Inline), 1, inputs={"numbers": rows(9)}) as run:
        CLOCK.append(run.clock)
        for executor in run.workers["w0"].residents.executors.values():
            executor.blocking.blocks = True
        run.run_to_end()
        assert {row[0]: seconds for _, row, seconds in seen.executed()} == pytest.approx({n: 0.25 + seconds_of(n) for n in range(9)})


@ways
def test_a_call_that_fails_was_executed_too(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "BAD", {4})
    with watching() as seen, completed(kind, count=9) as run:
        assert 4 in run.verdicts.failed["numbers"]
        assert sorted(row[0] for _, row, _ in seen.executed()) == list(range(9))


# ---- payloads


@ways
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_payload_is_heard_behind_the_row_that_carried_it(kind: Any, workers: int) -> None:
    with watching() as seen, completed(kind, workers, every=3) as run:
        assert run.journal.of("error") == []
        assert len(run.verdicts.acked["numbers"]) == COUNT
        assert len(seen.heard()) == 2 * (COUNT // 2 // 3)
        check_order(seen)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("buffer", [1024, 4])
def test_so_it_is_when_links_are_slow_and_queues_are_full(seed: int, buffer: int) -> None:
    options = StepOptions(seed=seed, delays=True)
    kind = Random(seed).choice([Inline, Threaded, Awaited, Batches])
    config = {"topology.executor.receive.buffer.size": buffer}
    with watching(answers=True) as seen, completed(kind, 3, 90, options, every=2, config=config) as run:
        assert len(run.verdicts.acked["numbers"]) == 90
        assert len(seen.heard()) == 2 * (45 // 2)
        check_order(seen)


@pytest.mark.parametrize("tracked", [True, False])
def test_calls_that_take_batches_take_none_past_a_payload(tracked: bool) -> None:
    """Several senders, so that rows of one kind wait between those of others, and are put together."""
    options = StepOptions(tracked=tracked)
    with watching() as seen, completed(Batches, 2, 300, options, every=7, par=1, spouts=4) as run:
        assert sorted(row[0] for row in run.emitted["bolt"]["default"]) == list(range(300))
        assert len(seen.heard()) == 4 * (75 // 7)
        check_order(seen)


def test_what_was_sent_by_a_newer_table_is_heard_behind_its_row_too() -> None:
    with watching() as seen, StepRun(watched(Inline, par=1, spouts=1), 2, inputs={"numbers": [*rows(2), PAUSE(1), *rows(9)[2:]]}) as run:
        CLOCK.append(run.clock)
        run.run_until_idle()
        mine = next(worker.id for worker in run.workers.values() if worker.residents.spouts)
        run.held = {"w0", "w1"} - {mine}
        run.set_active("bolt", 4, wait=False)
        run.advance(2)
        waiting = next(worker for worker in run.workers.values() if worker.id in run.held)
        early = [type(batch) for peer in waiting.peers.values() for _, batch in peer.early]
        assert early
        assert early == [Batch, Payload] * (len(early) // 2)
        run.held = set()
        run.run_to_end()
        assert sorted(int(payload) for _, _, payload in seen.heard()) == list(range(9))
        check_order(seen)


def test_a_row_whose_receivers_are_asked_for_carries_its_payload_too() -> None:
    class Asks(Bolt):
        outputs = ["number"]

        def process(self, tup: Tuple) -> None:
            (_task,) = self.emit(tup.values, need_task_ids=True) or ()

    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("asks", Asks).shuffle_grouping("numbers")
    builder.set_bolt("bolt", Inline, 3).grouping("asks", Grouping.of(IN_TURN))
    with watching() as seen, StepRun(builder.create_topology("asks"), 2, inputs={"numbers": rows(COUNT)}) as run:
        CLOCK.append(run.clock)
        run.run_to_end()
        assert len(run.verdicts.acked["numbers"]) == COUNT
        assert sorted(int(payload) for _, _, payload in seen.heard()) == list(range(COUNT))
        check_order(seen)


def test_other_subscribers_of_the_same_stream_are_not_touched_by_it() -> None:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", Inline, 3).grouping("numbers", Grouping.of(IN_TURN))
    builder.set_bolt("other", Forward, 2).shuffle_grouping("numbers")
    with watching() as seen, StepRun(builder.create_topology("two"), 2, inputs={"numbers": rows(COUNT)}) as run:
        CLOCK.append(run.clock)
        run.run_to_end()
        assert len(run.verdicts.acked["numbers"]) == COUNT
        assert sorted(row[0] for row in run.emitted["other"]["default"]) == list(range(COUNT))
        check_order(seen)
        other = [executor for (name, _), executor in run.workers["w0"].residents.executors.items() if name == "other"]
        assert {type(executor.inbox) for executor in other} == {Inbox}


@pytest.mark.parametrize("workers", [1, 2])
def test_what_an_observer_tells_is_heard_by_one_sender_or_by_all(workers: int) -> None:
    with watching(answers=True) as seen, completed(Inline, workers, every=4) as run:
        senders = set(run.blueprint.components["numbers"].tasks)
        answered = sorted((sender, index, b"re " + payload) for index, sender, payload in seen.heard())
        assert sorted(told for told in seen.told if told[2] != b"all") == answered
        everybody = [(sender, index) for sender, index, payload in seen.told if payload == b"all"]
        assert {sender for sender, _ in everybody} == senders
        told = [index for index in range(3) for _ in range(sum(at == index for at, _, _ in seen.executed()) // 5)]
        assert sorted(everybody) == sorted((sender, index) for sender in senders for index in told)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_payload_larger_than_a_frame_is_told_and_costs_no_tuple(workers: int) -> None:
    config = {"pasps.wire.max.frame.bytes": 4096, "topology.max.error.report.per.interval": 1000}
    with watching() as seen, completed(Inline, workers, every=2, size=5000, config=config) as run:
        assert len(run.verdicts.acked["numbers"]) == COUNT
        errors = run.journal.of("error")
        assert len(seen.heard()) + len(errors) == COUNT // 2
        assert all("a Carried of 50" in report.text and "component 'numbers'" in report.text for report in errors)
        assert bool(errors) == (workers > 1)


def test_a_payload_behind_the_last_row_asks_nobody_to_finish_again() -> None:
    class Finishes(Inline):
        def finish(self) -> None:
            self.emit(["end"])

    with watching() as seen, completed(Finishes, 2, count=9, par=1) as run:
        ended = [row for row in run.emitted["bolt"]["default"] if row == ("end",)]
        worker = next(worker for worker in run.workers.values() if ("bolt", 0) in worker.residents.slots)
        peer = next(iter(worker.peers.values()))
        worker.on_message(peer.id, peer.connection, Carried(0, 0, 1, b"8"))
        assert seen.heard()[-1] == (0, 1, b"8")
        run.run_to_end()
        assert [row for row in run.emitted["bolt"]["default"] if row == ("end",)] == ended


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (Carried(7, 0, 1, b""), "names edge 7, expected an edge with observers"),
        (Carried(-1, 0, 1, b""), "names edge -1"),
        (Carried(0, 4, 1, b""), "names task 4 of 'bolt'"),
        (Told(1, 0, 1, b""), "names edge 1, expected an edge with observers"),
        (Told(0, -1, 1, b""), "names task -1 of 'bolt'"),
    ],
)
def test_a_peer_that_names_what_is_not_there_is_cut_off(message: Carried | Told, said: str) -> None:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", Inline, 3, 4).grouping("numbers", Grouping.of(IN_TURN))
    builder.set_bolt("next", Inline).shuffle_grouping("bolt")
    with watching(), StepRun(builder.create_topology("peers"), 2) as run:
        worker = run.workers["w0"]
        with pytest.raises(ProtocolError, match=said):
            worker.on_message("w1", worker.peers["w1"].connection, message)


def test_what_is_for_nobody_here_is_dropped() -> None:
    with watching() as seen, completed(Inline, 2) as run:
        worker = run.workers["w0"]
        elsewhere = next(replica for replica in range(4) if ("bolt", replica) not in worker.residents.slots)
        heard, told = len(seen.heard()), len(seen.told)
        worker.on_message("w1", worker.peers["w1"].connection, Carried(0, elsewhere, 1, b"x"))
        worker.on_message("w1", worker.peers["w1"].connection, Told(0, 0, 4711, b"x"))
        assert (len(seen.heard()), len(seen.told)) == (heard, told)
        assert run.journal.of("error") == []


# ---- what they do wrong


@pytest.mark.parametrize("raises", ["executed", "heard", "told"])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_they_raise_is_reported_and_costs_no_tuple(raises: str, workers: int) -> None:
    with watching(answers=True, raises=raises), completed(Inline, workers) as run:
        assert len(run.verdicts.acked["numbers"]) == COUNT
        errors = run.journal.of("error")
        assert errors
        assert all(f"ValueError: {raises}" in report.text for report in errors)
        assert {report.component for report in errors} == {"numbers" if raises == "told" else "bolt"}


def test_an_observer_that_tells_somebody_who_is_none_is_told() -> None:
    class Astray(Writer):
        def executed(self, row: Any, seconds: float) -> None:
            self.at.tell(b"x", 4711)

    astray = GroupingType("astray", "a test's own", InTurn, observer=Astray, options=IN_TURN.options)
    with watching() as seen, completed(Inline, of=astray, every=1000) as run:
        assert len(run.verdicts.acked["numbers"]) == COUNT
        assert seen.told == []
        assert "component 'bolt', astray: an observer tells 4711, which is no task of 'numbers'" in run.journal.of("error")[0].text


def test_an_observer_that_cannot_be_made_is_found_at_the_start() -> None:
    def fails(at: Any) -> Any:
        raise ValueError("no observer")

    broken = GroupingType("broken", "a test's own", InTurn, observer=fails)
    with watching(), pytest.raises(ValueError, match="no observer"):
        StepRun(watched(Inline, of=broken), 1)


def test_a_splitter_that_does_not_listen_is_found_at_the_start() -> None:
    class Deaf:
        fan = 1

        def split(self, rows: Any) -> Any: ...

        def refresh(self, view: Any) -> None: ...

    deaf = GroupingType("deaf", "a test's own", lambda at: Deaf(), observer=Writer)
    with (
        watching(),
        pytest.raises(GroupingError, match=r"component 'numbers', stream 'default', grouping 'deaf': .*Deaf.* has no heard\(\)"),
    ):
        StepRun(watched(Inline, of=deaf), 1)


def test_several_calls_at_a_time_have_no_order_to_be_shown_in() -> None:
    class Several(Awaited):
        concurrency = 4

    said = r"component 'bolt'.*in-turn looks at what its tuples take one after the other, but 4 calls run at a time; set concurrency = 1"
    with pytest.raises(TopologyError, match=said):
        watched(Several)
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", Several).grouping("numbers", Grouping.osg("number"))
    with pytest.raises(TopologyError, match=r"osg\(number\) looks at"):
        builder.create_topology("several")


# ---- changes and losses


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("of", [IN_TURN, TASKS_IN_TURN], ids=["replicas", "tasks"])
def test_replicas_come_and_go_and_nothing_is_lost(seed: int, of: GroupingType) -> None:
    random = Random(seed)
    options = StepOptions(seed=seed, delays=True, creep=2e-5)
    kind = random.choice([Inline, Threaded, Awaited])
    blueprint = watched(kind, of=of, every=2, config={"topology.executor.receive.buffer.size": random.choice([1024, 12])})
    with watching(answers=True) as seen, StepRun(blueprint, 3, inputs={"numbers": rows(300)}, options=options) as run:
        CLOCK.append(run.clock)
        for _ in range(12):
            run.set_active("bolt", random.randint(1, 4), wait=False)
            for _ in range(random.randrange(12)):
                run.step()
        run.run_to_end()
        assert sorted(run.verdicts.acked["numbers"]) == list(range(300))
        assert run.verdicts.failed["numbers"] == []
        assert run.journal.of("error") == []
        assert sorted(row[0] for _, row, _ in seen.executed()) == list(range(300))
        check_order(seen)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("of", [IN_TURN, TASKS_IN_TURN], ids=["replicas", "tasks"])
def test_workers_die_and_links_break_and_nothing_waits_for_what_was_lost(seed: int, of: GroupingType) -> None:
    random = Random(seed)
    options = StepOptions(seed=seed, delays=True, creep=2e-5, replays=20)
    with watching(answers=True), StepRun(watched(Inline, of=of, every=2), 3, inputs={"numbers": rows(300)}, options=options) as run:
        CLOCK.append(run.clock)
        start = run.clock.peek()
        for number in range(6):
            for _ in range(random.randrange(3, 15)):
                run.step()
            victim = f"w{random.randrange(3)}"
            if number % 2:
                run.break_link(*(names := sorted(random.sample(["w0", "w1", "w2"], 2))))
                for _ in range(random.randrange(6)):
                    run.step()
                run.mend_link(*names)
            else:
                run.kill(victim)
                for _ in range(random.randrange(6)):
                    run.step()
                run.restart(victim)
        run.run_to_end()
        assert set(run.verdicts.acked["numbers"]) == set(range(300))
        assert run.journal.of("error") == []
        assert run.clock.peek() - start < 25, "something waited for the message time-out"


def test_a_view_tells_which_lives_have_ended() -> None:
    with watching() as seen, StepRun(watched(Inline, spouts=1, par=4), 2, inputs={"numbers": rows(3)}) as run:
        CLOCK.append(run.clock)
        run.run_to_end()
        where = {replica: worker.id for worker in run.workers.values() for (_, replica) in worker.residents.executors}
        mine = next(worker.id for worker in run.workers.values() if worker.residents.spouts)
        other = ({"w0", "w1"} - {mine}).pop()

        def homes() -> dict[int, Any]:
            return dict(seen.views[-1].homes)

        before = homes()
        assert before.keys() == where.keys()
        run.set_active("bolt", 3)
        run.set_active("bolt", 4)
        assert homes() == before
        run.break_link("w0", "w1")
        run.mend_link("w0", "w1")
        run.settle()
        assert {r for r, home in homes().items() if home != before[r]} == {r for r, at in where.items() if at == other}
        for _ in range(2):
            last = homes()
            run.kill(other)
            run.settle()
            run.restart(other)
            run.settle()
            assert {r for r, home in homes().items() if home != last[r]} == {r for r, at in where.items() if at == other}


# ---- those who have none


def test_a_bolt_without_observers_has_none_of_their_parts() -> None:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", Inline, 2).shuffle_grouping("numbers")
    builder.set_bolt("global", Inline, 1).global_grouping("numbers")
    builder.set_bolt("watched", Inline, 1).grouping("numbers", Grouping.of(IN_TURN))
    with watching(), StepRun(builder.create_topology("plain"), 1) as run:
        parts: dict[str, set[bool]] = defaultdict(set)
        for (name, _), executor in run.workers["w0"].residents.executors.items():
            for part, kind in ((executor.inbox, ObservedInbox), (executor.way, ObservedWay), (executor.settler, ObservedSettler)):
                parts[name].add(isinstance(part, kind))
            parts[name].add(any(slot.observers for slot in executor.slots.values()))
        assert parts == {"bolt": {False}, "global": {False}, "watched": {True}}
