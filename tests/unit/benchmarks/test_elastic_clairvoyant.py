"""Who knows what comes in a live run: where in its trace the run is, and what is answered."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.elasticity.clairvoyant import began_at, expected, serving
from benchmarks.elasticity.comparison import Comparison, Turn
from benchmarks.elasticity.plans import Setup, run_plans
from benchmarks.elasticity.traces import Prepared
from pasps.control import run_log
from pasps.control.predictor_client import PredictorClient
from pasps.control.run_log import Sample
from pasps.errors import PredictorError
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.forecasters import Clairvoyant
from pasps.spouts.trace import Trace

TRACE = Prepared("wc", 0, 1.0, 1.0, (10, 0, 0, 40, 200, 30, 0, 80, 60, 10))


def samples(began: float, count: int, epoch: float = 1000.0, *, complete: bool = True) -> list[Sample]:
    """Of a run whose trace began at that uptime; it was started at `epoch`."""
    due = Trace(TRACE.counts, Fraction(1), Fraction(1))
    ups = [0.4 + second for second in range(count)]
    return [Sample(up, epoch + up, complete, 1, due.count(up - began), 0, 0, 0, 0, 0, 0, {}) for up in ups]


@pytest.mark.parametrize("began", [0.25, 2.0])
def test_when_the_trace_began_is_told_by_the_runs_own_samples(began: float) -> None:
    assert began_at(samples(began, 8), TRACE) == pytest.approx(1000.0 + began, abs=0.06)


def test_nobody_can_tell_before_something_has_become_due_or_by_half_a_cut() -> None:
    assert began_at([], TRACE) is None
    assert began_at(samples(5.0, 4), TRACE) is None
    assert began_at(samples(0.25, 8, complete=False), TRACE) is None


def test_what_comes_is_what_the_simulators_clairvoyant_says() -> None:
    told = asyncio.run(Clairvoyant(Arrivals(TRACE.counts)).forecast([1.0], 4.0, 3.5))
    assert told is not None
    assert expected(TRACE, 3.5, 4) == list(told.predictions) == [120.0, 115.0, 15.0, 40.0]


def test_after_the_trace_nothing_comes_and_before_it_only_what_is_due_by_then() -> None:
    assert expected(TRACE, 9.5, 3) == [5.0, 0.0, 0.0]
    assert expected(TRACE, -0.5, 2) == [5.0, 5.0]


def test_it_answers_as_a_predictor_service_once_the_run_has_left_samples(tmp_path: Path) -> None:
    async def asked(url: str) -> tuple[float, ...]:
        client = PredictorClient(lambda: url, "clairvoyant")
        try:
            return (await client.predict_series({"input": [1.0]}, 2, (0.5,)))["input"].mean
        finally:
            await client.close()

    with serving(TRACE, tmp_path / "run") as url:
        with pytest.raises(PredictorError, match="503"):
            asyncio.run(asked(url))
        (tmp_path / "run").mkdir()
        lines = [run_log.written(one) + b"\n" for one in samples(0.25, 8, epoch=0.0)]  # it began long ago
        (tmp_path / "run" / "metrics.jsonl").write_bytes(b"".join(lines))
        assert asyncio.run(asked(url)) == (0.0, 0.0)


def test_it_decides_as_pa_sps_and_is_told_where_to_ask_only_when_it_runs(tmp_path: Path) -> None:
    plan = next(plan for plan in run_plans(Setup()) if plan.name == "pa-sps-clairvoyant@1s")
    words = Comparison(TRACE, Setup(), tmp_path).command(Turn(plan, 0))
    assert "pasps.policy=pa-sps" in words
    assert "pasps.predictor=clairvoyant" in words
    assert not any(word.startswith("pasps.predictor.url") for word in words)
