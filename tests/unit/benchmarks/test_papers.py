"""The papers' tables: verdicts by the rules fixed beforehand, curves beside curves, runs that are kept, and data that is missing."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Self

import pytest

from benchmarks.papers import runs
from benchmarks.papers.__main__ import EXPERIMENTS, chosen_of, main
from benchmarks.papers.applications import APPLICATIONS, COMPLEX, LINEAR
from benchmarks.papers.curves import MissingError, at_steps, correlation, drawn_start, mean_apart, read_figure, started
from benchmarks.papers.inputs import MADE_UP, PLATEAU, read_rows
from benchmarks.papers.report import Column, columns_table
from benchmarks.papers.runs import Course, Laboratory, Run, simulated
from benchmarks.papers.verdict import Verdict, counted, of_claim, of_column, of_curve, same_magnitude, same_order

REPRODUCED, IN_PART, NOT = Verdict

# ---- verdicts


@pytest.mark.parametrize(
    ("r", "saved", "said"),
    [
        (0.90, 0.505, REPRODUCED),
        (0.99, 0.445, REPRODUCED),
        (0.89, 0.475, IN_PART),
        (0.10, 0.475, IN_PART),
        (0.97, 0.520, IN_PART),
        (0.80, 0.900, IN_PART),
        (0.79, 0.506, NOT),
        (-1.0, 0.400, NOT),
    ],
)
def test_a_curve_is_judged_by_its_shape_and_its_size(r: float, saved: float, said: Verdict) -> None:
    assert of_curve(r, saved, 0.475) is said


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        ({"a": 3.0, "b": 30.0, "c": 90.0}, REPRODUCED),
        ({"a": 0.003, "b": 0.03, "c": 0.09}, IN_PART),
        ({"a": 3.0, "b": 90.0, "c": 30.0}, IN_PART),
        ({"a": 0.09, "b": 0.03, "c": 0.003}, NOT),
        ({"a": -3.0, "b": 30.0, "c": 90.0}, IN_PART),
        ({"a": 3.0, "b": 30.0, "c": math.inf}, IN_PART),
    ],
)
def test_a_column_is_judged_by_the_order_of_the_systems_and_their_magnitudes(ours: dict[str, float], said: Verdict) -> None:
    assert of_column({"a": 1.0, "b": 10.0, "c": 100.0}, ours) is said


def test_what_is_printed_alike_has_no_order_and_what_is_alike_here_has_none_either() -> None:
    assert same_order({"a": 1.0, "b": 1.0}, {"a": 2.0, "b": 1.0})
    assert not same_order({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 1.0})


def test_of_one_system_its_value_decides() -> None:
    assert of_column({"a": 1.0}, {"a": 9.0}) is REPRODUCED
    assert of_column({"a": 1.0}, {"a": 10.0}) is NOT


def test_nothing_is_less_than_a_tenth_of_the_least_that_is_something() -> None:
    assert same_magnitude(0.0, 0.009, [0.0, 0.1, 0.5])
    assert not same_magnitude(0.0, 0.011, [0.0, 0.1, 0.5])
    assert same_magnitude(0.0, 0.0)
    assert not same_magnitude(0.0, 0.1)


def test_a_claim_has_two_halves() -> None:
    assert [of_claim(order=a, size=b) for a, b in ((True, True), (True, False), (False, True), (False, False))] == [
        REPRODUCED,
        IN_PART,
        IN_PART,
        NOT,
    ]


def test_verdicts_are_counted_best_first() -> None:
    assert counted([NOT, REPRODUCED, REPRODUCED]) == "2 reproduced, 0 in part, 1 not reproduced"


# ---- curves


def write_figure(folder: Path, name: str, text: str) -> None:
    (folder / "paper-curves").mkdir(exist_ok=True)
    (folder / "paper-curves" / f"{name}.csv").write_text(text)


def test_a_figure_is_read_by_series(tmp_path: Path) -> None:
    write_figure(tmp_path, "F", "time_seconds,series,value\n0,a,4.0\n5,a,6\n5.0,b,1\n")
    assert read_figure(tmp_path, "F") == {"a": {0: 4.0, 5: 6.0}, "b": {5: 1.0}}


@pytest.mark.parametrize("text", [None, "", "time_seconds,series,value\n", "a,b\n1,2\n", "time_seconds,series,value\n0,a,x\n"])
def test_a_figure_that_cannot_be_read_is_named(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        write_figure(tmp_path, "F", text)
    with pytest.raises(MissingError, match=r"paper-curves/F.csv: .*--data"):
        read_figure(tmp_path, "F")


def test_a_curve_is_as_it_was_until_it_changes() -> None:
    steps = at_steps({0: 4.0, 30: 6.0, 60: 5.0})
    assert (len(steps), steps[:14]) == (241, [4.0] * 6 + [6.0] * 6 + [5.0] * 2)


def test_correlation_of_what_never_changes_is_none() -> None:
    assert correlation([1, 2, 3], [2, 4, 6]) == pytest.approx(1.0)
    assert correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1.0)
    assert correlation([1, 2, 3], [5, 5, 5]) == 0.0
    assert mean_apart([1, 2, 3], [1, 0, 6]) == pytest.approx(5 / 3)


@pytest.mark.parametrize("start", [-7, 0, 12])
def test_the_start_of_a_drawn_input_is_found(start: int) -> None:
    rows = [float(second * 37 % 101) for second in range(1300)]
    placed = started(rows, start)
    drawn = {second: sum(placed[second - 5 : second]) for second in range(5, 1201, 5)}
    assert drawn_start(drawn, rows) == start


# ---- inputs


@pytest.mark.parametrize("text", [None, "", "time,value\n", "time,value\n0,many\n"])
def test_a_trace_that_cannot_be_read_is_named(text: str | None, tmp_path: Path) -> None:
    folder = tmp_path / "rates" / "pa-sps"
    folder.mkdir(parents=True)
    if text is not None:
        (folder / "sbac.csv").write_text(text)
    with pytest.raises(MissingError, match=r"sbac.csv: .*--data"):
        read_rows(tmp_path, "sbac")


def test_made_up_streams_need_no_file(tmp_path: Path) -> None:
    for name in MADE_UP:
        rows = read_rows(tmp_path, name)
        assert len(rows) == 1200
        assert (min(rows), max(rows)) == ((30.0, 300.0) if name.endswith("sparse") else (300.0, 3000.0))


def test_the_plateau_is_where_the_progressive_stream_is_highest(tmp_path: Path) -> None:
    rows = read_rows(tmp_path, "progressive")
    assert [second for second, rate in enumerate(rows) if rate == max(rows)] == list(range(*PLATEAU))


@pytest.mark.parametrize(("text", "rows"), [("0,input,4\n1,input,6\n", [4, 6]), ("5,input,4\n10,input,6\n", [4] * 5 + [6] * 5)])
def test_an_input_that_is_only_drawn_is_taken_from_its_figure(text: str, rows: list[float], tmp_path: Path) -> None:
    write_figure(tmp_path, "F", f"time_seconds,series,value\n{text}")
    assert read_rows(tmp_path, "drawn:F") == rows


# ---- runs


def test_the_complex_application_has_the_published_shares() -> None:
    visits = COMPLEX.graph("complex", 5, 1).visits()
    shares = {"A": 1.0, "B": 1.0, "C": 0.2, "F": 0.8, "D": 0.2, "H": 0.72, "G": 0.8, "E": 0.2}
    assert {bolt: visits[bolt] for bolt in shares} == pytest.approx(shares)


def test_every_bolt_of_an_application_has_an_execution_time_and_comes_after_those_that_feed_it() -> None:
    for application in APPLICATIONS.values():
        seen = {"spout"}
        for bolt, edges in application.edges.items():
            assert {edge.source for edge in edges} <= seen
            seen.add(bolt)
        assert application.edges.keys() == application.et_seconds.keys()


short = partial(Run, "made", seconds=60)


def test_a_run_is_told_in_samples_of_five_seconds() -> None:
    course = simulated(short(policy="static", replicas=2), [100.0] * 70)
    assert course.replicas == (8,) * 13
    assert course.due == (500.0,) * 12
    assert course.saved(16) == pytest.approx(0.5)
    assert course.processed == pytest.approx(1.0, abs=0.001)
    # the four bolts take 5.03 ms as published and 0.55 of that when warm
    assert course.latency_ms == pytest.approx(1000 * 0.55 * sum(LINEAR.et_seconds.values()), rel=0.2)
    assert (course.input_error, course.changes) == (None, 0)


def test_what_is_decided_at_a_moment_counts_from_it_on() -> None:
    course = simulated(short(policy="presps"), [3000.0] * 70)
    assert course.replicas[:6] == (4,) * 6
    # 3,000 a second, and what had come in 30 s and was not done: more than 3 + 6 + 5 + 3
    assert course.replicas[6] > 17


def test_a_restart_loses_what_is_on_its_way_and_the_pool_does_not() -> None:
    rows = [100.0] * 20 + [2000.0] * 50
    pool = simulated(short(policy="incremental", interval_seconds=10.0), rows)
    restarted = simulated(short(policy="incremental", interval_seconds=10.0, restart=(0.0, 10.0)), rows)
    assert pool.processed > restarted.processed + 0.1


def test_forecasts_are_judged_by_what_came() -> None:
    flat = simulated(short(policy="pa-sps", predictor="basic", options={"published": True}), [100.0] * 70)
    assert flat.input_error == pytest.approx(0.0, abs=0.01)
    assert flat.replica_error == pytest.approx(0.0, abs=0.01)
    rising = simulated(short(policy="pa-sps", predictor="basic", options={"published": True}), [100.0] * 35 + [200.0] * 35)
    # of the interval that brought twice as much half was forecast
    assert rising.input_error == pytest.approx(0.5, abs=0.15)


def test_a_run_is_made_once_and_another_one_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Laboratory(tmp_path, tmp_path / "cache", 1)
    made: list[Run] = []

    def make(run: Run, rows: object) -> Course:
        made.append(run)
        return simulated(short(policy="static"), [10.0] * 70)

    class Here:
        """Stands for the pool: a process of its own takes a second to start."""

        def Pool(self, processes: int) -> Here:  # noqa: N802 - multiprocessing's name
            return self

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...

        imap_unordered = staticmethod(map)

    monkeypatch.setattr(runs, "get_context", lambda kind: Here())
    monkeypatch.setattr(runs, "simulated", make)
    one, other = Run("progressive", "static"), Run("progressive", "static", start=1)
    first = lab.courses([one, other, one])
    assert (made, first[0]) == ([one, other], first[2])
    assert lab.courses([other, one]) == [first[1], first[0]]
    assert len(made) == 2


def test_what_is_kept_of_a_course_is_the_course(tmp_path: Path) -> None:
    lab, run = Laboratory(tmp_path, tmp_path, 1), short(policy="pa-sps", predictor="lr", options={"published": True})
    course = simulated(run, [100.0, 50.0] * 35)
    assert course.forecasts
    (tmp_path / f"{run.key}.json").write_text(json.dumps({"course": asdict(course)}))
    assert lab.courses([run]) == [course]


# ---- what is said


def test_a_table_has_both_values_and_a_verdict_for_each_column() -> None:
    column = Column("saved", {"a": 0.5, "b": 0.25}, {"a": 0.4, "b": 0.2, "pasps": 0.6})
    lines = columns_table([column]).splitlines()
    assert [cell.strip() for cell in lines[2].split("|")[1:3]] == ["a", "0.500, 0.400"]
    assert [cell.strip() for cell in lines[4].split("|")[1:3]] == ["pasps", "-, 0.600"]
    assert lines[-1].split("|")[2].strip() == "reproduced"


def test_tables_are_chosen_by_name_in_order_and_once() -> None:
    assert chosen_of(["pa-sps-table-6", "pa-sps-table-2", "pa-sps-table-6"]) == ["pa-sps-table-6", "pa-sps-table-2"]
    assert chosen_of(["all"]) == list(EXPERIMENTS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name some tables, or all"),
        (["pa-sps-tabel-2"], "is it 'pa-sps-table-2'?"),
        (["zzz"], "--list tells"),
        (["pa-sps-table-2", "--data", "/nowhere/at/all"], "--data"),
    ],
)
def test_what_cannot_be_made_is_told(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PASPS_TRACES", raising=False)
    assert main([*arguments, "--cache", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_without_a_folder_it_says_how_to_give_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pa-sps-table-2", "--cache", str(tmp_path), "--data", str(tmp_path)]) == 2
    assert "TwitterLinear-Models-Replicas.csv" in capsys.readouterr().err


def test_all_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert capsys.readouterr().out.count("\n") == len(EXPERIMENTS)
