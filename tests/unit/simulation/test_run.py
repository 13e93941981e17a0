"""A simulated run: the real loop over the model; its records and samples say what a live run's say."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pasps.api.groupings import Kind
from pasps.control.decision_log import Act, Outcome, Record, read, replayed, written
from pasps.control.policies import policy_named
from pasps.control.run_log import Sample
from pasps.control.settings import RestartSettings
from pasps.control.situation import PolicySettings
from pasps.errors import ConfigError, InvalidError
from pasps.report.measures import measures_of
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.model import Detail
from pasps.simulation.run import ModelActuator, Order, Simulated, simulate
from pasps.simulation.virtual_time import VirtualClock, run_virtually
from tests.unit.simulation.graphs import IDEAL, bolt, graph, model

LINE = graph(bolt("a", "s", et=0.05), bolt("b", "a", et=0.05), workers=2)
WAVES = Arrivals.of([80 * (1 + 0.6 * math.sin(second / 8)) for second in range(60)])


def ran(policy: str, predictor: str = "none", **settings: float) -> tuple[Simulated, list[Sample], list[Record]]:
    samples, records = list[Sample](), list[Record]()
    order = Order(policy, predictor, PolicySettings(**{"interval_seconds": 5.0, **settings}))
    return simulate(LINE, WAVES, order, samples.append, records.append), samples, records


@pytest.mark.parametrize("policy", ["pasps", "pa-sps", "presps", "static"])
def test_every_policy_runs_to_the_end_and_its_numbers_are_those_of_a_report(policy: str) -> None:
    found, samples, records = ran(policy, "basic")
    assert found.done == found.events == WAVES.events
    measures = measures_of(samples, records, 5.0)
    assert measures.saved_resources == pytest.approx(found.saved)
    assert measures.latency is not None
    assert measures.latency.mean == pytest.approx(found.latency.mean)
    assert measures.replicas.activations_decided + measures.replicas.deactivations_decided == found.changes


def test_a_policy_that_follows_the_load_saves_replicas() -> None:
    static, _, _ = ran("static", static_replicas=8)
    pasps, _, _ = ran("pasps")
    assert static.saved == pytest.approx(0.0, abs=0.01)
    assert 0.2 < pasps.saved < 0.7
    assert pasps.latency.mean < 0.3


def test_its_decisions_are_those_of_the_policy_and_can_be_made_again() -> None:
    _, _, records = ran("pasps", "basic")
    assert len(records) > 10
    for record in records:
        again = read(written(record))
        assert replayed(again, policy_named("pasps")) == again.plan


def test_the_same_order_gives_the_same_run() -> None:
    assert ran("pasps", "basic") == ran("pasps", "basic")


def test_who_knows_what_comes_is_at_least_as_good() -> None:
    blind, _, _ = ran("pa-sps", "basic")
    knows, _, records = ran("pa-sps", "clairvoyant")
    assert knows.latency.mean < blind.latency.mean
    forecasts = [record.situation.forecast for record in records if record.situation is not None and record.situation.forecast is not None]
    assert {forecast.model for forecast in forecasts} == {"clairvoyant"}
    made = forecasts[3]
    assert made.total(made.made_at, 5.0) == pytest.approx(WAVES.expected(made.made_at, made.made_at + 5.0))


def test_models_of_the_service_are_asked() -> None:
    _, _, records = ran("pa-sps", "lr")
    models = {
        record.situation.forecast.model for record in records if record.situation is not None and record.situation.forecast is not None
    }
    assert "lr" in models


def test_what_would_move_keyed_tasks_in_between_is_postponed_and_the_rest_takes_its_time() -> None:
    of = graph(bolt("a", "s", par=1, kind=Kind.FIELDS), bolt("b", "a", par=2), workers=2)
    made = model(of, Arrivals((1,)), machinery=replace(IDEAL, activation=0.25))
    clock = VirtualClock()

    async def asked(stay: frozenset[str]) -> dict[str, Act]:
        acts, version = await ModelActuator(made, clock, RestartSettings()).set_replicas({"a": 2, "b": 5}, stay)
        assert version == made.table.version
        return acts

    assert run_virtually(clock, asked(frozenset({"a", "b"}))) == {"a": Act(1, 2, 1, Outcome.POSTPONED), "b": Act(2, 5, 5, Outcome.DONE)}
    assert clock.now() == pytest.approx(0.25)
    assert run_virtually(clock, asked(frozenset())) == {"a": Act(1, 2, 2, Outcome.DONE)}
    assert {name: component.active for name, component in made.stats().components.items()} == {"s": 1, "a": 2, "b": 5}


def test_progress_goes_from_nothing_to_the_whole() -> None:
    told = list[float]()
    simulate(LINE, Arrivals((10,) * 20), Order("static"), progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_what_cannot_keep_up_ends_a_while_after_the_trace() -> None:
    found = simulate(graph(bolt("a", "s", pool=1, par=1)), Arrivals((200,) * 20), Order("static", tail_seconds=5.0))
    assert found.seconds == pytest.approx(25.0, abs=1.1)
    assert found.done < found.events


def test_parcels_come_to_about_the_same_numbers() -> None:
    fine, _, _ = ran("pasps", "auto")
    coarse = simulate(LINE, WAVES, Order("pasps", "auto", PolicySettings(interval_seconds=5.0)), detail=Detail(10.0, exact=False))
    assert not coarse.exact
    assert coarse.saved == pytest.approx(fine.saved, abs=0.02)
    assert coarse.latency.mean == pytest.approx(fine.latency.mean, rel=0.15)


def test_who_is_not_there_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'pa-sps'"):
        simulate(LINE, WAVES, Order("pa_sp"))
    with pytest.raises(InvalidError, match="there is no 'clairvoyan'"):
        simulate(LINE, WAVES, Order("pasps", "clairvoyan"))
