"""`pasps predictor`: the command line it becomes."""

from __future__ import annotations

import argparse
import os
import sys

import pytest

from pasps.cli import predictor as module
from pasps.topology import predictor_process


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    module.add(parser)
    return parser.parse_args(words)


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the process became; the real call does not return."""
    calls: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, words: calls.append([program, *words]))
    return calls


def test_without_options_the_service_has_its_defaults(became: list[list[str]]) -> None:
    module.predictor(parsed())
    assert became == [[sys.executable, sys.executable, "-m", "predictor_service"]]


def test_options_are_handed_on() -> None:
    words = module.command(
        parsed("--host", "::1", "--port", "0", "--workers", "3", "--fit-timeout", "2.5", "--artifacts", "made", "--end-with-stdin")
    )
    assert words[3:] == ["--host=::1", "--port=0", "--workers=3", "--fit-timeout=2.5", "--artifacts=made", "--end-with-stdin"]


def test_a_token_is_not_seen_in_the_list_of_processes(became: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASPS_PREDICTOR_TOKEN", "old")
    module.predictor(parsed("--token", "s3cret"))
    assert os.environ["PASPS_PREDICTOR_TOKEN"] == "s3cret"
    assert "s3cret" not in " ".join(became[0])


def test_what_is_not_installed_is_named_with_the_cure(
    became: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(predictor_process, "find_spec", lambda name: None if name in {"sklearn", "fastapi"} else object())
    assert module.predictor(parsed()) == 2
    assert capsys.readouterr().err == "pasps predictor: fastapi, sklearn not installed; run: pip install 'pasps[predictor]'\n"
    assert not became


def test_it_starts_without_darts_which_one_model_needs(became: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictor_process, "find_spec", lambda name: None if name == "darts" else object())
    module.predictor(parsed())
    assert became
