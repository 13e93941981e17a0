"""What is run live of the papers' tables, and that the simulator is given the very same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.elasticity.comparison import Turn
from benchmarks.elasticity.making import Job
from benchmarks.elasticity.outcomes import Numbers, Result, write_result
from benchmarks.elasticity.plans import RunPlan
from benchmarks.papers import live
from benchmarks.papers.__main__ import main
from benchmarks.papers.applications import LINEAR
from benchmarks.papers.curves import MissingError
from benchmarks.papers.live import (
    OURS,
    PEAK_RATE,
    TABLES,
    Row,
    Scaled,
    comparison_for,
    graph_for,
    live_table,
    made,
    name_of,
    our_plans,
    over_replicas,
    plan_of,
    plans_for,
    rows_of,
    scaled,
    simulated,
)
from benchmarks.papers.narrow_line import NarrowLine
from benchmarks.papers.runs import Run
from benchmarks.papers.runs import graph_for as simulated_graph
from pasps.api.topology import blueprint_of
from pasps.control.et_file import et_path, load_execution_times
from pasps.control.policies import policy_named
from pasps.simulation.run import Simulated

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


RUNS = {name_of(run): run for table in TABLES.values() for run in table.runs.values()}


def test_the_tables_are_those_of_the_application_in_a_line() -> None:
    assert {table: each.trace for table, each in TABLES.items()} == {
        "pa-sps-table-2": "sbac",
        "pa-sps-table-6": "twitter-raw",
        "pa-sps-table-7": "dns",
        "pa-sps-table-8": "log",
        "pa-sps-table-3": "sbac",
        "pa-sps-table-4": "sbac",
        "presps-table-3": "sbac",
    }


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("pa-sps-table-2", ["pa-sps-ann", "pa-sps-fft", "pa-sps-lr", "pa-sps-rf", "pa-sps-basic"]),
        ("pa-sps-table-3", ["pa-sps-ann", "static-1", "static-4", "static-8"]),
        ("pa-sps-table-4", ["pa-sps-ann", "presps", "dabs"]),
        ("pa-sps-table-6", ["pa-sps-ann", "pa-sps-fft", "pa-sps-lr", "pa-sps-rf", "pa-sps-basic"]),
        ("presps-table-3", ["presps", "dabs"]),
    ],
)
def test_the_rows_are_all_that_are_printed_and_ours(table: str, names: list[str]) -> None:
    assert TABLES[table].runs.keys() == TABLES[table].printed.keys()
    assert [plan.name for plan in plans_for(table, stretch())] == [*names, *OURS]


def test_a_run_begins_with_what_its_stretch_needs_in_the_mean_and_a_fixed_one_with_its_own() -> None:
    found = stretch()
    assert found.at_start == 2  # 120 a second, 9.9 ms each
    assert {plan.at_start for plan in plans_for("pa-sps-table-2", found)} == {2}
    assert [plan_of(run, found).at_start for run in TABLES["pa-sps-table-3"].runs.values()] == [2, 1, 4, 8]


def test_saved_is_told_of_as_many_replicas_as_the_table_divides_by() -> None:
    assert over_replicas(1 - 16 / 96, 96, 32) == pytest.approx(0.5)
    assert over_replicas(1 - 16 / 48, 48, 32) == pytest.approx(0.5)


@pytest.mark.parametrize("table", TABLES)
def test_every_run_is_one_that_pasps_takes(table: str) -> None:
    for plan in plans_for(table, stretch()):
        graph, order = graph_for(stretch(), plan)
        policy_named(plan.policy).configured(order.settings, order.options, graph.shape)


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
def test_who_decides_is_configured_as_in_the_simulated_table(run: Run) -> None:
    found = stretch()
    plan = plan_of(run, found)
    _, order = graph_for(found, plan)
    assert (order.policy, order.predictor, order.options) == (run.policy, run.predictor, run.options)
    assert order.settings.interval_seconds == run.interval_seconds
    assert order.settings.reconfigure == (None if run.restart is None else "restart")
    if run.restart is not None:
        assert (order.restart.wait_seconds, order.restart.silence_seconds) == run.restart
    known = [seconds / found.times for seconds in order.benchmark.values()]
    assert known == pytest.approx(list(LINEAR.et_seconds.values()) if run.benchmarked else [])


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
def test_what_is_run_is_the_simulated_application_scaled(run: Run) -> None:
    found = stretch()
    graph, _ = graph_for(found, plan_of(run, found))
    theirs = simulated_graph(run)
    assert [bolt.et_seconds / found.times for bolt in graph.bolts] == pytest.approx([bolt.et_seconds for bolt in theirs.bolts])
    assert [(bolt.pool, bolt.execution) for bolt in graph.bolts] == [(min(24, bolt.pool), bolt.execution) for bolt in theirs.bolts]
    assert graph.tracked == theirs.tracked


def test_of_ours_nobody_forecasts_and_nobody_says_what_an_event_takes() -> None:
    for plan in our_plans(stretch()):
        _, order = graph_for(stretch(), plan)
        assert (order.policy, order.predictor, order.benchmark) == ("pasps", "none", {})


def test_a_run_is_told_its_waits_its_topology_and_its_start(tmp_path: Path) -> None:
    found = stretch()
    plan, *_ = plans_for("pa-sps-table-2", found)
    command = comparison_for(found, tmp_path).command(Turn(plan, 0))
    assert "wide_line.py" in command[command.index("run") + 1]
    options = dict(text.split("=", 1) for word, text in pairwise(command) if word == "-o")
    assert [float(options[f"line.wait.millis.{bolt}"]) for bolt in found.wait_millis] == pytest.approx(list(found.wait_millis.values()))
    assert options["pasps.policy.options.published"] == "true"
    assert options["pasps.predictor"] == "ann-published"
    assert [word for word in command if word.endswith("=2") and "." not in word] == [f"{bolt}=2" for bolt in found.wait_millis]


def test_what_the_published_controller_knew_of_its_bolts_lies_beside_the_topology_that_is_run(tmp_path: Path) -> None:
    found = stretch()
    comparison = comparison_for(found, tmp_path)
    turn = Turn(plan_of(RUNS["presps"], found), 0)
    comparison.lay_out(turn)
    command = comparison.command(turn)
    file = Path(command[command.index("run") + 1])
    assert (file.name, file.parent) == ("narrow_line.py", comparison.place(turn))
    times = load_execution_times(et_path(file), blueprint_of(NarrowLine))
    assert (times.seconds, times.warnings) == (found.benchmark, ())


def test_a_run_that_was_made_without_a_benchmark_is_no_result_of_one_with_it(tmp_path: Path) -> None:
    found = stretch()
    plan, *_ = plans_for("pa-sps-table-2", found)
    comparison = comparison_for(found, tmp_path)
    leave(tmp_path, found, replace(plan, benchmark={}))
    assert comparison.result(Turn(plan, 0)) is None
    leave(tmp_path, found, plan)
    assert comparison.result(Turn(plan, 0)) is not None


def leave(work: Path, found: Scaled, plan: RunPlan) -> None:
    comparison = comparison_for(found, work)
    place = comparison.place(Turn(plan, 0))
    place.mkdir(parents=True, exist_ok=True)
    write_result(result(comparison.parameters(plan)), place)


def result(parameters: dict[str, object], problem: str = "") -> Result:
    return Result("", "", parameters, {}, "", 1.0, 0, None if problem else NUMBERS, problem)


def test_stretches_of_other_lengths_are_kept_apart(tmp_path: Path) -> None:
    assert comparison_for(stretch(), tmp_path).directory != comparison_for(scaled("x", CALM + BURST + CALM + PEAK, 30), tmp_path).directory


def rows(table: str, lives: Sequence[Numbers | None], problem: str = "") -> list[Row]:
    """Rows of a table with these live numbers; simulated all do as the first of ours does."""
    found = stretch()
    plans, virtual = plans_for(table, found), simulated(found, our_plans(found)[1])
    made_of = [Row(plan, numbers, virtual, "" if numbers else problem) for plan, numbers in zip(plans, lives, strict=False)]
    return rows_of(table, made_of)


def test_a_live_run_stands_beside_the_simulated_one_and_a_failed_one_is_told() -> None:
    found = stretch()
    theirs, ours = TABLES["pa-sps-table-2"].runs["Basic"], our_plans(found)[1]
    virtual = simulated(found, ours)
    slower = replace(NUMBERS, saved=0.4, mean=0.2, lost=7)

    def text(live: Numbers | None, problem: str = "") -> str:
        told = [Row(plan_of(theirs, found), slower, virtual), Row(ours, live, virtual, problem)]
        return live_table("pa-sps-table-2", found, rows_of("pa-sps-table-2", told))

    said = text(NUMBERS)
    assert f"0.560, {over_replicas(0.4, 96, 32):.3f}, {over_replicas(virtual.saved, 96, 32):.3f}" in said
    assert f"-, {over_replicas(0.5, 96, 32):.3f}, " in said
    assert "| 7, 0" in said
    assert "Ahead of pa-sps-basic live: pasps-1; simulated: none." in said
    said = text(None, "exit code 1")
    assert "pasps-1 FAILED: exit code 1" in said
    assert "Ahead of pa-sps-basic live: none" in said


def test_who_is_ahead_of_a_run_without_a_known_latency_is_not_known() -> None:
    found, unknown = stretch(), replace(NUMBERS, saved=0.1, mean=None, p99=None)
    told = rows("presps-table-3", [NUMBERS, unknown, NUMBERS])
    assert "Ahead of dabs live: not known; simulated: none." in live_table("presps-table-3", found, told)


def test_the_narrow_pool_of_a_run_counts_as_it_is() -> None:
    found = stretch()
    told = rows("presps-table-3", [NUMBERS, NUMBERS])
    assert [row.saved_live(32) for row in told] == [over_replicas(0.5, 48, 32), over_replicas(0.5, 96, 32)]
    assert "narrow" in str(plan_of(RUNS["presps"], found).topology)


def test_the_order_of_systems_is_told_when_all_are_there() -> None:
    """In print r=1 saves most, then r=4, then PA-SPS, then r=8."""
    found = stretch()
    saved = [replace(NUMBERS, saved=over(each)) for each in (0.475, 0.875, 0.5, 0.0)]
    said = live_table("pa-sps-table-3", found, rows("pa-sps-table-3", saved))
    assert "printed: r=1, r=4, PA-SPS, r=8; live: r=1, r=4, PA-SPS, r=8; simulated: " in said
    assert "Live it is another order than simulated." in said  # where all do the same
    assert "Column saved, live: reproduced; simulated: not reproduced." in said
    for incomplete in (saved[:3], [*saved[:3], None]):
        assert "Who saves most" not in live_table("pa-sps-table-3", found, rows("pa-sps-table-3", incomplete, "exit code 1"))


def over(saved: float) -> float:
    """What a report calls saved of pools of 24, where a table says `saved` of 32 replicas."""
    return 1 - (1 - saved) * 32 / 96


class Kept:
    """In place of `make`: says what was to be made, and makes nothing."""

    def __init__(self, problem: str = "") -> None:
        self.problem, self.names = problem, list[str]()

    def __call__(self, jobs: Sequence[Job], beside: int) -> list[Result]:
        self.names += [f"{job.comparison.prepared.name} {job.turn.name}" for job in jobs]
        return [result(job.comparison.parameters(job.turn.plan), self.problem) for job in jobs]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of traces. What is simulated of them is simulated once, for a minute of the processor is no test of tables."""
    virtual = simulated(stretch(), our_plans(stretch())[0])

    def same(found: Scaled, plan: RunPlan) -> Simulated:
        return virtual

    monkeypatch.setattr(live, "simulated", same)
    folder = tmp_path / "rates" / "pa-sps"
    folder.mkdir(parents=True)
    rates = "".join(f"{second},{rate:g}\n" for second, rate in enumerate(CALM + BURST + CALM + PEAK))
    for trace in ("sbac", "twitter-raw"):
        (folder / f"{trace}.csv").write_text(f"time,value\n{rates}")
    return tmp_path


