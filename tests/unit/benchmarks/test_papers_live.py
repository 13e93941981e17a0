"""What is run live of the papers' tables, and that the simulator is given the very same."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.elasticity.comparison import Turn
from benchmarks.elasticity.outcomes import Numbers
from benchmarks.papers import live
from benchmarks.papers.__main__ import main
from benchmarks.papers.applications import LINEAR
from benchmarks.papers.curves import MissingError
from benchmarks.papers.live import (
    INPUTS,
    PEAK_RATE,
    Row,
    Scaled,
    comparison_for,
    graph_for,
    live_table,
    made,
    over_replicas,
    plans_for,
    scaled,
    simulated,
)
from pasps.config import parse_option
from pasps.control.policies import policy_named

CALM, BURST, PEAK = [1500.0] * 40, [2000.0, 400.0] * 10, [3000.0]
NUMBERS = Numbers(0.5, 0.02, 1.0, 1000, 0.1, 0.09, 0.2, 0.3, 0.1, None, 0, 0, 0, 10, 12, 900.0, 0.4)


def stretch() -> Scaled:
    return scaled("x", CALM + BURST + CALM + PEAK, 20)


def test_the_stretch_that_changes_most_is_taken_and_the_highest_second_of_all_is_what_two_cores_carry() -> None:
    found = stretch()
    assert (found.prepared.first_row, len(found.prepared.counts)) == (40, 20)
    assert found.times == max(PEAK) / PEAK_RATE == 10.0
    assert found.prepared.counts == tuple(rate / 10 for rate in BURST)


def test_of_equal_stretches_the_first_is_taken() -> None:
    assert scaled("x", CALM, 20).prepared.first_row == 0


def test_replicas_have_as_much_to_do_as_unscaled_ones() -> None:
    found = stretch()
    work = [found.prepared.peak_rate * wait / 1000 for wait in found.wait_millis.values()]
    assert work == pytest.approx([max(BURST) * seconds * LINEAR.warm for seconds in LINEAR.et_seconds.values()])


@pytest.mark.parametrize(("rows", "said"), [(CALM[:19], "fewer --seconds"), ([0.0] * 20, "--data"), ([], "fewer --seconds")])
def test_a_trace_without_such_a_stretch_is_named(rows: list[float], said: str) -> None:
    with pytest.raises(MissingError, match=f"'x'.*{said}"):
        scaled("x", rows, 20)


def test_the_tables_are_those_of_smoothed_and_raw() -> None:
    assert {table: each.trace for table, each in INPUTS.items()} == {"pa-sps-table-2": "sbac", "pa-sps-table-6": "twitter-raw"}


def test_a_run_begins_with_what_its_stretch_needs_in_the_mean() -> None:
    found = stretch()
    assert found.at_start == 2  # 120 a second, 9.9 ms each
    assert {plan.at_start for plan in plans_for(found)} == {2}


def test_saved_is_told_of_as_many_replicas_as_the_table_divides_by() -> None:
    assert over_replicas(1 - 16 / 96, 32) == pytest.approx(0.5)


def test_every_run_is_one_that_pasps_takes() -> None:
    for plan in plans_for(stretch()):
        for key, value in plan.options.items():
            parse_option(f"{key}={value}")
        graph, settings = graph_for(stretch(), plan)
        policy_named(plan.policy).configured(settings.plan, settings.options, graph.shape)


def test_the_simulator_is_given_what_is_run() -> None:
    found = stretch()
    plan, *_ = plans_for(found)
    graph, settings = graph_for(found, plan)
    assert {bolt.id: 1000 * bolt.et_seconds for bolt in graph.bolts} == pytest.approx(found.wait_millis)
    assert {(bolt.pool, bolt.par, bolt.execution) for bolt in graph.bolts} == {(24, 2, "thread")}
    assert (settings.policy, settings.predictor, settings.options, settings.plan.interval_seconds) == (
        *("pa-sps", "basic"),
        *({"published": True}, 30.0),
    )


def test_a_run_is_told_its_waits_and_its_topology(tmp_path: Path) -> None:
    found = stretch()
    command = comparison_for(found, tmp_path).command(Turn(plans_for(found)[0], 0))
    assert "wide_line.py" in command[command.index("run") + 1]
    options = dict(text.split("=", 1) for word, text in pairwise(command) if word == "-o")
    assert [float(options[f"line.wait.millis.{bolt}"]) for bolt in found.wait_millis] == pytest.approx(list(found.wait_millis.values()))
    assert options["pasps.policy.options.published"] == "true"
    assert [word for word in command if word.endswith("=2") and "." not in word] == [f"{bolt}=2" for bolt in found.wait_millis]


def test_stretches_of_other_lengths_are_kept_apart(tmp_path: Path) -> None:
    assert comparison_for(stretch(), tmp_path).directory != comparison_for(scaled("x", CALM + BURST + CALM + PEAK, 30), tmp_path).directory


def test_a_live_run_stands_beside_the_simulated_one_and_a_failed_one_is_told() -> None:
    found = stretch()
    theirs, ours, *_ = plans_for(found)
    virtual = simulated(found, ours)
    slower = Numbers(0.4, 0.02, 1.0, 1000, 0.2, 0.09, 0.2, 0.3, 0.1, None, 0, 0, 0, 10, 12, 900.0, 0.4)
    text = live_table("pa-sps-table-2", found, [Row(theirs.name, slower, virtual), Row(ours.name, NUMBERS, virtual)])
    assert f"{over_replicas(0.5, 32):.3f}, {over_replicas(virtual.saved, 32):.3f}" in text
    assert "Ahead of pa-sps-basic live: pasps-1; simulated: none." in text
    text = live_table("pa-sps-table-2", found, [Row(theirs.name, slower, virtual), Row(ours.name, None, virtual, "exit code 1")])
    assert "pasps-1 FAILED: exit code 1" in text
    assert "Ahead of pa-sps-basic live: none" in text


@pytest.mark.parametrize(
    ("tables", "seconds", "said"),
    [(["pa-sps-table-3"], 60, "'pa-sps-table-3'"), (["pa-sps-table-2"], 5, "--seconds 5"), (["pa-sps-table-2"], 60, "sbac.csv")],
)
def test_what_cannot_be_run_is_said_before_anything_is(
    tables: list[str], seconds: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "measured", None)
    with pytest.raises(MissingError, match=said):
        made(tables, tmp_path, tmp_path, seconds)


def test_the_command_says_which_tables_can_be_live(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--live", "presps-table-3", "--data", str(tmp_path), "--cache", str(tmp_path)]) == 2
    assert "pa-sps-table-2, pa-sps-table-6" in capsys.readouterr().err
