"""The sample: the first events of all spouts in turn, acked at once, without waiting where nobody has to."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pasps.api import Bolt, Grouping, Spout, Stream, Topology, TopologyBuilder
from pasps.api.blueprint import Blueprint
from pasps.data.et_sample import Limits, Sample, take_sample
from pasps.errors import EndOfInput, InvalidError
from pasps.spouts import TraceSpout
from pasps.testing import FakeClock


class Sink(Bolt):
    def process(self, tup: Any) -> None: ...


class Counting(Spout):
    """Two events a call, the second to another stream; the ids are letters, and the last one has none."""

    outputs = [Stream(["n"]), Stream(["n", "twice"], "other")]
    log: list[Any] = []

    def initialize(self, conf: Any, ctx: Any) -> None:
        self.next = 1
        self.log.clear()

    def next_tuple(self) -> float:
        if self.next > 5:
            raise EndOfInput
        self.emit([self.next], f"{self.next}a")
        self.emit([self.next, 2 * self.next], f"{self.next}b" if self.next < 5 else None, stream="other")
        self.next += 1
        return 3600.0

    def ack(self, tup_id: Any) -> None:
        self.log.append(tup_id)

    def close(self) -> None:
        self.log.append("closed")


class Flow(Topology):
    counting = Counting.spec()
    sink = Sink.spec(inputs={counting: Grouping.SHUFFLE, counting["other"]: Grouping.fields("n")}, pool=4)


class Waits:
    """Time passes when somebody waits."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.waited: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.clock.advance(seconds)


def taken(
    blueprint: Blueprint, events: int = 100, seconds: float = 30.0, given: dict[str, Sequence[Any]] | None = None, wait: Waits | None = None
) -> Sample:
    wait = wait or Waits()
    return take_sample(blueprint, given or {}, Limits(events, seconds), wait.clock, wait)


def shown(sample: Sample, name: str) -> list[Any]:
    return [(each.event, pickle.loads(each.rows), each.roots) for each in sample.outputs[name].deliveries]


def test_each_event_has_its_number_its_stream_and_whether_it_is_tracked() -> None:
    sample = taken(Flow.blueprint())
    found = shown(sample, "counting")
    assert found[:3] == [(1, [(1,)], (1,)), (2, [(1, 2)], (1,)), (3, [(2,)], (1,))]
    assert found[-1] == (10, [(5, 10)], (0,))
    edges = [edge.stream for edge in Flow.blueprint().components["sink"].inputs]
    assert [edges[each.edge] for each in sample.outputs["counting"].deliveries] == ["default", "other"] * 5
    assert (sample.events, sample.by_spout, sample.problems) == (10, {"counting": 10}, ())


def test_events_are_acked_at_once_and_nothing_is_waited_for_that_was_emitted() -> None:
    wait = Waits()
    taken(Flow.blueprint(), wait=wait)
    assert Counting.log == ["1a", "1b", "2a", "2b", "3a", "3b", "4a", "4b", "5a", "closed"]
    assert wait.waited == []


def test_what_is_more_than_asked_for_is_not_acked() -> None:
    sample = taken(Flow.blueprint(), events=3)
    assert sample.events == 3
    assert [event for event, _, _ in shown(sample, "counting")] == [1, 2, 3]
    assert Counting.log == ["1a", "1b", "2a", "closed"]


def test_without_ackers_nothing_is_tracked_and_all_is_acked() -> None:
    sample = taken(Flow.blueprint(config={"topology.acker.executors": 0}))
    assert {roots for _, _, roots in shown(sample, "counting")} == {(0,)}


class Slow(Spout):
    """Something comes every ten seconds, whoever asks."""

    outputs = ["n"]
    clock = FakeClock()

    def initialize(self, conf: Any, ctx: Any) -> None:
        self.due = self.clock.now() + 10

    def next_tuple(self) -> float | None:
        if self.clock.now() < self.due:
            return self.due - self.clock.now()
        self.emit([1])
        self.due += 10
        return None


class Waiting(Topology):
    slow = Slow.spec()
    sink = Sink.spec(inputs=[slow])


def test_a_spout_that_has_nothing_is_waited_for_as_long_as_it_says_and_no_longer_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = Waits()
    monkeypatch.setattr(Slow, "clock", wait.clock)
    sample = taken(Waiting.blueprint(), events=2, wait=wait)
    assert (sample.events, wait.waited) == (2, [10.0, 10.0])
    wait = Waits()
    monkeypatch.setattr(Slow, "clock", wait.clock)
    sample = taken(Waiting.blueprint(), seconds=25.0, wait=wait)
    assert (sample.events, wait.waited) == (2, [10.0, 10.0])


class Silent(Spout):
    outputs = ["n"]

    def next_tuple(self) -> None: ...


class Nothing(Topology):
    silent = Silent.spec()
    sink = Sink.spec(inputs=[silent])


