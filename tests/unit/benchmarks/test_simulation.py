"""The comparison of live and simulated runs: what is compared with what, and that the speeds are measured on what they say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.elasticity.plans import Setup
from benchmarks.elasticity.traces import Wish, prepare, read_trace
from benchmarks.simulation import CONFIGURATIONS, SUBJECTS, Live, Numbers, against_results, compared, cycles, main, simulated

ETS = {
    "line": dict.fromkeys(("first", "second", "third", "last"), 0.02),
    "compute": dict.fromkeys(("first", "second"), 0.0015),
    "mixed": {"split": 0.0005, "look": 0.015, "store": 0.01},
}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.csv"
    path.write_text("time,count\n" + "".join(f"{row},{100 + 40 * (row % 30 > 14)}\n" for row in range(80)))
    return path


def test_every_subject_has_one_configuration_that_says_what_its_bolts_take() -> None:
    bases = [configuration.subject for configuration in CONFIGURATIONS.values() if configuration.calibrates]
    assert sorted(bases) == sorted(SUBJECTS)
    assert len(CONFIGURATIONS) >= 6


def test_the_policy_as_it_is_by_default_is_among_them_on_every_subject() -> None:
    plain = [one.subject for one in CONFIGURATIONS.values() if one.options == {"pasps.policy": "pasps"}]
    assert sorted(plain) == sorted(SUBJECTS)


@pytest.mark.parametrize("name", ["line-pasps-auto", "line-pasps-0.8", "compute-static-4", "mixed-pa-sps"])
def test_a_configuration_is_simulated_as_it_runs(name: str, trace: Path) -> None:
    found = simulated(name, trace, ETS[CONFIGURATIONS[name].subject])
    assert found.done == found.events > 5000
    assert found.policy == CONFIGURATIONS[name].options["pasps.policy"]
    assert found.predictor == CONFIGURATIONS[name].options.get("pasps.predictor", "auto")


def test_a_live_run_is_compared_with_the_same_one_simulated(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "line-static-8"
    same = simulated(name, trace, ETS["line"])
    latency = same.latency
    for kept, factor in ((name, 1.0), ("line-presps", 3.0)):
        numbers = Numbers(same.saved, factor * latency.mean, latency.p95, latency.p99, same.changes, 1.0)
        (tmp_path / kept).mkdir()
        (tmp_path / kept / "live.json").write_text(json.dumps(asdict(Live(numbers, ETS["line"]))))
    first, second = compared(tmp_path, trace)
    assert (first[0], first[-1]) == (name, "yes")
    assert (second[0], second[-1]) == ("line-presps", "no")
    assert "line-pasps-0.8: not run live yet" in capsys.readouterr().err


def kept_results(tmp_path: Path, trace: Path, smoothed_over: int, names: Sequence[str]) -> Path:
    """As `benchmarks.elastic --save` leaves them."""
    prepared = prepare(trace.stem, read_trace(trace), Wish(40, 360.0, first_row=0, smoothed_over=smoothed_over))
    about = {"rows": 40, "row_seconds": 1.0, "first_row": 0, "peak_rate": 360.0, "events": prepared.events}
    numbers = {"saved": 0.1, "mean": 0.1, "p95": 0.2, "p99": 0.3, "activations": 4, "deactivations": 5, "processed": 1.0}
    runs = [{"name": name, "numbers": numbers} for name in names]
    path = tmp_path / "kept.json"
    path.write_text(json.dumps({"trace": {**about, "smoothed_over": smoothed_over}, "setup": asdict(Setup()), "runs": runs}))
    return path


def test_kept_runs_are_simulated_whatever_their_targets_and_with_their_forecasts(trace: Path, tmp_path: Path) -> None:
    names = ["static-8", "pa-sps-clairvoyant@1s", "pasps-0.95", "pasps-latency-0.4"]
    rows = against_results(kept_results(tmp_path, trace, 1, names), trace)
    assert [row[0] for row in rows] == names
    steady, knows, swept, keeps = (float(row[2]) for row in rows)
    assert steady == 0
    assert knows > 0
    assert 0 < swept < keeps  # a latency of 0.4 s leaves more room than a target of 0.95


def test_kept_runs_of_another_stretch_are_not_compared(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace.write_text("time,count\n" + "".join(f"{row},{row * 37 % 101}\n" for row in range(80)))
    results = kept_results(tmp_path, trace, 1, ["static-8"])
    told = json.loads(results.read_text())
    del told["trace"]["smoothed_over"]  # as older ones are, which were smoothed over five rows unless somebody said otherwise
    results.write_text(json.dumps(told))
    with pytest.raises(SystemExit):
        main(["--trace", str(trace), "--results", str(results)])
    assert "smoothed otherwise" in capsys.readouterr().err


def test_a_control_cycle_is_measured_with_its_decisions() -> None:
    assert [(row[0], row[1]) for row in cycles(bolts=20, seconds=5)] == [("pasps", "20"), ("pa-sps", "20"), ("presps", "20")]


def test_policies_are_tried_on_the_line(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--trace", str(trace), "--rows", "30", "--compare", "static:8,pasps:none@0.8", "-o", "pasps.drain.secs=2"]) == 0
    shown = capsys.readouterr().out
    assert "static:8" in shown
    assert "pasps:none@0.8" in shown
