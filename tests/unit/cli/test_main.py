from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pasps.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["walk"], "walk"),
        (["run"], "FILE"),
        (["run", "x.py", "--workers", "0"], "expected a whole number of at least 1, got '0'"),
        (["run", "x.py", "--workers", "two"], "expected a whole number of at least 1, got 'two'"),
        (["run", "x.py", "--duration", "0"], "expected seconds above 0, got '0'"),
        (["run", "x.py", "--duration", "nan"], "expected seconds of at least 0, got 'nan'"),
        (["run", "x.py", "--drain-timeout", "-1"], "expected seconds of at least 0, got '-1'"),
        (["run", "x.py", "--walk"], "pasps run: error: unrecognized arguments: --walk\n"),
        (["run", "x.py", "--policy", "static"], "--policy static; a configuration key is given as -o pasps.policy=VALUE\n"),
        (["list", "--policy=static"], "pasps list: error: unrecognized arguments: --policy=static\n"),
    ],
)
def test_a_wrong_option_is_named_and_ends_with_2(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(("option", "told"), [("policy=static", "'pasps.policy'"), ("workers=2", "'topology.workers'"), ("policies=1", "")])
def test_a_key_without_its_first_word_is_told(option: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It may be the topology's own; the file is not there, so nothing begins."""
    for words in (["run"], ["submit"], ["simulate", "--trace", "trace.csv"]):
        assert main([*words, str(tmp_path / "none.py"), "-o", option]) == 2
        shown = capsys.readouterr().err
        assert shown.count(f"taken as a key of the topology's own; if {told} is meant") == bool(told), words
        assert ("taken as a key" in shown) is bool(told)


def test_help_shows_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "pasps run word_count.py --workers 4 --duration 60 --scale count=6" in shown
    assert "exit codes:" in shown


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("pasps ")


def loaded(module: str) -> set[str]:
    """What a process has loaded that has imported this."""
    program = f"import sys, {module}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    return set(run.stdout.split())


def test_rich_is_loaded_for_the_live_view_alone() -> None:
    assert "rich" not in loaded("pasps.cli.main")


def test_a_verb_loads_nothing_of_what_runs_a_topology() -> None:
    """Whoever types one waits for it to start."""
    found = loaded("pasps.cli.verbs")
    assert "pasps.cli.asking.which_run" in found
    assert not found & {"pasps.topology.controller", "pasps.control.policies", "pasps.runtime", "cloudpickle"}


def test_help_loads_no_command_and_no_run() -> None:
    found = loaded("pasps.cli.main")
    assert {name for name in found if name.startswith("pasps.cli.")} == {"pasps.cli.main", "pasps.cli.exit_codes"}
    assert not any(name.startswith("pasps.topology.run_") for name in found)