def test_a_spout_that_never_has_anything_is_asked_less_often_and_at_last_no_more() -> None:
    wait = Waits()
    sample = taken(Nothing.blueprint(), seconds=2.0, wait=wait)
    assert sample.events == 0
    assert wait.waited[:3] == pytest.approx([0.001, 0.002, 0.004])
    assert sum(wait.waited) == pytest.approx(2.0, abs=0.1)
    assert len(wait.waited) < 60


class Yearly(Topology):
    trace = TraceSpout.spec(config={"trace.rows": [1, 1, 2], "trace.step.seconds": 31_536_000}, par=2)
    sink = Sink.spec(inputs=[trace])


def test_a_trace_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = Waits()
    monkeypatch.setattr(TraceSpout, "clock", wait.clock)
    sample = taken(Yearly.blueprint(), wait=wait)
    assert [rows[0][0] for _, rows, _ in shown(sample, "trace")] == [0, 1, 2, 3]
    assert wait.waited == []
    assert TraceSpout.clock is wait.clock, "only the sampled instances have another"


class Failing(Spout):
    outputs = ["n"]

    def initialize(self, conf: Any, ctx: Any) -> None:
        self.calls = 0
        if conf.get("failing.at") == "start":
            raise OSError("no such broker")

    def next_tuple(self) -> None:
        self.calls += 1
        if self.calls == 2:
            raise ValueError("no line 2")
        self.emit([self.calls], 1)

    def ack(self, tup_id: Any) -> None:
        raise KeyError(tup_id)


class Breaking(Topology):
    failing = Failing.spec()
    sink = Sink.spec(inputs=[failing])


def test_a_spout_that_raises_is_asked_no_more_and_what_it_gave_counts() -> None:
    sample = taken(Breaking.blueprint())
    assert shown(sample, "failing") == [(1, [(1,)], (1,))]
    first, second = sample.problems
    assert first.startswith("spout 'failing' raised, and was asked no more\nTraceback")
    assert first.endswith("ValueError: no line 2")
    assert "KeyError: 1" in second


def test_a_spout_that_cannot_start_is_refused_with_its_own_words() -> None:
    with pytest.raises(InvalidError, match=r"(?s)give events with --events\n.*OSError: no such broker"):
        taken(Breaking.blueprint(config={"failing.at": "start"}))


# ---- events that are given


def two_spouts() -> Blueprint:
    builder = TopologyBuilder()
    builder.set_spout("given", Failing, 3)
    builder.set_spout("own", Counting)
    builder.set_bolt("sink", Sink).shuffle_grouping("given").shuffle_grouping("own")
    return builder.create_topology("two", {"failing.at": "start"})


def test_a_spout_whose_events_are_given_is_not_run_and_others_are_asked_in_turn() -> None:
    sample = taken(two_spouts(), events=6, given={"given": [("default", ["x"]), ("default", ["y"])]})
    assert sample.by_spout == {"given": 2, "own": 4}
    assert [(event, rows) for event, rows, _ in shown(sample, "given")] == [(1, [("x",)]), (4, [("y",)])]
    assert [event for event, _, _ in shown(sample, "own")] == [2, 5]


def test_values_that_do_not_pickle_are_left_out_and_said() -> None:
    values = [("default", [1]), ("default", [(n for n in "")]), ("default", [3])]
    sample = taken(Breaking.blueprint(config={"failing.at": "start"}), given={"failing": values})
    assert [rows for _, rows, _ in shown(sample, "failing")] == [[(1,)], [(3,)]]
    assert "cannot pickle 'generator' object" in sample.problems[0]


def test_keys_go_to_the_tasks_of_the_real_grouping_and_an_edge_to_all_does_not_take_room_from_others() -> None:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Counting)
    builder.set_bolt("keyed", Sink, 1, pool=8).fields_grouping("numbers", ["n"])
    builder.set_bolt("all", Sink, 1, pool=8).all_grouping("numbers")
    plain = builder.create_topology("keys")
    rows = [("default", [n % 3]) for n in range(20)]
    sample = taken(plain, events=20, given={"numbers": rows})
    by_edge = {edge.target: edge.index for edge in plain.edges}
    keyed = [each for each in sample.outputs["numbers"].deliveries if each.edge == by_edge["keyed"]]
    assert [each.event for each in keyed] == list(range(1, 21))
    tasks = {pickle.loads(each.rows)[0][0]: {other.task for other in keyed if other.rows == each.rows} for each in keyed}
    assert len(tasks) == 3
    assert all(len(of_key) == 1 for of_key in tasks.values())
    assert sample.outputs["numbers"].cuts == {by_edge["all"]: 3}, "eight copies of each event"
    assert [each.event for each in sample.outputs["numbers"].deliveries if each.edge == by_edge["all"]].count(3) == 8


def test_replicas_of_a_bolt_without_keys_are_as_good_as_the_first() -> None:
    plain = Flow.blueprint()
    many = replace(plain.components["sink"], par=4, inputs=plain.components["sink"].inputs[:1])
    blueprint = replace(plain, components={**plain.components, "sink": many}, edges=plain.edges[:1])
    assert {each.task for each in taken(blueprint).outputs["counting"].deliveries} == {0}
