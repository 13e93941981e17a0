"""`pasps explain`: which run and which bolt are meant, and what is read of what a run has left."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from pasps.cli.explain import add, explain, find
from pasps.control import decision_log
from pasps.control.decision_log import Act, Outcome, Record
from pasps.control.plan import Plan
from pasps.control.policies import policy_named
from pasps.control.situation import (
    BoltInterval,
    BoltShape,
    Estimates,
    ExecutionTime,
    Forecast,
    Interval,
    Situation,
    SpoutInterval,
    TopologyShape,
)
from pasps.errors import InvalidError
from pasps.topology.process_identity import started
from pasps.topology.run_record import RunRecord, RunState, host, write_json


def record(number: int, active: int, policy: str = "pa-sps") -> Record:
    uptime = 30.0 * number
    shape = TopologyShape(("lines",), (BoltShape("count", 8, ("lines",), waits=True),))
    interval = Interval(
        number, uptime - 30, uptime, {"lines": SpoutInterval(398, 398)}, {"count": BoltInterval({"lines": 398}, 398, 0, active, 79.6)}
    )
    known = Estimates({"count": {"lines": 1.0}}, {"lines": 1.0, "count": 1.0}, {"count": ExecutionTime(0.2, "live")})
    situation = Situation("cycle", shape, interval, known, Forecast(uptime, (412 / 30,) * 30, "lr"))
    pa_sps = policy_named("pa-sps")
    plan = pa_sps.plan(situation, pa_sps.options())
    acts = {bolt: Act(active, active + change, active + change, Outcome.DONE) for bolt, change in plan.changes.items()}
    return Record(number, 1.7e9 + uptime, uptime, "cycle", policy, situation, plan, acts, 10 + number)


def held(number: int) -> Record:
    return Record(number, 1.7e9 + 30 * number, 30.0 * number, "cycle", "pa-sps", None, Plan({}, held="the snapshot is incomplete"))


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PASPS_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(base: Path, entry: str, name: str, began: float, *, running: bool = False, files: Mapping[str, bytes] | None = None) -> Path:
    """What a run of topology `name` leaves in `BASE/runs/ENTRY`."""
    directory = base / "runs" / entry
    directory.mkdir(parents=True)
    process, state = (started(os.getpid()) or "", RunState.RUNNING) if running else ("", RunState.ENDED)
    write_json(directory / "run.json", RunRecord(name, "a.py", os.getpid(), process, host(), began, 2, "", {}, "pa-sps", state))
    for file, content in (files or {}).items():
        (directory / file).write_bytes(content)
    return directory


def lines(*records: Record) -> bytes:
    return b"".join(decision_log.written(one) + b"\n" for one in records)


def called(*words: str) -> int:
    parser = argparse.ArgumentParser()
    add(parser)
    return explain(parser.parse_args(words))


def test_without_words_all_bolts_of_the_newest_run_are_explained(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(base, "words-1", "words", 1.0)
    newest = run(base, "words-2", "words", 2.0, files={"decisions.jsonl": lines(record(1, 2), held(2))})
    assert called() == 0
    head, *shown = capsys.readouterr().out.splitlines()
    assert head == f"words, ended, {newest}"
    assert shown[0].startswith("cycle 2 at ")
    assert shown[1] == "nothing was decided: the snapshot is incomplete"
    assert shown[3].startswith("count has 3 of 8 replicas since ")
    assert "412 events x 0.2 s / 30 s = 2.75 replicas, rounded up 3" in shown[4]


def test_a_running_one_comes_first_then_the_newest(base: Path) -> None:
    run(base, "a-1", "a", 1.0, running=True)
    run(base, "a-2", "a", 2.0)
    run(base, "b-1", "b", 3.0)
    found = {words: find(*words, base) for words in [(None, None), ("a", None), ("a-2", None), ("b", "count"), ("count", None)]}
    assert [(run.entry.name, bolt) for run, bolt in found.values()] == [
        ("a-1", None),
        ("a-1", None),
        ("a-2", None),
        ("b-1", "count"),
        ("a-1", "count"),
    ]


def test_a_run_directory_anywhere_will_do(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = run(tmp_path / "elsewhere", "x", "words", 1.0, files={"decisions.jsonl": lines(record(1, 2))})
    assert called(str(directory), "count") == 0
    assert "done    2 -> 3: table 11" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["counts"], "'counts' is no run, so taken as a bolt: there is no bolt 'counts' in the log; did you mean 'count'?"),
        (["words", "counts"], "words-1: there is no bolt 'counts' in the log; did you mean 'count'? it has count"),
        (["wrods", "count"], "'wrods' is neither a run directory nor a topology that ran here; there are runs of words"),
        (["--at", "soon"], "--at 'soon' is no time; write seconds since the start"),
        (["--at", "3"], "--at '3': there is no decision before it; the first in the log is cycle 1 at"),
    ],
)
def test_what_does_not_exist_is_named(base: Path, words: list[str], said: str) -> None:
    run(base, "words-1", "words", 1.0, files={"decisions.jsonl": lines(record(1, 2))})
    with pytest.raises(InvalidError) as refused:
        called(*words)
    assert said in str(refused.value)


def test_without_a_run_there_is_nothing_to_explain(base: Path) -> None:
    with pytest.raises(InvalidError, match=r"there is no run in .*; start one with `pasps run FILE`, or give a run directory"):
        find(None, None, base)


def test_a_run_that_decided_nothing_says_so(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(base, "words-1", "words", 1.0)
    assert called("words") == 0
    assert capsys.readouterr().out.endswith("\nno decision was made yet\n")


def test_rotated_damaged_and_half_written_files_are_read(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "decisions.1.jsonl": lines(record(1, 2)),
        "decisions.jsonl": b"{}\n" + lines(record(2, 3)) + decision_log.written(record(3, 5))[:-40],
    }
    run(base, "words-1", "words", 1.0, files=files)
    assert called("count") == 0
    out, err = capsys.readouterr()
    assert "(cycle 1, table 11), 2 -> 3." in out
    assert "Cycle 2 at" in out
    assert "were left out: 1" in err, "the half line at the end is no damage"


def test_json_prints_the_records_as_they_were_written(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(base, "words-1", "words", 1.0, files={"decisions.jsonl": lines(record(1, 2), record(2, 3), record(3, 3))})
    assert called("count", "--json") == 0
    shown = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["number"] for line in shown] == [1, 3]
    assert decision_log.read(shown[0]) == record(1, 2)


def test_replay_says_whether_the_plans_are_the_same(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(base, "words-1", "words", 1.0, files={"decisions.jsonl": lines(record(1, 2), held(2), record(3, 3, "static"))})
    assert called("--replay") == 1
    assert capsys.readouterr().out == (
        "cycle 3: the same replicas, but other terms\n1 of 2 decisions are the same when they are made again; 1 made no plan\n"
    )
    assert called("--replay", "--at", "30") == 0


def test_a_policy_that_is_not_here_is_named(base: Path) -> None:
    run(base, "words-1", "words", 1.0, files={"decisions.jsonl": lines(record(1, 2, "pa-spsx"))})
    with pytest.raises(InvalidError, match="names no policy: 'pa-spsx'; did you mean 'pa-sps'"):
        called("--replay")
