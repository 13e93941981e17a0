from __future__ import annotations

import argparse
import sys
import types

import pytest

from pasps.cli import traces
from pasps.cli.main import Command


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="pasps traces")
    traces.add(made)
    return made


def test_every_action_is_named_with_its_help() -> None:
    shown = parser().format_help()
    assert [action.name for action in traces.ACTIONS] == ["build", "compose", "synth", "describe"]
    assert all(action.help in shown for action in traces.ACTIONS)


def test_an_action_needs_only_its_own_module(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("an_action")
    module.add = lambda made: made.add_argument("count", type=int)  # type: ignore[attr-defined]
    module.traces_one = lambda options: options.count + 1  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "an_action", module)
    monkeypatch.setattr(traces, "ACTIONS", (Command("one", "", "an_action"), Command("other", "", "a_module_that_is_not_there")))
    assert traces.traces(parser().parse_args(["one", "6"])) == 7


def test_build_is_one_of_them() -> None:
    options = parser().parse_args(["build", "x", "--format", "hdfs", "--out", "out"])
    assert (options.action, options.paths, options.step) == ("build", ["x"], "1s")
