"""The logs of workers that move, and lines that come in parts."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from pasps.cli.asking.asked_topology import ClusterTopology
from pasps.cli.logs import LogReader

Shown = pytest.CaptureFixture[str]
Told = dict[str, Any]


def said(text: str, offset: int, host: str = "node-1") -> Told:
    return {"worker": "w0", "host": host, "text": text, "offset": offset}


class Topology:
    """Gives the answers of a list, and keeps what it was asked."""

    def __init__(self, *answers: Told) -> None:
        self.answers = list(answers)
        self.asked: list[Told] = []

    name = "words"

    def call(self, verb: str, arguments: Told, seconds: float) -> Told:
        assert verb == "logs"
        self.asked.append(arguments)
        return self.answers.pop(0)


def reader(topology: Topology, *, as_json: bool = False) -> LogReader:
    return LogReader(cast(ClusterTopology, topology), ["w0"], 7, as_json=as_json)


def test_a_worker_that_moved_is_asked_again_for_its_last_lines(capsys: Shown) -> None:
    topology = Topology(
        said("one\n", 400), said("of another file\n", 90, "node-2"), said("two\n", 90, "node-2"), said("three\n", 96, "node-2")
    )
    log = reader(topology)
    for _ in range(3):
        log.look()
    assert capsys.readouterr().out == "one\ntwo\nthree\n"
    first = {"worker": "w0", "lines": 7}
    assert topology.asked == [first, {"worker": "w0", "offset": 400}, first, {"worker": "w0", "offset": 90}]


def test_a_worker_whose_host_is_not_known_for_a_moment_has_not_moved(capsys: Shown) -> None:
    topology = Topology(said("one\n", 4), said("", 4, ""), said("two\n", 8))
    log = reader(topology)
    for _ in range(3):
        log.look()
    assert capsys.readouterr().out == "one\ntwo\n"
    assert topology.asked[1:] == [{"worker": "w0", "offset": 4}] * 2


def test_a_line_is_shown_when_its_end_has_come(capsys: Shown) -> None:
    log = reader(Topology(said("one\ntw", 6), said("o", 7), said("\nthree\n\nfo", 18), said("ur\n", 21)))
    shown = []
    for _ in range(4):
        log.look()
        shown.append(capsys.readouterr().out)
    assert shown == ["one\n", "", "two\nthree\n\n", "four\n"]


def test_what_never_gets_an_end_is_shown_at_last(capsys: Shown) -> None:
    log = reader(Topology(said("one\ntw", 6)), as_json=True)
    log.look()
    log.finish()
    log.finish()
    assert [json.loads(line)["text"] for line in capsys.readouterr().out.splitlines()] == ["one", "tw"]


def test_the_unfinished_line_of_the_old_host_is_not_continued_by_the_new_one(capsys: Shown) -> None:
    log = reader(Topology(said("tw", 2), said("x", 9, "node-2"), said("other\n", 6, "node-2")), as_json=True)
    log.look()
    log.look()
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["host"], one["text"]) for one in told] == [("node-1", "tw"), ("node-2", "other")]
