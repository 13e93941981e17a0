"""The keys `redis.*`: what they make of it, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pasps.errors import ConfigError
from tests.unit.connectors.redis_stream import settings


def test_what_is_set_when_nothing_else_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_PASSWORD", raising=False)
    found = settings(index=1, tasks=3)
    assert (found.url, found.password) == ("redis://127.0.0.1:6379/0", None)
    assert (found.stream, found.group, found.consumer, found.index, found.tasks) == ("orders", "shop", "shop-orders-1", 1, 3)
    assert (found.start, found.most_pending, found.most_tries, found.dead_stream) == ("0-0", 10_000, None, None)
    assert found.claim_seconds == 60.0


def test_a_group_may_begin_at_the_end() -> None:
    assert settings(start="latest").start == "$"


def test_the_password_stands_in_the_environment_or_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REDIS_PASSWORD", "from outside")
    assert settings().password == "from outside"
    (tmp_path / "password").write_text("from a file\n")
    assert settings(password__file=str(tmp_path / "password")).password == "from a file"


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(settings(url="redis://ann:secret@there/0"))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"stream": None}, "component 'orders': configuration key 'redis.stream' is missing; set it to the key of a stream"),
    ({"group": None}, "'redis.group' is missing; set it to the name of a consumer group"),
    ({"url": "http://ann:secret@there"}, "'redis.url' must begin with 'redis://', 'rediss://' or 'unix://'"),
    ({"url": 6379}, "'redis.url' must begin with"),
    ({"start": "newest"}, "'redis.start' must be 'earliest' or 'latest', got 'newest'"),
    ({"pending": True}, "'redis.pending' must be an integer of at least 1, got True"),
    ({"claim__seconds": 0}, "'redis.claim.seconds' must be a number above 0 (seconds), got 0"),
    ({"dead__stream": 1}, "'redis.dead.stream' must be the "),
    ({"streams": "orders"}, "'redis.streams' is unknown; the nearest known name is 'redis.stream'"),
    ({"password__file": "/nowhere/password"}, "'/nowhere/password' cannot be read: No such file or directory"),
]


@pytest.mark.parametrize(("more", "message"), WRONG)
def test_a_wrong_key_says_what_is_wrong(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        settings(**more)
    assert message in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_password_file_that_is_no_text_is_refused_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "password").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="it is not text in UTF-8"):
        settings(password__file=str(tmp_path / "password"))
