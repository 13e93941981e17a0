"""The keys of the line spout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pasps.connectors.line_search import LineSettings, settings_of
from pasps.errors import ConfigError


def test_the_path_is_enough() -> None:
    settings = settings_of({"lines.path": "logs/*.log", "trace.file": "x", "lines.tries": None}, "component 'in'")
    assert settings == LineSettings(str(Path("logs/*.log").absolute()), False, True, False, 1 << 20, 10_000, None, 1.0, 60.0)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("lines.path", None, "'lines.path' is missing; set it to the path of a file, or a pattern such as '/var/log/app*.log'"),
        ("lines.path", 5, "must be the path of a file, or a pattern such as '/var/log/app*.log', got 5 (int)"),
        ("lines.start", "last", "must be 'beginning' or 'end', got 'last' (str)"),
        ("lines.follow", "yes", "must be true or false, got 'yes' (str)"),
        ("lines.max.bytes", 0, "must be an integer from 1 to 67108864, got 0 (int)"),
        ("lines.pending", True, "must be an integer of at least 1, got True (bool)"),
        ("lines.tries", 0, "must be an integer of at least 1, got 0 (int)"),
        ("lines.scan.seconds", 0, "must be a number above 0 (seconds), got 0 (int)"),
        ("lines.maxbytes", 5, "is unknown; the nearest known name is 'lines.max.bytes'"),
    ],
)
def test_a_wrong_key_is_refused(key: str, value: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        settings_of({"lines.path": "a.log", key: value}, "component 'in'")
    assert str(wrong.value).startswith("component 'in': configuration key 'lines.")
    assert str(wrong.value).endswith(problem)


def test_the_end_of_files_that_are_not_followed_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'lines.start' is 'end', while 'lines.follow' is false"):
        settings_of({"lines.path": "a.log", "lines.start": "end", "lines.follow": False}, "component 'in'")
