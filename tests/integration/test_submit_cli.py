"""`pasps submit`, with a master that keeps the contract of the API."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pasps.cli import exit_codes
from pasps.cli.main import call, parsed
from pasps.cluster.master.client import MasterAwayError
from pasps.errors import ConfigError, InvalidError
from tests.integration.fake_master import Master, RefusalError, known_master, nobody

pytestmark = pytest.mark.integration

Shown = pytest.CaptureFixture[str]

TOPOLOGY = """
print("imported")
import {imports}
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
    sink = Sink.spec(inputs=[numbers])
"""


@pytest.fixture(autouse=True)
def master(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Master]:
    with known_master(tmp_path, monkeypatch) as found:
        found.topologies.clear()
        # importing a topology's file adds to it; every test has a module of its own to import
        monkeypatch.setattr("sys.path", list(sys.path))
        yield found


def written(folder: Path, name: str, imports: str = "json") -> str:
    path = folder / f"{name}.py"
    path.write_text(TOPOLOGY.format(imports=imports))
    return str(path)


def submitted(*words: str) -> int:
    return call(parsed(["submit", *words]))


def taken(master: Master) -> zipfile.ZipFile:
    (body,) = (body for method, path, _, body in master.asked if (method, path) == ("POST", "/v1/topologies"))
    return zipfile.ZipFile(io.BytesIO(body))


def comes_up(master: Master, state: str = "running", detail: str = "") -> None:
    """As soon as it was submitted it is in that state."""
    answer = master.answer

    def answered(method: str, path: str, body: bytes) -> tuple[int, object]:
        done = answer(method, path, body)
        if done[0] == 201:
            master.add("counting", state, detail)
        return done

    master.answer = answered  # type: ignore[method-assign]


def test_the_package_is_sent_and_the_topology_followed(master: Master, tmp_path: Path, capsys: Shown) -> None:
    comes_up(master)
    (tmp_path / "beside_it.py").write_text("ONE = 1\n")
    file = written(tmp_path, "submit_one", "beside_it")
    assert submitted(file, "--workers", "3", "-o", "numbers.count=5", "--inactive") == exit_codes.OK
    package = taken(master)
    assert {"submission.json", "submit_one.py", "beside_it.py"} <= set(package.namelist())
    told = json.loads(package.read("submission.json"))
    assert (told["workers"], told["options"], told["inactive"]) == (3, {"numbers.count": 5}, True)
    shown = capsys.readouterr()
    seconds, said = zip(*(line.split(" s  ", 1) for line in shown.out.splitlines()), strict=True)
    assert [float(time) for time in seconds] == sorted(float(time) for time in seconds)
    assert said[0] == f"checking {file} here"
    assert said[-3:] == (
        "sent; the master checks it",
        "submitted counting",
        "counting is running; watch it with `pasps top counting`, see what it prints with `pasps logs counting -f`",
    )
    assert shown.err == "imported\n"


def test_with_json_standard_output_is_one_object(master: Master, tmp_path: Path, capsys: Shown) -> None:
    comes_up(master, "failed", "ValueError: no database")
    assert submitted(written(tmp_path, "submit_two"), "--json", "--master", master.url) == exit_codes.NOT_STARTED
    assert json.loads(capsys.readouterr().out) == {
        "name": "counting", "state": "failed", "detail": "ValueError: no database", "workers": 2, "master": master.url,
    }  # fmt: skip


def test_without_waiting_it_is_back_at_once(master: Master, tmp_path: Path, capsys: Shown) -> None:
    assert submitted(written(tmp_path, "submit_three"), "--no-wait", "--master", master.url) == exit_codes.OK
    assert capsys.readouterr().out.endswith(f"`pasps logs counting -f --master {master.url}`\n")
    assert master.paths() == ["GET /v1/topologies", "POST /v1/topologies"]


def test_one_that_waits_says_for_what(master: Master, tmp_path: Path, capsys: Shown) -> None:
    comes_up(master, "waiting", "it waits for 3 more places")
    assert submitted(written(tmp_path, "submit_four"), "--wait", "0.1") == exit_codes.OK
    assert "counting waits: it waits for 3 more places\nit starts by itself" in capsys.readouterr().out


def test_what_is_wrong_here_is_refused_before_anybody_is_asked(master: Master, tmp_path: Path) -> None:
    file = written(tmp_path, "submit_five")
    with pytest.raises(InvalidError, match="there is no such file"):
        submitted(str(tmp_path / "none.py"))
    with pytest.raises(ConfigError, match=r"topology\.workers"):
        submitted(file, "-o", "topology.workers=many")
    with pytest.raises(InvalidError, match="No module named 'not_to_be_found'"):
        submitted(written(tmp_path, "submit_six", "not_to_be_found"))
    assert master.asked == []


def test_a_name_in_use_is_refused_before_it_is_sent(master: Master, tmp_path: Path) -> None:
    master.add("counting", "waiting")
    file = written(tmp_path, "submit_seven")
    with pytest.raises(InvalidError, match=r"topology 'counting' is in the cluster at .* already, waiting; choose another one with --name"):
        submitted(file)
    assert master.paths() == ["GET /v1/topologies"]


def test_what_the_master_refuses_is_said(master: Master, tmp_path: Path) -> None:
    master.refusal = RefusalError(422, "MissingModuleError", "module 'x' is missing where the topology is to run")
    with pytest.raises(InvalidError, match="module 'x' is missing"):
        submitted(written(tmp_path, "submit_eight"))


def test_without_a_master_nothing_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MasterAwayError, match="cannot be reached"):
        submitted(written(tmp_path, "submit_nine"), "--master", nobody())
    monkeypatch.delenv("PASPS_MASTER")
    with pytest.raises(InvalidError, match="no cluster is known here"):
        submitted(written(tmp_path, "submit_ten"))


def test_what_py_files_have_is_found_here_too(master: Master, tmp_path: Path) -> None:
    shared = tmp_path / "elsewhere"
    shared.mkdir()
    (shared / "shared_words.py").write_text("ONE = 1\n")
    with zipfile.ZipFile(shared / "more.zip", "w") as archive:
        archive.writestr("more_words.py", "TWO = 2\n")
    file = written(tmp_path, "submit_eleven", "shared_words, more_words")
    assert submitted(file, "--no-wait", "--py-files", f"{shared}/shared_words.py,{shared}/more.zip") == exit_codes.OK
    assert {"py-files/shared_words.py", "py-files/more.zip"} <= set(taken(master).namelist())
