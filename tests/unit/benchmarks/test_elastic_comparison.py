"""Which runs there are, which were made, and what each is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import elastic
from benchmarks.elasticity.artefacts import EQUAL, save
from benchmarks.elasticity.comparison import Comparison, Turn, turns_of
from benchmarks.elasticity.outcomes import Numbers, Result, write_result
from benchmarks.elasticity.plans import RunPlan, Setup, chosen, run_plans
from benchmarks.elasticity.result_table import result_table
from benchmarks.elasticity.traces import Prepared
from pasps.config import parse_option
from pasps.control import run_log
from pasps.control.run_log import BoltSample, Sample

NUMBERS = Numbers(0.5, 0.02, 1.0, 1000, 0.1, 0.09, 0.2, 0.3, 0.1, None, 0, 0, 0, 10, 12, 900.0, 0.4)
PREPARED = Prepared("wc", 7, 1.0, 2.0, (10, 20, 30))


def names(plans: list[RunPlan]) -> list[str]:
    return [plan.name for plan in plans]


def leave(comparison: Comparison, turn: Turn, problem: str = "", numbers: Numbers = NUMBERS, minutes: tuple[float, ...] = ()) -> None:
    place, plan = comparison.place(turn), turn.plan
    place.mkdir(parents=True)
    parameters = comparison.parameters(plan)
    write_result(Result(plan.name, plan.policy, parameters, {}, "", 1.0, 0, None if problem else numbers, problem, minutes), place)


def test_static_runs_come_first_and_ours_last() -> None:
    assert names(run_plans(Setup(), (0.6, 1.0))) == [
        *("static-8", "static-4", "static-1", "presps"),
        *("pa-sps-basic", "pa-sps-lr", "pa-sps-fft", "pa-sps-ann", "pa-sps-rf", "presps@1s", "pa-sps-basic@1s", "pa-sps-clairvoyant@1s"),
        *("pasps-0.6", "pasps-1", "pasps-latency-0.2", "pasps-latency-0.5"),
    ]


def test_every_option_is_one_that_pasps_knows() -> None:
    setup = Setup(pasps={"pasps.drain.secs": "0.5"})
    for plan in run_plans(setup):
        for key, value in {**setup.options(), **plan.options}.items():
            parse_option(f"{key}={value}")


def test_further_options_are_for_ours_alone() -> None:
    plans = run_plans(Setup(pasps={"pasps.scale.down.plans": "2"}))
    assert {plan.policy for plan in plans if "pasps.scale.down.plans" in plan.options} == {"pasps"}


def test_a_static_run_begins_with_its_replicas() -> None:
    assert {plan.name: plan.at_start for plan in run_plans(Setup(), ())}["static-8"] == 8


def test_the_peak_needs_the_whole_pool_and_no_tuple_times_out_for_waiting() -> None:
    setup = Setup(wait_millis=20, scale=0.9, timeout_seconds=30)
    assert 7 < setup.peak_rate * 0.020 <= 8
    assert setup.most_pending * 0.020 < 30


def test_runs_are_chosen_by_name_or_by_its_beginning() -> None:
    plans = run_plans(Setup(), (0.6, 1.0))
    assert names(chosen(plans, ["presps", "pasps-0.6", "pasps-1"])) == ["presps", "pasps-0.6", "pasps-1"]
    assert names(chosen(plans, ["pasps-latency"])) == ["pasps-latency-0.2", "pasps-latency-0.5"]
    assert len(chosen(plans, ["pasps"])) == 4
    assert chosen(plans, []) == plans
    with pytest.raises(ValueError, match="no run 'pas'; there are static-8"):
        chosen(plans, ["pas"])


def test_rounds_are_interleaved() -> None:
    plans = run_plans(Setup(), ())[:2]
    assert [turn.name for turn in turns_of(plans, 2)] == ["static-8", "static-4", "static-8-round-2", "static-4-round-2"]


def test_no_two_turns_have_one_directory() -> None:
    names = [turn.name for turn in turns_of(run_plans(Setup(), (0.9, 1.0, 1.1, 1.3)), 5)]  # a third round of 1 is not the first of 1.3
    assert len(set(names)) == len(names)


def test_a_run_is_skipped_while_nothing_that_it_depends_on_changed(tmp_path: Path) -> None:
    comparison, plan = Comparison(PREPARED, Setup(), tmp_path), run_plans(Setup(), (0.6,))[-1]
    leave(comparison, Turn(plan, 0))
    assert comparison.result(Turn(plan, 0)) is not None
    assert comparison.result(Turn(plan, 1)) is None
    others = [
        Comparison(Prepared("wc", 7, 1.0, 2.0, (10, 21, 29)), Setup(), tmp_path),
        Comparison(PREPARED, Setup(interval_seconds=30), tmp_path),
        Comparison(PREPARED, Setup(workers=1), tmp_path),
    ]
    assert [other.result(Turn(plan, 0)) for other in others] == [None, None, None]


def test_a_failed_and_an_interrupted_run_are_made_anew(tmp_path: Path) -> None:
    comparison, (first, second, *_) = Comparison(PREPARED, Setup(), tmp_path), run_plans(Setup())
    leave(comparison, Turn(first, 0), problem="exit code 1")
    (comparison.place(Turn(second, 0)) / "run").mkdir(parents=True)
    assert comparison.result(Turn(first, 0)) is None
    assert comparison.result(Turn(second, 0)) is None


def test_rows_are_the_means_of_what_was_made(tmp_path: Path) -> None:
    comparison, plans = Comparison(PREPARED, Setup(), tmp_path), run_plans(Setup())
    leave(comparison, Turn(plans[0], 0))
    leave(comparison, Turn(plans[0], 1))
    leave(comparison, Turn(plans[3], 0))
    assert [(row.name, row.repeats) for row in comparison.rows(plans, 2)] == [("static-8", 2), ("presps", 1)]


def test_a_mean_of_several_has_its_interval_and_one_run_has_none(tmp_path: Path) -> None:
    comparison, plans = Comparison(PREPARED, Setup(), tmp_path), run_plans(Setup())
    for round, mean in enumerate((0.1, 0.2, 0.3)):
        leave(comparison, Turn(plans[0], round), numbers=replace(NUMBERS, mean=mean))
    leave(comparison, Turn(plans[3], 0))
    several, single = comparison.rows(plans, 3)
    assert several.margins["mean"] == pytest.approx(4.303 * 0.1 / 3**0.5, rel=1e-3)  # Student's t of two degrees of freedom
    assert several.margins["saved"] == 0
    assert "200 ± 248" in result_table("wc", [several])
    assert single.margins == {}
    assert "±" not in result_table("wc", [single])


def test_who_keeps_a_latency_finds_the_utilisation_itself_and_is_told_nothing_else() -> None:
    plan = run_plans(Setup(), (), (0.35,))[-1]
    assert plan.options["pasps.policy.options.latency_target"] == "0.35"
    assert "pasps.target.utilisation" not in plan.options


def test_a_kept_latency_is_counted_in_minutes_in_which_the_whole_pools_of_the_same_round_keep_it(tmp_path: Path) -> None:
    comparison, plans = Comparison(PREPARED, Setup(), tmp_path), run_plans(Setup(), (), (0.2,))
    static, ours = plans[0], plans[-1]
    leave(comparison, Turn(static, 0), minutes=(0.1, 0.3, 0.1))
    leave(comparison, Turn(static, 1), minutes=(0.1, 0.1, float("nan")))
    for round, minutes in enumerate(((0.1, 0.1, 0.21), (0.1, 0.19, 0.1), (9.0, 9.0, 9.0))):
        leave(comparison, Turn(ours, round), minutes=minutes)
    first, last = comparison.rows(plans, 3)
    assert (first.kept, last.kept) == (None, (3, 4))  # there is no third round of the whole pools
    assert "| 3 of 4 " in result_table("wc", [first, last])
    assert "minutes" not in result_table("wc", [first])


def test_nobody_can_tell_how_long_a_latency_was_kept_without_the_whole_pools_or_a_whole_minute(tmp_path: Path) -> None:
    comparison, plans = Comparison(PREPARED, Setup(), tmp_path), run_plans(Setup(), (), (0.2,))
    leave(comparison, Turn(plans[-1], 0), minutes=(0.1,))
    assert comparison.rows(plans, 1)[0].kept is None
    leave(comparison, Turn(plans[0], 0))
    assert comparison.rows(plans, 1)[-1].kept is None
    assert comparison.rows(plans[1:], 1)[-1].kept is None


def test_a_command_has_the_trace_the_bound_and_a_place_for_the_ids(tmp_path: Path) -> None:
    plan = run_plans(Setup(), ())[0]
    words = Comparison(PREPARED, Setup(), tmp_path).command(Turn(plan, 0))
    assert f"trace.file={tmp_path / 'trace.csv'}" in words
    assert f"line.counts.dir={tmp_path / 'static-8' / 'ids'}" in words
    assert words[words.index("--duration") + 1] == "123"
    assert words[words.index("--drain-timeout") + 1] == "0"
    assert "first=8" in words


def test_what_is_kept_has_the_numbers_and_no_row_of_the_trace(tmp_path: Path) -> None:
    prepared = Prepared("wc", 7, 1.0, 2.0, (10_001, 20_002, 30_003))
    comparison, plans = Comparison(prepared, Setup(), tmp_path / "work" / "wc"), run_plans(Setup())
    leave(comparison, Turn(plans[0], 0))
    written = save(comparison, plans, 1, [], tmp_path / "kept")
    assert [path.name for path in written] == ["wc.json", "wc-latency.png"]
    table = json.loads(written[0].read_text())
    assert [run["name"] for run in table["runs"]] == ["static-8"]
    assert table["runs"][0]["numbers"]["p99"] == 0.3
    assert not any(str(count) in written[0].read_text() for count in (10_001, 20_002))


def test_over_time_are_drawn_the_runs_that_are_named_or_those_that_save_nearly_the_same(tmp_path: Path) -> None:
    comparison, plans = Comparison(PREPARED, Setup(), tmp_path / "wc"), run_plans(Setup(), (1.0,), ())
    bolts = {"first": BoltSample(4, 0, 8, 0, 10, 0.2)}
    samples = [Sample(float(second), 0.0, True, 1, 10 * second, 0, 0, 0, 0, 0, 0, bolts) for second in range(1, 6)]
    for plan in plans:
        leave(comparison, Turn(plan, 0))
        (comparison.place(Turn(plan, 0)) / "run").mkdir()
        (comparison.place(Turn(plan, 0)) / "run" / "metrics.jsonl").write_bytes(b"".join(run_log.written(one) + b"\n" for one in samples))
    assert [path.name for path in save(comparison, plans, 1, [EQUAL], tmp_path / "kept")][-1] == "wc-replicas.png"
    assert [path.name for path in save(comparison, plans, 1, ["static-8"], tmp_path / "kept")][-1] == "wc-replicas.png"
    assert [path.name for path in save(comparison, plans, 1, ["storm"], tmp_path / "kept")][-1] == "wc-latency.png"


def test_listing_says_what_is_left_and_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("time,count\n" + "".join(f"{row},{row % 7}\n" for row in range(90)))
    assert elastic.main(["--trace", str(trace), "--rows", "80", "--work", str(tmp_path / "work"), "--only", "presps", "--list"]) == 0
    told = capsys.readouterr().out
    assert "t: 80 rows" in told
    assert "to do   presps" in told
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--rows", "600"], "has 90 rows"),
        (["--rows", "80", "--only", "storm"], "no run 'storm'"),
        (["--rows", "80", "--pasps", "x"], "expected KEY=VALUE"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is(
    tmp_path: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("time,count\n" + "".join(f"{row},{row % 7}\n" for row in range(90)))
    with pytest.raises(SystemExit):
        elastic.main(["--trace", str(trace), *words])
    assert says in capsys.readouterr().err
