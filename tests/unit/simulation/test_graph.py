"""A graph from a topology and its benchmark, and from a run's records; and who is told what is missing."""

from __future__ import annotations

import pytest

from pasps import Grouping, Topology
from pasps.api.groupings import Kind
from pasps.api.topology import blueprint_of
from pasps.control.decision_log import Record
from pasps.control.et_file import EtFile, OperatorTimes
from pasps.control.run_log import Sample
from pasps.control.situation import PolicySettings
from pasps.errors import InvalidError
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.graph import Graph, graph_of, graph_of_run, with_pools
from pasps.simulation.run import Order, simulate
from pasps.spouts import TraceSpout
from tests.unit.simulation.components import Blocking, Splitting
from tests.unit.simulation.graphs import bolt, graph


class Shop(Topology):
    trace = TraceSpout.spec()
    split = Splitting.spec(inputs=[trace], par=1, pool=2)
    store = Blocking.spec(inputs={split: Grouping.fields("id")}, par=2, pool=4)


TIMES = EtFile(
    "shop",
    {
        "split": OperatorTimes(0.001, "inline", None, varies=0.3, selectivity={"default": 2.5}),
        "store": OperatorTimes(0.01, "thread", None),
    },
)


def shop(times: EtFile | None = TIMES, **given: float) -> Graph:
    return graph_of(blueprint_of(Shop), times, given, "shop.py.et.json", 2, 2)


def test_a_topology_and_its_benchmark_make_a_graph() -> None:
    found = shop()
    split, store = found.bolts
    assert (split.et_seconds, split.varies, split.execution, split.one_queue) == (0.001, 0.3, "inline", True)
    assert (store.execution, store.pool, store.par, store.keyed, store.one_queue) == ("thread", 4, 2, True, False)
    assert store.inputs[0].selectivity == 2.5
    assert store.inputs[0].grouping.kind is Kind.FIELDS
    assert found.visits() == {"trace": 1.0, "split": 1.0, "store": 2.5}
    assert found.capacity() == pytest.approx(4 / (2.5 * 0.01))


def test_what_is_said_holds_before_the_file() -> None:
    assert shop(store=0.5).bolts[1].et_seconds == 0.5


@pytest.mark.parametrize("times", [None, EtFile("shop", {"split": TIMES.operators["split"]})])
def test_a_bolt_of_which_nothing_is_known_is_named_with_the_cures(times: EtFile | None) -> None:
    with pytest.raises(InvalidError, match=r"'store' \(shop.py.et.json .*`pasps et`.*--et \w+=0.02"):
        shop(times)


def test_a_time_for_no_bolt_is_refused() -> None:
    with pytest.raises(InvalidError, match="--et stor: topology 'shop' has no such bolt; its bolts are split, store"):
        shop(stor=0.1)


def test_pools_can_be_changed() -> None:
    found = with_pools(shop(), {"store": 1})
    assert (found.bolts[1].pool, found.bolts[1].par) == (1, 1)
    assert found.shape.bolts[1].pool == 1
    with pytest.raises(InvalidError, match="'shelf'"):
        with_pools(shop(), {"shelf": 3})
    with pytest.raises(InvalidError, match="at least 1"):
        with_pools(shop(), {"store": 0})


def test_a_runs_records_make_the_graph_that_ran() -> None:
    samples, records = list[Sample](), list[Record]()
    of = graph(bolt("a", "s", et=0.004, par=3), bolt("b", "a", et=0.012, selectivity=0.5), workers=2)
    simulate(of, Arrivals((150,) * 40), Order("pasps", settings=PolicySettings(interval_seconds=5.0)), samples.append, records.append)
    found = graph_of_run("g", samples, records, 0, {"topology.max.spout.pending": 77}, "run")
    assert [(each.id, each.pool, each.execution) for each in found.bolts] == [("a", 8, "thread"), ("b", 8, "thread")]
    assert [each.et_seconds for each in found.bolts] == pytest.approx([0.004, 0.012])
    assert found.bolts[1].inputs[0].selectivity == pytest.approx(0.5, abs=0.1)
    assert (found.workers, found.pending, found.bolts[0].par) == (2, 77, 3)


def test_a_run_that_says_too_little_is_refused() -> None:
    with pytest.raises(InvalidError, match="no decision"):
        graph_of_run("g", [], [], 0, {}, "run")
