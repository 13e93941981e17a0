"""A policy's own options: what they may be, how they are set, what is said of a wrong one, and that records keep them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from pasps.control.decision_log import Record, read, replayed, written
from pasps.control.plan import Plan
from pasps.control.policies import BUILT_IN, INTERVAL, Needs, Policy, option
from pasps.control.policies.options import cautions
from pasps.control.situation import PolicySettings, Situation, TopologyShape
from pasps.errors import ConfigError, InvalidError
from tests.unit.control.situations import Bench, bolt, did, due, interval, known, shape, situation


@dataclass(frozen=True)
class Options:
    target: float = option(0.5, "how full", above=0, most=1)
    most: int | None = option(None, "how many", least=1)
    careful: bool = False
    way: Literal["up", "down"] = "up"


@dataclass(frozen=True)
class Far:
    horizon: int = option(2, "how far", least=1)


def seen(situation: Situation, options: Options) -> Plan:
    return Plan({}, held=f"{options.target} {options.most} {options.careful} {options.way}")


MINE = Policy("mine", "a test's own", seen, Options)
PLAIN = PolicySettings()
NOW = situation(shape(bolt("a", "s")), interval({"s": due(10)}, {"a": did(active=3)}), known(shape(bolt("a", "s")), {"a": 0.1}))


def test_without_a_word_they_are_the_defaults() -> None:
    assert MINE.configured(PLAIN) == Options()


def test_each_is_set_by_its_own_key() -> None:
    given = {"target": 1, "most": 4, "careful": True, "way": "down"}
    found = MINE.configured(PLAIN, given)
    assert found == Options(1.0, 4, True, "down")
    assert type(found.target) is float
    assert MINE.configured(PLAIN, {"most": None}) == Options()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("targt", 0.5, r"'pasps\.policy\.options\.targt' is no option of policy 'mine'; the nearest known name is '.*options\.target'"),
        ("target", 1.5, r"policy 'mine': .*'pasps\.policy\.options\.target' must be a number above 0 and at most 1, got 1\.5 \(float\)"),
        ("replicas", 3, "is no option of policy 'mine'; it has target, most, careful, way"),
        ("target", "much", r"must be a number above 0 and at most 1, got 'much' \(str\)"),
        ("target", None, "must be a number above 0 and at most 1, got None"),
        ("most", 2.5, "must be an integer of at least 1, or null, got 2.5"),
        ("careful", 1, "must be true or false, got 1"),
        ("way", "left", "must be 'up' or 'down', got 'left'"),
    ],
)
def test_a_wrong_one_is_refused_with_what_is_right(name: str, value: object, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        MINE.configured(PLAIN, {name: value})


def test_a_policy_without_options_says_so() -> None:
    with pytest.raises(ConfigError, match="leave it out: 'bare' has no options"):
        Policy("bare", "", seen).configured(PLAIN, {"target": 1})


def test_the_general_keys_fill_options_of_their_meaning_and_own_ones_lie_over_them() -> None:
    general = PolicySettings(target_utilisation=0.7, drain_seconds=2, scale_down_plans=3, static_replicas=4)
    ours = BUILT_IN["pasps"].configured(general)
    assert (ours.target, ours.drain_seconds) == (0.7, 2.0)
    assert BUILT_IN["pasps"].configured(general, {"target": 0.9}).target == 0.9
    assert BUILT_IN["static"].configured(general).replicas == 4
    assert BUILT_IN["pa-sps"].configured(PolicySettings(queue_share="edge")).queue_share == "edge"


def test_general_keys_that_say_nothing_to_a_policy_are_named() -> None:
    general = PolicySettings(target_utilisation=0.7, static_replicas=4)
    assert cautions_of("pasps", general) == ["configuration key 'pasps.static.replicas' says nothing to policy 'pasps'"]
    assert cautions_of("static", general) == ["configuration key 'pasps.target.utilisation' says nothing to policy 'static'"]
    assert cautions_of("pasps", PLAIN) == []


def cautions_of(policy: str, settings: PolicySettings, **given: Any) -> list[str]:
    return cautions(policy, BUILT_IN[policy].configured(settings, given), settings, given)


PRICES = {"late_cost": 1.0, "replica_cost": 0.1}


@pytest.mark.parametrize(
    ("settings", "given", "key"),
    [
        (PLAIN, {"target": 0.3}, "pasps.policy.options.target"),
        (PolicySettings(target_utilisation=0.3), {}, "pasps.target.utilisation"),
        (PolicySettings(target_utilisation=0.9), {}, "pasps.target.utilisation"),
    ],
)
def test_a_target_beside_prices_is_refused_under_the_key_that_set_it(settings: PolicySettings, given: dict[str, Any], key: str) -> None:
    said = f"policy 'pasps': configuration key '{key}' says nothing: late_cost and replica_cost say what is wanted; leave it out"
    with pytest.raises(ConfigError, match=said.replace(".", r"\.")):
        BUILT_IN["pasps"].configured(settings, {**PRICES, **given})
    assert BUILT_IN["pasps"].configured(settings, given).target == (given.get("target") or settings.target_utilisation)


def test_what_a_record_has_of_options_is_taken_again_though_it_has_those_that_nobody_set() -> None:
    options = BUILT_IN["pasps"].configured(PLAIN, PRICES)
    assert BUILT_IN["pasps"].configured(PLAIN, vars_of(options)) == options


def vars_of(options: Any) -> dict[str, Any]:
    return {name: getattr(options, name) for name in BUILT_IN["pasps"].keys}


def test_a_target_beside_a_latency_is_said_to_be_only_where_it_begins() -> None:
    begins = "tells policy 'pasps' only where it begins: it finds what keeps latency_target"
    given = {"latency_target": 1.0, "target": 0.5}
    assert cautions_of("pasps", PLAIN, **given) == [f"configuration key 'pasps.policy.options.target' {begins}"]
    general = PolicySettings(target_utilisation=0.5)
    assert cautions_of("pasps", general, latency_target=1.0) == [f"configuration key 'pasps.target.utilisation' {begins}"]
    assert cautions_of("pasps", PLAIN, latency_target=1.0) == []
    assert cautions_of("pasps", general) == []


def test_an_option_may_have_the_name_of_what_options_say_besides() -> None:
    @dataclass(frozen=True)
    class Own:
        without: bool = False
        cautions: int = 3

    policy = Policy("own", "", seen, Own)
    options = policy.configured(PLAIN, {"without": True})
    assert cautions("own", options, PLAIN, {"without": True}) == []


@pytest.mark.parametrize(
    ("policy", "given", "said"),
    [
        ("incremental", {"high": 0.2}, "'pasps.policy.options.high' is 0.2, below low, which is 0.3; expected high to be at least low"),
        ("incremental", {"low": 0.9}, "'pasps.policy.options.high' is 0.8, below low, which is 0.9"),
        ("ra-sps", {"overloaded": 0.2}, "'pasps.policy.options.overloaded' is 0.2, below underloaded, which is 0.3"),
        ("ra-sps", {"underloaded": 0.8}, "'pasps.policy.options.overloaded' is 0.7, below underloaded, which is 0.8"),
    ],
)
def test_thresholds_that_are_the_wrong_way_round_are_refused(policy: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace(".", r"\.")):
        BUILT_IN[policy].configured(PLAIN, given)
    assert BUILT_IN[policy].configured(PLAIN, {**given, **dict.fromkeys(given, 0.5)}) is not None


def of(**fields: Any) -> type:
    """An options class with these fields: type and default, or the type alone."""
    made = {name: given[1] for name, given in fields.items() if len(given) > 1}
    return dataclass(frozen=True)(type("Made", (), {"__annotations__": {name: given[0] for name, given in fields.items()}, **made}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (int, "expected a frozen dataclass of options"),
        (of(a=(int,)), "field 'a': expected a default"),
        (of(a=(list, ())), "field 'a': expected int, float, bool, str or a Literal of texts"),
        (of(a=(int | None, 3)), "field 'a': expected None as its default if it may be None, and only then"),
        (of(a=(int, option(0, "", least=1))), "field 'a': expected an integer of at least 1 as its default, got 0"),
        (of(a=(int | str, 1)), "field 'a': expected int, float"),
        (of(a=(Literal[1, 2], 1)), "field 'a': expected int, float"),
    ],
)
def test_what_cannot_be_options_is_refused_where_the_policy_is_made(options: type, said: str) -> None:
    with pytest.raises(InvalidError, match=said):
        Policy("wrong", "", seen, options)


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        ({"horizon_seconds": -1.0}, "horizon_seconds of at least 0"),
        ({"quantiles": (0.9, 1.0), "horizon_seconds": 1.0}, "quantiles between 0 and 1"),
        ({"quantiles": (0.9,)}, "say by horizon_seconds how far they look ahead"),
        ({"per_bolt_series": True}, "say by horizon_seconds how far they look ahead"),
    ],
)
def test_needs_that_make_no_sense_are_refused(needs: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidError, match=said):
        Needs(**needs)


def test_where_nobody_forecasts_a_policy_needs_none() -> None:
    needs = Needs(horizon_seconds=INTERVAL, quantiles=(0.9,), per_bolt_series=True, corrects=True)
    assert Policy("mine", "", seen, Options, needs).without_forecasts().needs == Needs(corrects=True)
    assert (needs.horizon(30.0), Needs(horizon_seconds=5.0).horizon(30.0)) == (30.0, 5.0)


# ---- what is in a file, and for which topology


@dataclass(frozen=True)
class Told:
    what: str | None = option(None, "what to do", file=True)


TOLD = Policy("told", "", seen, Told)


def test_an_option_may_be_a_file_and_is_the_text_in_it(tmp_path: Path) -> None:
    file = tmp_path / "what.json"
    file.write_text(' {"do": "nothing"}\n')
    assert TOLD.configured(PLAIN, {"what": str(file)}) == Told(' {"do": "nothing"}\n')
    assert TOLD.configured(PLAIN, {"what": '{"do": 1}'}) == Told('{"do": 1}'), "the text itself, as records have it"
    assert TOLD.configured(PLAIN) == TOLD.configured(PLAIN, {"what": None}) == Told(None)


@pytest.mark.parametrize(
    ("content", "said"), [(None, "No such file"), (b"\xff\xfe", "can't decode"), (b"x" * 300_000, "300,000 bytes, at most 262,144")]
)
def test_a_file_that_is_none_or_too_much_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "what.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"'pasps\.policy\.options\.what' names a file .*{said}"):
        TOLD.configured(PLAIN, {"what": str(file)})


def test_a_policy_that_can_do_nothing_for_a_topology_says_so_where_there_is_one() -> None:
    def check(of: TopologyShape, options: Told) -> None:
        if options.what is None:
            raise ConfigError("pasps.policy.options.what", f"is not set for {of.bolts[0].id}")

    choosy = Policy("choosy", "", seen, Told, Needs(), check=check)
    assert choosy.configured(PLAIN) == Told(None)
    assert choosy.configured(PLAIN, {"what": "{}"}, NOW.shape) == Told("{}")
    with pytest.raises(ConfigError, match="is not set for a"):
        choosy.configured(PLAIN, {}, NOW.shape)


def test_one_that_looks_several_intervals_ahead_says_how_many_by_an_option() -> None:
    far = Policy(
        "far", "", seen, Far, Needs(horizon_seconds=INTERVAL), lambda options: Needs(horizon_seconds=INTERVAL, intervals=options.horizon)
    )
    options = far.configured(PLAIN, {"horizon": 4})
    assert far.with_options(options).needs.horizon(30.0) == 120.0
    assert far.with_options(options).needs.horizon(1800.0) == 3600.0, "nobody forecasts further than that"
    near = Policy("near", "", seen, Far, Needs(horizon_seconds=INTERVAL))
    assert near.with_options(options).needs.horizon(30.0) == 30.0, "one whose needs are always the same"


def test_a_record_has_the_options_and_is_made_again_with_them() -> None:
    bench = Bench(MINE, interval_seconds=2.0)
    bench.run(4)
    record = read(written(bench.records[-1]))
    assert record.options == {"target": 0.5, "most": None, "careful": False, "way": "up"}
    assert replayed(record, MINE) == record.plan == Plan({}, held="0.5 None False up")


def test_a_record_from_before_there_were_options_is_made_again_by_its_settings() -> None:
    static = BUILT_IN["static"]
    now = situation(NOW.shape, NOW.interval, NOW.estimates, static_replicas=5)
    plan = static.plan(now, static.configured(now.settings))
    assert plan.replicas == {"a": 5}
    assert replayed(Record(1, 0.0, 1.0, "cycle", "static", now, plan), static) == plan
