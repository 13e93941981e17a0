"""The key registry: what is accepted, what is refused with which words, and the runtime's record."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from pasps.config import KEYS, RuntimeSettings, check, merged, parse_option
from pasps.control.settings import ElasticSettings, RestartSettings
from pasps.control.situation import PolicySettings
from pasps.errors import ConfigError, InvalidError


def test_known_keys_and_the_users_own_pass_as_they_are() -> None:
    given = {"topology.workers": 2, "topology.message.timeout.secs": 2.5, "my.path": object, "depth": {"a": 1}}
    result = check(given, "topology 'wc'")
    assert result == given
    assert result is not given


def test_an_unknown_key_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError) as caught:
        check({"topology.max.spout.pendin": 1}, "topology 'wc'")
    assert str(caught.value) == (
        "topology 'wc': configuration key 'topology.max.spout.pendin' is unknown; the nearest known name is 'topology.max.spout.pending'"
    )
    with pytest.raises(ConfigError, match=r"nearest known name is 'pasps\.wire\.pickle'"):
        check({"pasps.wire.pikle": True}, "here")


WORKERS = "an integer of at least 1 and at most 100000, or null"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("topology.workers", "4", f"must be {WORKERS}, got '4' (str)"),
        ("topology.workers", 0, f"must be {WORKERS}, got 0 (int)"),
        ("topology.workers", 100_001, f"must be {WORKERS}, got 100001 (int)"),
        ("topology.workers", 1.0, f"must be {WORKERS}, got 1.0 (float)"),
        ("topology.workers", True, f"must be {WORKERS}, got True (bool)"),
        ("topology.debug", 1, "must be true or false, got 1 (int)"),
        ("topology.debug", None, "must be true or false, got None (NoneType)"),
        ("topology.message.timeout.secs", 0, "must be a number above 0, got 0 (int)"),
        ("topology.message.timeout.secs", float("nan"), "must be a number above 0, got nan (float)"),
        ("topology.message.timeout.secs", float("inf"), "must be a number above 0, got inf (float)"),
        ("topology.locality.band", -1, "must be a number of at least 0, got -1 (int)"),
        ("topology.locality.band", -(10**400), f"must be a number of at least 0, got {-(10**400)} (int)"),
        ("pasps.policy", 3, "must be text, or null, got 3 (int)"),
        ("pasps.policy", True, "must be text, or null, got True (bool)"),
        ("pasps.policy", "", "must be text, or null, got '' (str)"),
        ("pasps.predictor", None, "must be text, got None (NoneType)"),
        ("pasps.queue.share", "both", "must be 'paper' or 'edge', or null, got 'both' (str)"),
        ("pasps.wire.max.frame.bytes", 2**31, "must be an integer of at least 4096 and at most 2147483647, got 2147483648 (int)"),
    ],
)
def test_an_ill_typed_value_is_refused_with_what_was_expected(key: str, value: Any, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check({key: value}, "")
    assert str(caught.value) == f"configuration key {key!r} {expected}"
    assert caught.value.key == key


def test_text_is_taken_as_it_is_and_a_choice_only_as_it_is_listed() -> None:
    given = {"pasps.policy": "somebody's own", "pasps.predictor": "ann", "pasps.queue.share": "edge"}
    assert check(given, "here") == given
    assert check({"pasps.policy": None, "pasps.queue.share": None}, "here") == {"pasps.policy": None, "pasps.queue.share": None}
    assert not KEYS["pasps.queue.share"].accepts("Edge")


def test_only_some_keys_stand_on_a_component() -> None:
    assert check({"topology.tick.tuple.freq.secs": 1}, "component 'a'", component=True)
    with pytest.raises(ConfigError) as caught:
        check({"topology.workers": 2}, "component 'a'", component=True)
    assert str(caught.value) == (
        "component 'a': configuration key 'topology.workers' holds for the whole topology; set it in the topology's config"
    )


def test_what_is_no_mapping_or_no_name_is_refused() -> None:
    with pytest.raises(InvalidError, match=r"topology 'wc': configuration must be a dict of keys and values, got \['a'\]"):
        check(["a"], "topology 'wc'")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="must be a non-empty string, got 3"):
        check({3: 1}, "here")  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("topology.workers=3", ("topology.workers", 3)),
        ("topology.workers = null", ("topology.workers", None)),
        ("topology.message.timeout.secs=2", ("topology.message.timeout.secs", 2.0)),
        ("topology.debug=TRUE", ("topology.debug", True)),
        ("pasps.policy=pa-sps", ("pasps.policy", "pa-sps")),
        ("pasps.policy=null", ("pasps.policy", None)),
        ("pasps.policy=none", ("pasps.policy", None)),
        ("pasps.predictor=none", ("pasps.predictor", "none")),
        ("pasps.predictor=12", ("pasps.predictor", "12")),
        ("pasps.predictor.url=http://there:80/?a=b", ("pasps.predictor.url", "http://there:80/?a=b")),
        ("pasps.queue.share=paper", ("pasps.queue.share", "paper")),
        ("my.number=12", ("my.number", 12)),
        ("my.list=[1, 2]", ("my.list", [1, 2])),
        ("my.nothing=null", ("my.nothing", None)),
        ("my.query=a=b", ("my.query", "a=b")),
        ("my.empty=", ("my.empty", "")),
    ],
)
def test_an_option_is_parsed_by_the_type_of_its_key(text: str, expected: tuple[str, Any]) -> None:
    name, value = parse_option(text)
    assert (name, value) == expected
    assert type(value) is type(expected[1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("topology.workers", "option: configuration key 'topology.workers' has no value; write key=value"),
        ("=3", "option: configuration key '=3' has no value; write key=value"),
        (
            "topology.workers=many",
            "option: configuration key 'topology.workers' must be an integer of at least 1 and at most 100000, or null, got 'many'",
        ),
        ("topology.debug=yes", "option: configuration key 'topology.debug' must be true or false, got 'yes'"),
        (
            "topology.workers=0",
            "option: configuration key 'topology.workers' must be an integer of at least 1 and at most 100000, or null, got 0 (int)",
        ),
        ("pasps.queue.share=all", "option: configuration key 'pasps.queue.share' must be 'paper' or 'edge', or null, got 'all' (str)"),
        ("pasps.predictor=", "option: configuration key 'pasps.predictor' must be text, got '' (str)"),
        ("topology.debug=null", "option: configuration key 'topology.debug' must be true or false, got None (NoneType)"),
    ],
)
def test_an_option_that_cannot_be_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_option(text)
    assert str(caught.value) == expected


def test_an_option_with_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"nearest known name is 'topology\.workers'"):
        parse_option("topology.worker=3")


def test_an_option_of_a_policy_passes_with_the_value_that_json_has() -> None:
    assert parse_option("pasps.policy.options.target=0.9") == ("pasps.policy.options.target", 0.9)
    assert parse_option("pasps.policy.options.queue_share=edge") == ("pasps.policy.options.queue_share", "edge")
    assert check({"pasps.policy.options.drain_seconds": None}, "here") == {"pasps.policy.options.drain_seconds": None}


@pytest.mark.parametrize("name", ["pasps.policy.option.target", "pasps.options.target", "pasps.policy.target"])
def test_what_is_almost_an_option_of_a_policy_is_told_how_it_is_written(name: str) -> None:
    with pytest.raises(ConfigError, match=r"is unknown; an option of a policy is written 'pasps\.policy\.options\.target'"):
        check({name: 1}, "here")


@pytest.mark.parametrize("name", ["pasps.policy.options", "pasps.policy.option", "pasps.options"])
def test_options_of_a_policy_are_set_one_by_one(name: str) -> None:
    with pytest.raises(ConfigError, match=r"is unknown; an option of a policy is written 'pasps\.policy\.options\.NAME'"):
        check({name: {"target": 1}}, "here")


def test_an_option_of_a_policy_is_not_set_on_a_component() -> None:
    with pytest.raises(ConfigError, match="holds for the whole topology"):
        check({"pasps.policy.options.target": 1}, "component 'a'", component=True)


def test_later_layers_lie_over_earlier_ones_and_all_over_the_defaults() -> None:
    conf = merged({"topology.workers": 2, "mine": 1}, {"mine": 2})
    assert conf["topology.workers"] == 2
    assert conf["mine"] == 2
    assert conf["topology.transfer.batch.size"] == 512


def test_every_default_is_a_value_that_its_key_takes() -> None:
    check({key.name: key.default for key in KEYS.values()}, "defaults")
    assert all(key.doc and len(key.doc) < 100 for key in KEYS.values())


def test_the_runtime_and_the_control_loop_read_every_key_once() -> None:
    before_it_runs = {"topology.workers", "topology.max.task.parallelism"} & KEYS.keys()
    elastic = len(fields(ElasticSettings)) - 2 + len(fields(PolicySettings))  # one field holds the other record, one a policy's own options
    assert len(fields(RuntimeSettings)) + elastic + len(fields(RestartSettings)) + len(before_it_runs) == len(KEYS)


def test_settings_have_the_documented_defaults() -> None:
    assert RuntimeSettings.from_config({}) == RuntimeSettings(
        message_timeout_seconds=30.0,
        timeouts_enabled=True,
        ackers_enabled=True,
        max_spout_pending=None,
        tick_seconds=None,
        receive_buffer_size=1024,
        receive_buffer_bytes=16 * 2**20,
        flush_interval_seconds=0.001,
        transfer_batch_size=512,
        producer_batch_size=512,
        locality_band_seconds=0.005,
        wire_pickle=False,
        max_frame_bytes=64 * 1024 * 1024,
        load_report_seconds=0.1,
        shared_queues=True,
        debug=False,
        error_throttle_seconds=10.0,
        max_error_reports=5,
        worker_host=None,
    )


def test_settings_convert_to_seconds_and_switches() -> None:
    settings = RuntimeSettings.from_config(
        {
            "topology.acker.executors": 0,
            "topology.tick.tuple.freq.secs": 2,
            "topology.locality.band": 0,
            "topology.batch.flush.interval.millis": 20,
            "pasps.load.report.interval.millis": 50.0,
            "mine": "passes",
        }
    )
    assert not settings.ackers_enabled
    assert settings.tick_seconds == 2.0
    assert settings.locality_band_seconds == 0.0
    assert settings.flush_interval_seconds == 0.02
    assert settings.load_report_seconds == 0.05
    assert RuntimeSettings.from_config({"topology.acker.executors": 3}).ackers_enabled


def test_settings_refuse_what_check_refuses() -> None:
    with pytest.raises(ConfigError):
        RuntimeSettings.from_config({"topology.wrkers": 1})
