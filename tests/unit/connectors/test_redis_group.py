"""The commands of a member, as far as they need no server: tests/integration/test_redis_spout.py has the rest."""

from __future__ import annotations

import importlib
import sys

import pytest

from pasps.connectors.redis_client import RedisGroup
from pasps.errors import ConfigError, InvalidError
from tests.unit.connectors.redis_stream import settings


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("redis://ann:secret@there:7000/2", "there:7000"),
        ("rediss://there", "there:6379"),
        ("redis://", "localhost:6379"),
        ("unix:///run/redis.sock?db=2", "/run/redis.sock"),
    ],
)
def test_where_redis_is_is_told_without_the_password(url: str, place: str) -> None:
    assert RedisGroup(settings(url=url)).place == place


@pytest.mark.parametrize("url", ["redis://ann:se/cret@there:7000", "redis://there:port", "redis://there?socket_timeout=secret"])
def test_a_url_that_cannot_be_understood_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        RedisGroup(settings(url=url))
    assert str(raised.value) == (
        "component 'orders': configuration key 'redis.url' cannot be understood as a URL; write redis://user@host:6379/0"
    )


@pytest.mark.parametrize("option", ["protocol=3", "decode_responses=true"])
def test_what_the_spout_relies_on_cannot_be_changed(option: str) -> None:
    with pytest.raises(ConfigError, match="must not set protocol or decode_responses"):
        RedisGroup(settings(url=f"redis://there?{option}"))


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("pasps.connectors.redis_")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(InvalidError, match=r"RedisStreamSpout needs redis, .*; pip install 'pasps\[redis\]'"):
        importlib.import_module("pasps.connectors.redis_streams")
