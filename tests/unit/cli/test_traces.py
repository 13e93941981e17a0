from __future__ import annotations

import sys
import types

import pytest

from pasps.cli import main
from pasps.cli.main import COMMANDS, Command, call, parsed


def test_every_action_is_named_with_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    actions = [command for command in COMMANDS if command.name.startswith("traces ")]
    with pytest.raises(SystemExit):
        parsed(["traces", "--help"])
    shown = capsys.readouterr().out
    assert [action.last_word for action in actions] == ["build", "compose", "synth", "describe"]
    assert all(action.help in shown for action in actions)


def test_an_action_needs_only_its_own_module(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("an_action")
    module.add_traces_one = lambda made: made.add_argument("count", type=int)  # type: ignore[attr-defined]
    module.traces_one = lambda options: options.count + 1  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "an_action", module)
    traces = Command("traces", "", "pasps.cli.jobs.traces")
    actions = (Command("traces one", "", "an_action"), Command("traces other", "", "a_module_that_is_not_there"))
    monkeypatch.setattr(main, "COMMANDS", (traces, *actions))
    assert call(parsed(["traces", "one", "6"])) == 7


def test_build_is_one_of_them() -> None:
    options = parsed(["traces", "build", "x", "--format", "hdfs", "--out", "out"])
    assert (options.command.last_word, options.paths, options.step) == ("build", ["x"], "1s")
