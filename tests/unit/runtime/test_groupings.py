"""Every grouping gives exactly as many tuples as it promises, with 1, 2 and 3 workers, tracked and untracked."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from pasps import Bolt, Grouping, GroupingSpec, Topology, TopologyBuilder, TopologyContext, Tuple
from pasps.testing import CompletedTopology, OnStream, complete_topology
from tests.unit.runtime.parts import Forward, Numbers, TwoStreams, add_one, rows
from tests.unit.runtime.watched import IN_TURN

COUNT, POOL, ACTIVE = 200, 5, 3


class ByParity:
    """A custom grouping: even numbers to the first task, odd ones to the last two."""

    def prepare(self, ctx: TopologyContext, stream: Any, target_tasks: list[int]) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, source_task: int, values: tuple[Any, ...]) -> list[int]:
        return self.tasks[:1] if values[0] % 2 == 0 else self.tasks[-2:]


def completed(grouping: GroupingSpec, workers: int, tracked: bool) -> CompletedTopology:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers, 2)
    builder.set_bolt("forward", Forward, ACTIVE, POOL).grouping("numbers", grouping)
    result = complete_topology(builder.create_topology("groupings"), {"numbers": rows(COUNT)}, workers=workers, tracked=tracked)
    assert result.errors == []
    assert sorted(result.acked["numbers"]) == (list(range(COUNT)) if tracked else [])
    assert result.failed["numbers"] == []
    return result


every_way = [
    pytest.mark.parametrize("workers", [1, 2, 3]),
    pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "untracked"]),
]


def in_every_way(test: Any) -> Any:
    for mark in every_way:
        test = mark(test)
    return test


@in_every_way
@pytest.mark.parametrize(
    "grouping",
    [
        Grouping.LOAD_AWARE,
        Grouping.LOAD_AWARE_PAPER,
        Grouping.LOAD_AWARE_STORM,
        Grouping.SHUFFLE,
        Grouping.LOCAL_OR_SHUFFLE,
        Grouping.NONE,
        Grouping.osg("number"),
        Grouping.of(IN_TURN),
    ],
    ids=str,
)
def test_each_tuple_reaches_one_active_replica(grouping: GroupingSpec, workers: int, tracked: bool) -> None:
    found = completed(grouping, workers, tracked).rows("forward")
    assert sorted(number for number, _ in found) == list(range(COUNT))
    assert {task for _, task in found} <= set(range(ACTIVE))


@in_every_way
def test_global_reaches_replica_zero(workers: int, tracked: bool) -> None:
    found = completed(Grouping.GLOBAL, workers, tracked).rows("forward")
    assert sorted(found) == [(number, 0) for number in range(COUNT)]


@in_every_way
def test_all_reaches_every_task_of_the_pool(workers: int, tracked: bool) -> None:
    found = completed(Grouping.ALL, workers, tracked).rows("forward")
    assert sorted(found) == sorted((number, task) for number in range(COUNT) for task in range(POOL))


@in_every_way
def test_fields_gives_each_key_one_task_in_order(workers: int, tracked: bool) -> None:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("forward", Forward, ACTIVE, POOL).fields_grouping("numbers", "number")
    given = [[i % 10] for i in range(COUNT)]
    result = complete_topology(builder.create_topology("fields"), {"numbers": given}, workers=workers, tracked=tracked)
    found = result.rows("forward")
    assert Counter(number for number, _ in found) == dict.fromkeys(range(10), COUNT // 10)
    assert len({task for _, task in found}) > 1
    assert len(set(found)) == 10, "a key was seen by two tasks"


@in_every_way
def test_partial_key_gives_each_key_at_most_two_tasks_a_sender(workers: int, tracked: bool) -> None:
    found = completed(Grouping.partial_key("number"), workers, tracked).rows("forward")
    assert sorted(number for number, _ in found) == list(range(COUNT))


@in_every_way
def test_custom_reaches_what_it_chooses(workers: int, tracked: bool) -> None:
    found = completed(Grouping.custom(ByParity()), workers, tracked).rows("forward")
    wanted = [(n, 0) for n in range(0, COUNT, 2)] + [(n, t) for n in range(1, COUNT, 2) for t in (POOL - 2, POOL - 1)]
    assert sorted(found) == sorted(wanted)


@in_every_way
def test_direct_reaches_the_task_that_the_sender_names(workers: int, tracked: bool) -> None:
    builder = TopologyBuilder()
    builder.set_spout("numbers", TwoStreams)
    builder.set_bolt("forward", Forward, 2, 4).direct_grouping("numbers", "chosen")
    topology = builder.create_topology("direct")
    first = topology.components["forward"].first_task
    given = [OnStream("chosen", [i], direct_task=first + i % 4) for i in range(40)]
    result = complete_topology(topology, {"numbers": given}, workers=workers, tracked=tracked)
    assert sorted(result.rows("forward")) == [(i, i % 4) for i in range(40)]
    assert len(result.acked["numbers"]) == (40 if tracked else 0)


class Ask(Bolt):
    """Wants to know where its tuples go."""

    outputs = ["number", "tasks"]

    def process(self, tup: Tuple) -> None:
        tasks = self.emit([tup[0], 0], need_task_ids=True)
        assert tasks is not None
        self.emit([tup[0], sorted(tasks)])


@pytest.mark.parametrize("workers", [1, 2])
def test_need_task_ids_gives_the_receivers(workers: int) -> None:
    class Asking(Topology):
        numbers = Numbers.spec()
        ask = Ask.spec(inputs=[numbers])
        one = Forward.spec(inputs={ask: Grouping.fields("number")}, par=2, pool=3)
        two = Forward.spec(inputs={ask: Grouping.ALL}, par=2, pool=2)

    result = complete_topology(Asking, {"numbers": rows(30)}, workers=workers)
    components = Asking.blueprint().components
    seen: dict[int, set[int]] = {i: set() for i in range(30)}
    for name in ("one", "two"):
        for number, task in result.rows(name):
            seen[number].add(components[name].first_task + task)
    told = {number: set(tasks) for number, tasks in result.rows("ask") if tasks}
    assert told == seen
    assert sorted(result.acked["numbers"]) == list(range(30))


@in_every_way
def test_several_streams_reach_their_own_subscribers(workers: int, tracked: bool) -> None:
    class Streams(Topology):
        source = TwoStreams.spec()
        plain = add_one.spec(inputs=[source])
        texts = Forward.spec(inputs=[source["texts"]])

    given = [item for i in range(20) for item in ([i], OnStream("texts", ["t", 100 + i]))]
    result = complete_topology(Streams, {"source": given}, workers=workers, tracked=tracked)
    assert sorted(result.rows("plain")) == [(i + 1,) for i in range(20)]
    assert sorted(number for number, _ in result.rows("texts")) == [100 + i for i in range(20)]
    assert len(result.acked["source"]) == (40 if tracked else 0)
