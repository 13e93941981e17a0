"""The command line against real masters: a topology from its submission to its end, by way of another leader."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pasps.cli import exit_codes
from pasps.cli.main import main
from pasps.errors import InvalidError
from tests.integration.real_masters import TOKEN, Masters
from tests.integration.running import called

pytestmark = pytest.mark.integration

Shown = pytest.CaptureFixture[str]

TOPOLOGY = """
from pasps import Bolt, EndOfInput, Spout, Topology

class Numbers(Spout):
    outputs = ["n"]
    def next_tuple(self):
        raise EndOfInput

class Sink(Bolt):
    def process(self, tup):
        pass

class Counting(Topology):
    numbers = Numbers.spec()
    sink = Sink.spec(inputs=[numbers], pool=2)
"""


@pytest.fixture(autouse=True)
def _environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASPS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PASPS_TOKEN", TOKEN)
    monkeypatch.setattr("sys.path", list(sys.path))


@pytest.fixture
def masters(tmp_path: Path) -> Iterator[Masters]:
    with Masters(tmp_path) as found:
        yield found


def written(folder: Path, name: str, text: str = TOPOLOGY) -> str:
    (folder / f"{name}.py").write_text(text)
    return str(folder / f"{name}.py")


def test_a_topology_from_its_submission_to_its_end(
    masters: Masters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Shown
) -> None:
    file = written(tmp_path, "masters_one")
    with masters.master() as first:
        monkeypatch.setenv("PASPS_MASTER", first)
        assert called("submit", file, "--workers", "2") == exit_codes.OK
        assert "counting is running; watch it with `pasps top counting`" in capsys.readouterr().out
        with masters.master() as follower:
            # the follower sends to the leader
            monkeypatch.setenv("PASPS_MASTER", f"{follower},{first}")
            assert main(["status", "counting"]) == main(["activate"]) == called("logs", "--worker", "w1") == exit_codes.OK
            shown = capsys.readouterr().out
            assert shown.startswith("counting: running, up 0:00:03, in the cluster, driver ")
            assert shown.endswith("counting is running\nw1 wrote\n")
            assert called("rebalance", "counting", "--pool", "sink=4", "--workers", "3") == exit_codes.OK
            with pytest.raises(InvalidError, match="there is no bolt 'snk' in topology 'counting'; it has sink"):
                called("rebalance", "counting", "--pool", "snk=4")
            assert main(["list", "--json"]) == exit_codes.OK
            told = json.loads(capsys.readouterr().out.splitlines()[-1])
            assert [(view["name"], view["workers"]) for view in told] == [("counting", 3)]
            assert main(["kill", "counting", "-w", "5"]) == exit_codes.OK
            assert capsys.readouterr().out.startswith("counting ended after 1.5 s, drained\nevents in 3, acked 3; summary in /run on ")
            assert main(["status", "counting"]) == exit_codes.NOT_RUNNING
            assert main(["list", "--all", "--json"]) == exit_codes.OK
            (ended,) = json.loads(capsys.readouterr().out)
            assert (ended["name"], ended["state"]) == ("counting", "ended")


def test_what_a_master_refuses_is_said_in_its_words(masters: Masters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with masters.master() as url:
        monkeypatch.setenv("PASPS_MASTER", url)
        masters.drivers.comes_up = ("waiting", "it waits for 2 more places")
        assert called("submit", written(tmp_path, "masters_two"), "--wait", "0.5", "--name", "second") == exit_codes.OK
        with pytest.raises(InvalidError, match=r"'second' is in the cluster at .* already, waiting"):
            called("submit", written(tmp_path, "masters_three"), "--name", "second")
        assert main(["status", "second"]) == exit_codes.NO_ANSWER
        # what is only on this machine passes the check here, not that of the master
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "only_here.py").touch()
        monkeypatch.syspath_prepend(str(elsewhere))
        file = written(tmp_path, "masters_four", f"import only_here\n{TOPOLOGY}")
        with pytest.raises(InvalidError, match="module 'only_here' is missing where the topology is to run; name what provides it"):
            called("submit", file)
        monkeypatch.setenv("PASPS_TOKEN", "wrong")
        assert main(["list"]) == exit_codes.BROKEN
        assert main(["status", "second"]) == exit_codes.INVALID


def test_another_master_takes_over(masters: Masters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    with masters.master() as first:
        monkeypatch.setenv("PASPS_MASTER", first)
        assert called("submit", written(tmp_path, "masters_five")) == exit_codes.OK
        second = masters.master()
        url = second.__enter__()
    monkeypatch.setenv("PASPS_MASTER", url)
    try:
        assert main(["status", "counting"]) == exit_codes.OK
        assert main(["status", "--master", first, "counting"]) == exit_codes.BROKEN
        assert "cannot be reached: Connection refused" in capsys.readouterr().err
    finally:
        second.__exit__(None, None, None)
