"""A bolt in the runtime's own worker, fed with deliveries: what it sees, what it hands on, and what each tuple costs. In fake time."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any

from pasps.api import BatchBolt, Bolt, Grouping, Spout, Stream, Topology, TopologyBuilder, Tuple
from pasps.api.blueprint import Blueprint
from pasps.data.et_deliveries import Delivery, Output, input_of
from pasps.data.et_pass import Costs, Feed, with_sources
from pasps.data.et_sample import Limits, take_sample
from pasps.data.et_worker import Catcher, LoneWorker
from pasps.testing import FakeClock

CLOCK = FakeClock()


class Bench:
    """One bolt and its sources in a worker; every arrival is worked off before the next."""

    def __init__(self, blueprint: Blueprint, bolt: str, most: int = 1000) -> None:
        sources = list(dict.fromkeys(edge.source for edge in blueprint.components[bolt].inputs))
        self.bolt = bolt
        self.catcher = Catcher(blueprint, most)
        self.worker = LoneWorker(with_sources(blueprint, sources), [bolt, *sources], self.catcher, CLOCK)
        self.executor = self.worker.residents.executors[bolt, 0]
        self.costs = Costs(self.executor)
        self.instances = {task: slot.instance for (_, task), slot in self.worker.residents.slots.items()}

    def give(self, arrivals: Iterable[Sequence[Delivery]]) -> Output:
        whole = [tuple(arrival) for arrival in arrivals]
        feed = Feed(self.worker, self.bolt, whole)
        for arrival in whole:
            self.catcher.event_of = lambda event=arrival[0].event: event  # type: ignore[misc]
            feed.give(arrival)
            while self.worker.pump.has_work() or feed.waits():
                self.worker.step()
                self.costs.note()
            self.catcher.settle()
        return self.catcher.output(None)


def sent(edge: int, event: int, rows: Sequence[Any], roots: int = 1, task: int = 0, source: int = 1) -> Delivery:
    return Delivery(event, edge, task, source, (roots,) * len(rows), pickle.dumps([tuple(row) for row in rows]))


def rows_of(output: Output) -> list[tuple[int, list[Any]]]:
    return [(each.event, pickle.loads(each.rows)) for each in output.deliveries]


class Numbers(Spout):
    outputs = ["n"]

    def next_tuple(self) -> None: ...


class Sink(Bolt):
    def process(self, tup: Tuple) -> None: ...


# ---- costs


class Costly(Bolt):
    """Takes as many seconds as its input says; gives two tuples for an even number, one on another stream for a third."""

    outputs = [Stream(["n", "part"]), Stream(["n"], "thirds")]

    def process(self, tup: Tuple) -> None:
        n = tup.values.n
        CLOCK.advance(n)
        if n % 2 == 0:
            self.emit([n, 1])
            self.emit([n, 2])
        if n % 3 == 0:
            self.emit([n], stream="thirds")


class Chain(Topology):
    numbers = Numbers.spec()
    costly = Costly.spec(inputs=[numbers])
    sink = Sink.spec(inputs=[costly, costly["thirds"]])


def test_each_tuple_costs_what_its_step_took() -> None:
    bench = Bench(Chain.blueprint(), "costly")
    bench.give([[sent(0, event, [[event]])] for event in (1, 2, 3, 4)])
    assert bench.costs.seconds == [1.0, 2.0, 3.0, 4.0]


def test_tuples_that_arrive_together_share_a_step_only_as_far_as_they_do_in_the_runtime() -> None:
    bench = Bench(Chain.blueprint(), "costly")
    bench.give([[sent(0, 1, [[5], [7]])]])
    assert bench.costs.seconds == [5.0, 7.0], "a step is over after 2 ms"


def test_what_it_hands_on_has_the_event_it_came_of_its_stream_and_what_it_emitted_of_it() -> None:
    flow = Chain.blueprint()
    bench = Bench(flow, "costly")
    output = bench.give([[sent(0, event, [[event]])] for event in (1, 4, 6)])
    assert rows_of(output) == [(4, [(4, 1), (4, 2)]), (6, [(6, 1), (6, 2)]), (6, [(6,)])]
    assert [flow.edges[each.edge].stream for each in output.deliveries] == ["default", "default", "thirds"]
    assert {name: port.emitted for name, port in bench.executor.emitter.ports.items()} == {"default": 4, "thirds": 1}


def test_whole_events_are_kept_until_there_are_enough() -> None:
    output = Bench(Chain.blueprint(), "costly", most=3).give([[sent(0, event, [[event]])] for event in (2, 4, 6, 8)])
    assert [event for event, _ in rows_of(output)] == [2, 4, 6]
    assert output.cuts == {1: 4}


# ---- what it sees


class Seeing(Bolt):
    def initialize(self, conf: Any, ctx: Any) -> None:
        self.seen: list[Any] = []
        self.ticks = conf["topology.tick.tuple.freq.secs"]

    def process(self, tup: Tuple) -> None:
        self.seen.append((tup.component, tup.stream, tup.task, tup.values.n))


class Ticking(Seeing):
    def process_tick(self, tup: Tuple) -> None: ...


class Keyed(Topology):
    config = {"topology.tick.tuple.freq.secs": 1}
    numbers = Numbers.spec()
    seeing = Ticking.spec(inputs={numbers: Grouping.fields("n")}, par=2, pool=8)


def sample_of(blueprint: Blueprint, spout: str, rows: Sequence[Any]) -> dict[str, Output]:
    given = {spout: [("default", row) for row in rows]}
    return dict(take_sample(blueprint, given, Limits(len(rows), 1.0), CLOCK, CLOCK.advance).outputs)


def test_all_events_of_a_key_are_seen_by_one_instance_and_in_order() -> None:
    flow, keys = Keyed.blueprint(), [f"key {n % 5}" for n in range(40)]
    bench = Bench(flow, "seeing")
    assert sorted(bench.instances) == list(range(8)), "one replica hosts the tasks of all"
    bench.give(input_of(flow, "seeing", sample_of(flow, "numbers", [[key] for key in keys]), 100).arrivals)
    seen = {task: [n for _, _, _, n in instance.seen] for task, instance in bench.instances.items()}
    assert sorted(key for of_task in seen.values() for key in of_task) == sorted(keys)
    for key in set(keys):
        assert [task for task, of_task in seen.items() if key in of_task] == [
            task for task, of_task in seen.items() if of_task.count(key) == 8
        ]


def test_a_tuple_says_where_it_came_from_and_ticks_are_off() -> None:
    bench = Bench(Keyed.blueprint(), "seeing")
    bench.give([[sent(0, 1, [["a"]], task=3, source=5)]])
    assert bench.instances[3].seen == [("numbers", "default", 5, "a")]
    assert bench.instances[3].ticks is None


class Left(Bolt):
    outputs = [Stream(["n"]), Stream(["n"], "picked", direct=True)]

    def process(self, tup: Tuple) -> None:
        self.emit([f"left {tup.values.n}"])
        self.emit([f"direct {tup.values.n}"], stream="picked", direct_task=self.ctx.component_tasks("join")[tup.values.n])


class Right(Bolt):
    outputs = ["n"]

    def process(self, tup: Tuple) -> None:
        if tup.values.n != 1:
            self.emit([f"right {tup.values.n}"])


def diamond() -> Blueprint:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("left", Left).shuffle_grouping("numbers")
    builder.set_bolt("right", Right).shuffle_grouping("numbers")
    builder.set_bolt("join", Seeing, 2).global_grouping("right").global_grouping("left").direct_grouping("left", "picked")
    return builder.create_topology("diamond")


def test_several_inputs_come_merged_and_a_direct_tuple_to_the_task_that_its_sender_chose() -> None:
    flow = diamond()
    outputs = sample_of(flow, "numbers", [[0], [1]])
    for name in ("left", "right"):
        outputs[name] = Bench(flow, name).give(input_of(flow, name, outputs, 100).arrivals)
    bench = Bench(flow, "join")
    bench.give(input_of(flow, "join", outputs, 100).arrivals)
    assert [n for _, _, _, n in bench.instances[0].seen] == ["direct 0", "left 0", "right 0", "left 1"]
    assert [n for _, _, _, n in bench.instances[1].seen] == ["direct 1"]


# ---- tracking, as it would be


class Holding(Bolt):
    """Acks three tuples at a time, and emits one that is anchored to all of them."""

    outputs = ["n"]
    auto_ack = False

    def initialize(self, conf: Any, ctx: Any) -> None:
        self.held: list[Tuple] = []

    def process(self, tup: Tuple) -> None:
        self.held.append(tup)
        if len(self.held) == 3:
            self.emit([sum(each.values.n for each in self.held)], anchors=self.held)
            for each in self.held:
                self.ack(each)
            self.held = []


class Windows(Topology):
    numbers = Numbers.spec()
    holding = Holding.spec(inputs=[numbers])
    sink = Sink.spec(inputs=[holding])


def test_a_bolt_that_acks_later_works_and_what_has_several_roots_goes_on_with_as_many() -> None:
    flow = Windows.blueprint()
    bench = Bench(flow, "holding")
    output = bench.give([[sent(0, event, [[event]])] for event in range(1, 8)])
    assert rows_of(output) == [(3, [(6,)]), (6, [(15,)])]
    assert [each.roots for each in output.deliveries] == [(3,), (3,)]
    assert (bench.executor.meter.acked, len(bench.costs.seconds)) == (6, 7)
    after = Bench(flow, "sink")
    after.give(input_of(flow, "sink", {"holding": output}, 100).arrivals)
    assert (after.executor.meter.acked, after.executor.meter.failed) == (2, 0)
    (spout,) = after.worker.residents.spouts.values()
    assert len(spout.fates.ledger) == 0, "all that they descend from is acked"


def test_what_nobody_tracks_stays_so() -> None:
    output = Bench(Windows.blueprint(), "holding").give([[sent(0, event, [[event]], roots=0)] for event in (1, 2, 3)])
    assert [each.roots for each in output.deliveries] == [(0,)]


# ---- errors, batches, values


class Picky(Bolt):
    outputs = ["n"]

    def process(self, tup: Tuple) -> None:
        if tup.values.n > 1:
            raise ValueError(f"not {tup.values.n}")
        self.emit([(n for n in "")] if tup.values.n else [0])


class Refusing(Topology):
    numbers = Numbers.spec()
    picky = Picky.spec(inputs=[numbers])
    sink = Sink.spec(inputs=[picky])


def test_errors_are_counted_and_the_first_is_kept() -> None:
    bench = Bench(Refusing.blueprint(), "picky")
    bench.give([[sent(0, event, [[event]])] for event in (0, 2, 3)])
    assert (bench.executor.meter.errors, bench.executor.meter.failed, len(bench.costs.seconds)) == (2, 2, 3)
    assert (bench.worker.errors.first or "").endswith("ValueError: not 2")


def test_values_that_do_not_pickle_are_left_out_and_the_reason_is_known() -> None:
    bench = Bench(Refusing.blueprint(), "picky")
    output = bench.give([[sent(0, event, [[n]])] for event, n in enumerate([0, 1, 0], 1)])
    assert [event for event, _ in rows_of(output)] == [1, 3]
    assert bench.catcher.problem == "TypeError: cannot pickle 'generator' object"


class Batches(BatchBolt):
    def initialize(self, conf: Any, ctx: Any) -> None:
        self.sizes: list[int] = []

    def process_batch(self, tuples: list[Tuple]) -> None:
        self.sizes.append(len(tuples))
        CLOCK.advance(8.0)


class Batched(Topology):
    numbers = Numbers.spec()
    batches = Batches.spec(inputs=[numbers])


def test_a_batch_is_what_arrives_together_and_each_of_it_costs_its_part() -> None:
    bench = Bench(Batched.blueprint(), "batches")
    bench.give([[sent(0, 1, [[1]])], [sent(0, 2, [[1], [2]]), sent(0, 2, [[3], [4]])]])
    assert bench.instances[0].sizes == [1, 4]
    assert bench.costs.seconds == [8.0, 2.0, 2.0, 2.0, 2.0]


def test_more_than_its_queue_holds_comes_to_a_bolt_as_it_does_in_the_runtime() -> None:
    bench = Bench(Batched.blueprint(config={"topology.executor.receive.buffer.size": 8}), "batches")
    bench.give([[sent(0, 1, [[n] for n in range(20)])], [sent(0, 2, [[20]])]])
    assert bench.instances[0].sizes == [8, 8, 4, 1]
    assert len(bench.costs.seconds) == 21
