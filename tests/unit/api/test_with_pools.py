from __future__ import annotations

from typing import Any

import pytest

from pasps.api import Bolt, Spout, Topology, Tuple, blueprint_of
from pasps.api.validate import with_pools
from pasps.errors import TopologyError


class Source(Spout):
    outputs = ["n"]

    def next_tuple(self) -> None: ...


class Work(Bolt):
    outputs = ["n"]

    def process(self, tup: Tuple) -> None: ...


class Flow(Topology):
    source = Source.spec(par=2)
    first = Work.spec(inputs=[source], par=3, pool=4)
    second = Work.spec(inputs=[first])


def test_pools_are_those_given_and_tasks_are_numbered_again() -> None:
    before = blueprint_of(Flow)
    after = with_pools(before, {"first": 6})
    assert [(plan.par, plan.pool, plan.first_task) for plan in after.components.values()] == [(2, 2, 1), (3, 6, 3), (1, 1, 9)]
    assert after.edges == before.edges
    assert with_pools(before, {}) == before


def test_a_pool_below_par_lowers_par() -> None:
    plan = with_pools(blueprint_of(Flow), {"first": 2}).components["first"]
    assert (plan.par, plan.pool) == (2, 2)


@pytest.mark.parametrize(
    ("pools", "words"),
    [
        ({"frist": 2}, "component 'frist': a pool is given for it, but there is no such bolt; did you mean 'first'?"),
        ({"source": 2}, "it is a spout, whose tasks are all active"),
        ({"first": 0}, "pool must be an integer of 1 to 4096, got 0"),
        ({"first": True}, "got True"),
        ({"first": 2.5}, "got 2.5"),
        ({"first": 5000}, "got 5000"),
        ({"first": 9}, "pool = 9 is more than topology.max.task.parallelism = 8"),
    ],
)
def test_pools_that_cannot_be_are_refused(pools: dict[str, Any], words: str) -> None:
    with pytest.raises(TopologyError) as caught:
        with_pools(blueprint_of(Flow, config={"topology.max.task.parallelism": 8}), pools)
    assert words in str(caught.value)


class Two(Topology):
    a = Source.spec()
    b = Work.spec(inputs=[a], pool=4)
    c = Source.spec(par=2)
    d = Work.spec(inputs=[c, b])


def test_the_tasks_of_spouts_keep_their_ids_whatever_pools_bolts_get() -> None:
    before = blueprint_of(Two)
    assert {id_: [*plan.tasks] for id_, plan in before.components.items()} == {"a": [1], "b": [4, 5, 6, 7], "c": [2, 3], "d": [8]}
    for pool in (1, 5, 4096):
        after = with_pools(before, {"b": pool}).components
        assert ([*after], after["a"].tasks, after["c"].tasks) == (["a", "b", "c", "d"], range(1, 2), range(2, 4))