def test_a_run_of_several_tables_is_made_once_and_a_kept_one_not_again(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make = Kept()
    monkeypatch.setattr(live, "make", make)
    leave(data, scaled("sbac", CALM + BURST + CALM + PEAK, 20), plan_of(RUNS["dabs"], scaled("sbac", CALM + BURST + CALM + PEAK, 20)))
    assert made(["pa-sps-table-4", "presps-table-3", "pa-sps-table-6"], data, data, 20, ["pa-sps-ann", "presps", "dabs"])
    assert make.names == ["sbac pa-sps-ann", "sbac presps", "twitter-raw pa-sps-ann"]
    said = capsys.readouterr().out
    assert said.count("| presps ") == said.count("| dabs ") == 2
    assert "| pasps-" not in said


def test_what_came_to_nothing_is_told_and_makes_the_whole_fail(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "make", Kept("exit code 1"))
    assert not made(["pa-sps-table-3"], data, data, 20, ["static"], 4)
    assert "static-4 FAILED: exit code 1" in capsys.readouterr().out


@pytest.mark.parametrize(("only", "beside", "said"), [(["storm"], 1, "--only: no run 'storm'"), ([], 0, "--beside 0")])
def test_a_choice_that_is_none_is_refused_before_anything_is_run(
    data: Path, only: list[str], beside: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "make", None)
    with pytest.raises(MissingError, match=said):
        made(["pa-sps-table-3"], data, data, 20, only, beside)


@pytest.mark.parametrize(
    ("tables", "seconds", "said"),
    [(["pa-sps-table-5"], 60, "'pa-sps-table-5'"), (["pa-sps-table-2"], 5, "--seconds 5"), (["pa-sps-table-2"], 60, "sbac.csv")],
)
def test_what_cannot_be_run_is_said_before_anything_is(
    tables: list[str], seconds: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "make", None)
    with pytest.raises(MissingError, match=said):
        made(tables, tmp_path, tmp_path, seconds)


def test_the_command_says_which_tables_can_be_live(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--live", "thesis-td", "--data", str(tmp_path), "--cache", str(tmp_path)]) == 2
    assert "pa-sps-table-2, pa-sps-table-6" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--only", "dabs"], ["--beside", "2"]])
def test_what_is_for_live_runs_alone_is_refused_without_them(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presps-table-3", *words, "--data", str(tmp_path), "--cache", str(tmp_path)]) == 2
    assert "give --live too" in capsys.readouterr().err
