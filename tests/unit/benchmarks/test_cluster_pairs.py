"""The comparison of `pasps run` and the cluster: rates, ratios, tables, and the topologies that both are given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import cluster
from benchmarks.in_cluster.given import adopt, configuration
from benchmarks.in_cluster.names import BOLTS, WORKERS, WORKLOADS, topology_name
from benchmarks.in_cluster.pair_tables import tables, to_json
from benchmarks.in_cluster.pairs import Pair, cells, middle, offered, order
from benchmarks.in_cluster.run_here import command
from benchmarks.in_cluster.submitted import request
from benchmarks.in_cluster.workload_topologies import build
from benchmarks.matrix import Subject
from benchmarks.measure import Measurement
from benchmarks.options import Options, inherited, records_directory
from pasps.config import parse_option

SUBJECT = Subject("pasps-functions", 2)
FULL = Pair(SUBJECT, "w1", "full", 0, 0.0, "here", Measurement(10, 10, True, 1000.0), Measurement(10, 10, True, 900.0))


def full(here: float, there: float, turn: int = 0) -> Pair:
    return replace(
        FULL, round=turn, here=replace(FULL.here, events_per_second=here), cluster=replace(FULL.cluster, events_per_second=there)
    )


def half(here_ms: float | None, there_ms: float | None) -> Pair:
    changed = replace(FULL, mode="half", rate=450.0)
    return replace(
        changed, here=replace(FULL.here, p50_ms=here_ms, p99_ms=10.0), cluster=replace(FULL.cluster, p50_ms=there_ms, p99_ms=40.0)
    )


def test_more_is_better_for_the_cluster_in_every_ratio() -> None:
    assert FULL.speed_ratio == 0.9
    assert half(1.0, 2.0).p50_ratio == 0.5
    assert half(1.0, 2.0).p99_ratio == 0.25


def test_what_was_not_measured_has_no_ratio() -> None:
    assert half(None, 2.0).p50_ratio is None
    assert full(1000.0, 0.0).speed_ratio is None
    assert middle([None, None]) is None
    assert middle([None, 3.0, 1.0]) == 2.0


def test_both_get_half_of_what_the_slower_can_do() -> None:
    pairs = [full(1000.0, 800.0), full(1200.0, 900.0, 1), full(1100.0, 1000.0, 2)]
    assert offered("half", pairs, SUBJECT, "w1") == 450.0
    assert offered("half", pairs, SUBJECT, "w2") is None
    assert offered("half", [full(1000.0, 0.0)], SUBJECT, "w1") is None
    assert offered("full", [], SUBJECT, "w1") == 0.0
    assert offered("2000/s", [], SUBJECT, "w1") == 2000.0


def test_who_is_first_takes_turns() -> None:
    assert [order(turn)[0] for turn in range(3)] == ["here", "cluster", "here"]


def test_rounds_of_the_same_are_one_cell() -> None:
    other = replace(FULL, workload="w2")
    assert list(cells([FULL, other, FULL])) == [[FULL, FULL], [other]]


def test_the_tables_judge_the_median_of_the_ratios() -> None:
    text = tables([full(1000.0, 700.0), full(500.0, 400.0, 1), full(1000.0, 900.0, 2), half(1.0, 2.0)])
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| W1")]
    assert rows[0][3:] == ["1,000 [500-1,000]", "700 [400-900]", "0.80 [0.70-0.90]", "yes", "yes"]
    assert rows[1][3:9] == ["half", "450", "1.00", "2.00", "0.50", "NO"]


def test_a_problem_names_the_run_and_the_side() -> None:
    bad = replace(FULL, cluster=replace(FULL.cluster, exact=False, problem="exit code 1: it failed"))
    assert "- w1 pasps-functions x2 full, round 1, cluster: exit code 1: it failed" in tables([bad])
    assert tables([]) == ""


def test_json_has_the_ratios_and_every_run() -> None:
    told = to_json([FULL])
    assert told["ratios"] == [
        {"subject": "pasps-functions", "workers": 2, "workload": "w1", "mode": "full", "events_per_second": 0.9, "p50": None, "p99": None}
    ]
    assert len(told["pairs"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("bolts", BOLTS)
def test_each_component_has_a_replica_for_every_worker(workload: str, bolts: str) -> None:
    for workers in WORKERS:
        blueprint = build(workload, bolts, workers)
        assert blueprint.name == topology_name(workload, bolts, workers)
        assert {(plan.par, plan.pool) for plan in blueprint.components.values()} == {(workers, workers)}


def test_both_sides_are_given_the_same_and_workers_adopt_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_OPTIONS", "")
    monkeypatch.setenv("BENCH_RECORDS", "")
    options = Options("w2", 3, 0, 2.0, 100.0, True)
    words = command(options, "classes", tmp_path)
    here = dict(parse_option(words[place + 1]) for place, word in enumerate(words) if word == "-o")
    asked = request(options, "classes", tmp_path, "mine")
    there = dict(asked.options)
    assert there.pop("spark.executor.cores") == 2
    assert here == there == configuration(options, tmp_path)
    assert asked.topology == words[words.index("--topology") + 1] == "w2-classes-3"
    assert adopt(here) == inherited() == options
    assert records_directory() == tmp_path


@pytest.mark.parametrize("words", [["--only", "plain"], ["--workers", "9"], ["--modes", "slow"], ["--workloads", "w3"]])
def test_what_cannot_be_measured_is_refused_before_anything_starts(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        cluster.main(words)
    assert refused.value.code == 2
    assert capsys.readouterr().err
