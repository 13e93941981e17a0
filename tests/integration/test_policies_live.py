"""Every policy of the papers, live: it follows a step of the load there and back, its records give its plans again, and can be told.

What it does in a simulated run is in `tests.unit.simulation.test_policies_follow`; what becomes of kills, in `test_elastic`.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pasps import LocalCluster, RunningTopology
from pasps.control.explain import explained, replay
from pasps.control.policies import policy_named, q_table
from pasps.control.policies.q_table import BUCKETS, BoltTable, QTable
from pasps.metrics import Stats
from tests.integration.elastic_topologies import POOL, SLOW_SECONDS, Course, SlowLine
from tests.integration.running import finish, rows, until
from tests.unit.control.own_words import FOLLOWING, own_words

pytestmark = pytest.mark.timeout(300)
"""Whoever does not follow is to be named, after as long as is waited for anything."""

QUIET, BUSY = 5, round(3 / SLOW_SECONDS)
"""Events a second: a quarter of a replica's time, and three replicas'."""
STEP = [QUIET] * 2 + [BUSY] * 6
BOLTS = ("first", "sink")
HALF = BUCKETS // 2
TABLE = QTable("SlowLine", {name: BoltTable(POOL, float(BUSY), ("=-------",) * HALF + ("+++++=--",) * HALF) for name in BOLTS}, 1, 1, 1.0)
"""Half of the load is much: of its rates of half a minute none is the load's own within a run of a few seconds."""
PACED_FOR_SECONDS: Mapping[str, Mapping[str, Any]] = {
    "dabs": {"window_seconds": 3},
    "ra-sps": {"sample_seconds": 1},
    "threshold": {"stabilisation_seconds": 0},
}
"""Their own windows are for intervals of tens of seconds."""


@dataclass(frozen=True)
class Followed:
    course: Course
    stats: Stats
    written: list[int]


def options_of(policy: str, directory: Path) -> dict[str, Any]:
    if policy != "rlearning":
        return {f"pasps.policy.options.{name}": value for name, value in PACED_FOR_SECONDS.get(policy, {}).items()}
    table = directory / "table.json"
    table.write_text(q_table.written(TABLE))
    return {"pasps.policy.options.table": str(table)}


def follow(running: RunningTopology, course: Course, directory: Path) -> Followed:
    """Back when all events are done, and the replicas that were there for them are not any more."""
    try:
        finish(running)
        until(
            lambda: all(course.turns(name)[-1:] == ["fewer"] for name in BOLTS),
            lambda: f"fewer replicas than under load; there were {[(name, course.turns(name)) for name in BOLTS]}",
        )
        return Followed(course, running.stats(), sorted(row[0] for row in rows(directory)))
    finally:
        running.kill(wait=0)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future[Followed]]:
    """All policies side by side, since each waits most of the time; over when the first test begins."""
    found = {}
    with LocalCluster(workers=1) as cluster, ThreadPoolExecutor(len(FOLLOWING)) as pool:
        for policy in FOLLOWING:
            directory = tmp_path_factory.mktemp(policy)
            course = Course(directory, STEP, policy, **{"pasps.predictor": "basic", **options_of(policy, directory)})
            running = cluster.submit(SlowLine, policy, course.conf, control=course.control)
            found[policy] = pool.submit(follow, running, course, directory)
    return found


@pytest.mark.parametrize("policy", FOLLOWING)
def test_it_follows_the_load_there_and_back_and_can_be_told(runs: dict[str, Future[Followed]], policy: str) -> None:
    run = runs[policy].result()
    course = run.course
    assert run.written == list(range(course.total))
    assert (run.stats.acked, run.stats.failed, run.stats.replayed) == (course.total, 0, 0)
    for name in BOLTS:
        assert course.turns(name)[:2] == ["more", "fewer"]
        assert sum(replica.executed > 0 for replica in run.stats.components[name].replicas.values()) > 1, "more was activated than was used"
    lines, same = replay(course.records, policy_named)
    assert same, lines
    told = "\n".join(explained(course.records, name, str(record.uptime)) for name in BOLTS for record in course.records)
    assert own_words(policy, "1 s") in told
