"""Every policy in a simulated run: it follows a step of the load there and back, its records give its plans again, and can be told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pytest

from pasps.control.decision_log import Record, read, written
from pasps.control.explain import explained, replay
from pasps.control.policies import policy_named, q_table
from pasps.control.policies.q_table import BUCKETS, BoltTable, QTable
from pasps.control.settings import ElasticSettings
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.model import Detail
from pasps.simulation.run import Order, simulate
from tests.unit.control.own_words import FOLLOWING, OWN_WORDS, own_words
from tests.unit.simulation.graphs import bolt, graph

LINE = graph(bolt("a", "s", et=0.05, par=1), bolt("b", "a", et=0.05, par=1), workers=2)
STEP = Arrivals((5,) * 150 + (60,) * 300 + (5,) * 450)
"""A quarter of a replica's time, three replicas' time, and again a quarter; long enough for whoever goes a step each half minute."""
TABLE = QTable("g", {name: BoltTable(8, 60.0, ("=-------",) * 3 + ("+++++=--",) * 9) for name in "ab"}, 1, 1, 10.0)


@dataclass(frozen=True)
class Run:
    policy: str
    records: list[Record]
    replicas: tuple[tuple[float, dict[str, int]], ...]
    lost: int

    def active(self, bolt: str, at: float) -> int:
        """Its replicas then."""
        return [active[bolt] for moment, active in self.replicas if moment <= at][-1]


@pytest.fixture(scope="module", params=FOLLOWING)
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    records: list[Record] = []
    policy = policy_named(request.param)
    settings = ElasticSettings.from_config({"pasps.policy": policy.name}).plan
    options = {"table": q_table.written(TABLE)} if policy.name == "rlearning" else {}
    order = Order(policy.name, "clairvoyant" if policy.forecasts else "none", settings, options=options)
    found = simulate(LINE, STEP, order, records=records.append, detail=Detail(20.0, exact=False))
    replicas = tuple((at, dict(active)) for at, active in found.replicas)
    return Run(policy.name, [read(written(record)) for record in records], replicas, found.events - found.done)


def test_it_follows_the_load_there_and_back(run: Run) -> None:
    assert run.lost == 0
    for name in "ab":
        before, within, after = (run.active(name, at) for at in (149.0, 449.0, 899.0))
        assert before <= 2
        assert 3 <= within <= 8
        assert after <= 2


def test_its_records_give_its_plans_again(run: Run) -> None:
    lines, same = replay(run.records, policy_named)
    assert same, lines
    assert lines == [f"{len(run.records)} of {len(run.records)} decisions are the same when they are made again"]


def test_its_decisions_are_told_in_its_own_words(run: Run) -> None:
    told = "\n".join(explained(run.records, name, at) for name in "ab" for at in (None, "230", "300"))
    assert own_words(run.policy, "30 s") in told


def test_each_decides_at_the_pace_that_it_is_made_for(run: Run) -> None:
    pace = {"dabs": 10.0, "incremental": 10.0, "rlearning": 10.0, "ra-sps": 25.0, "threshold": 15.0}.get(run.policy, 30.0)
    cycles = [record.uptime for record in run.records if record.moment == "cycle"]
    assert {round(after - before) for before, after in pairwise(cycles[1:])} == {pace}


def test_there_are_tables_for_all_of_them() -> None:
    assert {len(rows.actions) for rows in TABLE.bolts.values()} == {BUCKETS}
    assert set(OWN_WORDS) == set(FOLLOWING)
