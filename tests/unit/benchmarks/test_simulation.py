"""The comparison of live and simulated runs: what is compared with what, and that the speeds are measured on what they say."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.simulation import CONFIGURATIONS, SUBJECTS, Live, Numbers, compared, cycles, main, simulated

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


@pytest.mark.parametrize("name", ["line-pasps-0.8", "compute-static-4", "mixed-pa-sps"])
def test_a_configuration_is_simulated_as_it_runs(name: str, trace: Path) -> None:
    found = simulated(name, trace, ETS[CONFIGURATIONS[name].subject])
    assert found.done == found.events > 5000
    assert found.policy == CONFIGURATIONS[name].options["pasps.policy"]


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


def test_a_control_cycle_is_measured_with_its_decisions() -> None:
    assert [(row[0], row[1]) for row in cycles(bolts=20, seconds=5)] == [("pasps", "20"), ("pa-sps", "20"), ("presps", "20")]


def test_policies_are_tried_on_the_line(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--trace", str(trace), "--rows", "30", "--compare", "static:8,pasps:none@0.8", "-o", "pasps.drain.secs=2"]) == 0
    shown = capsys.readouterr().out
    assert "static:8" in shown
    assert "pasps:none@0.8" in shown
