"""What the service refuses to be started with."""

from __future__ import annotations

from typing import Any

import pytest

from predictor_service.__main__ import main
from predictor_service.errors import SettingsError
from predictor_service.settings import Settings, is_loopback


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"host": "0.0.0.0"}, "give a --token"),
        ({"host": ""}, "give a --token"),
        ({"host": "::"}, "give a --token"),
        ({"host": "example.org"}, "give a --token"),
        ({"port": 65536}, "--port"),
        ({"workers": 0}, "--workers"),
        ({"fit_timeout_seconds": 0.0}, "--fit-timeout"),
        ({"fit_timeout_seconds": float("nan")}, "--fit-timeout"),
        ({"most_waiting": -1}, "--most-waiting"),
        ({"token": ""}, "--token"),
        ({"token": "two\nlines"}, "--token"),
        ({"token": "é"}, "--token"),
    ],
)
def test_it_is_refused_with_the_option_to_change(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        Settings(**fields)


@pytest.mark.parametrize(
    ("host", "own"), [("127.0.0.1", True), ("127.0.0.9", True), ("::1", True), ("localhost", True), ("10.0.0.1", False)]
)
def test_what_only_this_machine_reaches(host: str, own: bool) -> None:
    assert is_loopback(host) is own


def test_others_may_reach_it_with_a_token() -> None:
    assert "s3cret" not in repr(Settings(host="0.0.0.0", token="s3cret"))


def test_a_machine_with_more_cores_than_workers_are_allowed_gets_as_many_as_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(384)), raising=False)
    served: list[Settings] = []
    monkeypatch.setattr("predictor_service.__main__.serve", lambda settings, **others: served.append(settings))
    assert main([]) == 0
    assert [settings.workers for settings in (Settings(), *served)] == [256, 256]


def test_the_command_line_says_why_it_does_not_start(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PASPS_PREDICTOR_TOKEN", raising=False)
    assert main(["--host", "0.0.0.0"]) == 2
    assert capsys.readouterr().err.startswith("predictor: --host 0.0.0.0: others can reach this address")
