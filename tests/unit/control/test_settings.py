"""From configuration keys to what the loop reads."""

from __future__ import annotations

import pytest

from pasps.control.policies import BUILT_IN, Needs, Policy
from pasps.control.policies.static import Options, plan
from pasps.control.settings import ElasticSettings
from pasps.control.situation import PolicySettings
from pasps.errors import ConfigError, InvalidError


def test_the_documented_defaults() -> None:
    assert ElasticSettings.from_config({}) == ElasticSettings(
        policy=None,
        predictor="auto",
        predictor_url=None,
        predictor_token=None,
        forecast_seconds=5.0,
        plan=PolicySettings(interval_seconds=30.0, correction_seconds=0.25),
    )


def test_every_key_reaches_its_place() -> None:
    conf = {
        "pasps.policy": "pa-sps",
        "pasps.predictor": "fft",
        "pasps.predictor.url": "http://example.org:8080",
        "pasps.predictor.token": "secret",
        "pasps.predictor.timeout.secs": 2,
        "pasps.interval.secs": 10,
        "pasps.correction.secs": 0.5,
        "pasps.target.utilisation": 0.7,
        "pasps.scale.down.plans": 3,
        "pasps.drain.secs": 2,
        "pasps.queue.share": "edge",
        "pasps.static.replicas": 4,
        "pasps.policy.options.target": 0.6,
        "mine": "passes",
    }
    assert ElasticSettings.from_config(conf) == ElasticSettings(
        policy="pa-sps",
        predictor="fft",
        predictor_url="http://example.org:8080",
        predictor_token="secret",
        forecast_seconds=2.0,
        plan=PolicySettings(10.0, 0.5, "edge", 0.7, 3, 2, 4),
        options={"target": 0.6},
    )


@pytest.mark.parametrize(("td", "expected"), [(1, 0.5), (4, 2.0), (10, 5.0), (30, 5.0), (3600, 5.0)])
def test_a_forecast_may_take_half_an_interval_but_no_more_than_five_seconds(td: float, expected: float) -> None:
    assert ElasticSettings.from_config({"pasps.interval.secs": td}).forecast_seconds == expected


def test_corrections_are_never_further_apart_than_cycles() -> None:
    settings = ElasticSettings.from_config({"pasps.interval.secs": 2, "pasps.correction.secs": 60})
    assert settings.plan.correction_seconds == 2.0


@pytest.mark.parametrize(
    ("key", "value"),
    [("pasps.queue.share", "all"), ("pasps.interval.secs", 0.5), ("pasps.target.utilisation", 1.6), ("pasps.polic", "pa-sps")],
)
def test_what_the_keys_do_not_take_is_refused(key: str, value: object) -> None:
    with pytest.raises(ConfigError):
        ElasticSettings.from_config({key: value})


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that is made for intervals of four seconds."""
    monkeypatch.setitem(BUILT_IN, "brisk", Policy("brisk", "a test's own", plan, Options, Needs(interval_seconds=4.0)))


@pytest.mark.usefixtures("brisk")
@pytest.mark.parametrize(
    ("conf", "seconds"),
    [
        ({}, 30.0),
        ({"pasps.policy": "pasps"}, 30.0),
        ({"pasps.policy": "brisk"}, 4.0),
        ({"pasps.policy": "brisk", "pasps.interval.secs": None}, 4.0),
        ({"pasps.policy": "brisk", "pasps.interval.secs": 30}, 30.0),
    ],
)
def test_a_policy_has_the_interval_that_it_is_made_for_unless_one_was_set(conf: dict[str, object], seconds: float) -> None:
    found = ElasticSettings.from_config(conf)
    assert found.plan.interval_seconds == seconds
    assert found.forecast_seconds == min(5.0, seconds / 2)


@pytest.mark.parametrize("seconds", [0.0, 0.5, 3601.0, float("nan"), True])
def test_an_interval_that_no_policy_can_be_made_for_is_refused(seconds: float) -> None:
    with pytest.raises(InvalidError, match="expected interval_seconds to be a number of at least 1 and at most 3600, or null"):
        Needs(interval_seconds=seconds)
