"""The keys of the HTTP spout, and where its token may stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pasps.connectors.http_intake import HttpSettings, settings_of
from pasps.errors import ConfigError

WHERE = "component 'in'"


@pytest.fixture(autouse=True)
def _no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PASPS_HTTP_TOKEN", raising=False)


def test_no_key_is_needed() -> None:
    assert settings_of({"trace.file": "x"}, WHERE) == HttpSettings("127.0.0.1", 8080, None, None, 10_000, 1 << 20, 30.0, 3)


def test_tasks_have_ports_and_address_files_of_their_own() -> None:
    conf = {"http.port": 9000, "http.address.file": "/run/addr"}
    found = [settings_of(conf, WHERE, task, 3) for task in range(3)]
    assert [(one.port, one.address_file) for one in found] == [(9000 + task, f"/run/addr.{task}") for task in range(3)]
    assert [settings_of({"http.port": 0}, WHERE, task, 3).port for task in range(3)] == [0, 0, 0]


def test_the_token_is_a_key_a_file_or_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("from-file\n")
    monkeypatch.setenv("PASPS_HTTP_TOKEN", "from-environment")
    assert settings_of({}, WHERE).token == "from-environment"
    assert settings_of({"http.token": "from-key"}, WHERE).token == "from-key"
    found = settings_of({"http.token.file": str(tmp_path / "token")}, WHERE)
    assert found.token == "from-file"
    assert "from-file" not in repr(found)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_on_loopback_no_token_is_needed(host: str) -> None:
    assert settings_of({"http.host": host}, WHERE).token is None


@pytest.mark.parametrize(
    ("conf", "problem"),
    [
        ({"http.host": "0.0.0.0"}, "'http.host' is '0.0.0.0', which others can reach, and there is no token; set 'http.token.file'"),
        ({"http.host": "myhost"}, "'http.host' is 'myhost', which others can reach, and there is no token"),
        ({"http.port": 65536}, "'http.port' must be an integer from 0 to 65535, got 65536 (int)"),
        ({"http.port": 65535}, "'http.port' leaves no port to the last of 2 tasks; choose a smaller one"),
        ({"http.token": "a b"}, "'http.token' must be printable ASCII without spaces"),
        ({"http.token": "a", "http.token.file": "b"}, "'http.token' and 'http.token.file' say the same thing twice; set one of them"),
        ({"http.token.file": "/nowhere/token"}, "'http.token.file' names '/nowhere/token', which cannot be read"),
        ({"http.tries": 0}, "'http.tries' must be an integer of at least 1, got 0 (int)"),
        ({"http.timeout.second": 5}, "'http.timeout.second' is unknown; the nearest known name is 'http.timeout.seconds'"),
    ],
)
def test_a_wrong_key_is_refused(conf: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        settings_of(conf, WHERE, 0, 2)
    assert str(wrong.value).startswith(f"component 'in': configuration key {problem}")


def test_an_empty_token_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    with pytest.raises(ConfigError, match=r"which is empty$"):
        settings_of({"http.token.file": str(tmp_path / "token")}, WHERE)


@pytest.mark.parametrize("key", ["http.token", "http.token.file"])
@pytest.mark.parametrize("secret", [48151623421234, ["48151623421234"]])
def test_a_token_that_is_no_text_is_in_no_message(key: str, secret: object) -> None:
    with pytest.raises(ConfigError, match=rf"'{key}' must be .*, got a value of type \w+, which is not shown") as wrong:
        settings_of({key: secret}, WHERE)
    assert "48151623421234" not in str(wrong.value)
    assert str(wrong.value).endswith("; what looks like a number, true or false is text in double quotes") == isinstance(secret, int)
