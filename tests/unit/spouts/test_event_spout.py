"""The spout of events: which ones, how many, at which rate, from where."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from pasps import Bolt, Topology, Tuple
from pasps.errors import InvalidError, PaspsError
from pasps.spouts import EventSpout
from pasps.testing import StepRun


class Made(EventSpout):
    outputs = ["event", "text"]

    def synthetic(self, number: int) -> tuple[str]:
        return (f"{self.seed}/{number}",)

    def from_line(self, line: str) -> tuple[str]:
        if line.startswith("?"):
            raise ValueError("expected no question")
        return (line,)


class Fails(Bolt):
    """Every event fails once."""

    outputs = ["event", "text"]

    def initialize(self, conf: dict[str, Any], ctx: object) -> None:
        self.seen: set[int] = set()

    def process(self, tup: Tuple) -> None:
        if tup.values[0] not in self.seen:
            self.seen.add(tup.values[0])
            raise OSError("once")
        self.emit(tup.values)


class Told(Topology):
    made = Made.spec(par=2)
    fails = Fails.spec(inputs=[made])


def emitted(trace: Mapping[str, Any] = MappingProxyType({}), **keys: Any) -> list[tuple[Any, ...]]:
    config = {**trace, **{f"events.{name}": value for name, value in keys.items()}}
    with StepRun(Told, config={"topology.message.timeout.secs": 30, **config}) as run:
        Made.clock = run.clock
        run.run_to_end(1000.0)
        return sorted(run.emitted["fails"]["default"])


def refused(**keys: Any) -> str:
    with pytest.raises(PaspsError) as caught:
        emitted(**keys)
    return str(caught.value)


def test_synthetic_events_are_the_same_when_they_are_emitted_again() -> None:
    assert emitted(total=70, seed=5) == [(number, f"5/{number}") for number in range(70)]


def test_events_become_due_at_the_rate() -> None:
    with StepRun(Told, config={"events.rate": 50, "events.kind": "steady"}) as run:
        Made.clock = run.clock
        for _ in range(100):
            run.run_until_idle()
            run.advance(0.1)
        due = len({row[0] for row in run.emitted["made"]["default"]})
    assert 400 < due < 600


def seconds_until_the_end(**keys: Any) -> float:
    with StepRun(Told, config={f"events.{name}": value for name, value in keys.items()}) as run:
        Made.clock = run.clock
        begin = run.clock.now()
        run.run_to_end(5000.0)
        return run.clock.now() - begin


@pytest.mark.parametrize(
    ("kind", "total", "rate"),
    [
        ("steady", 300, 10),
        ("diurnal", 300, 10),
        ("spiky", 40, 100),
        ("erratic", 100, 7),
        ("progressive", 90, 3),
        ("progressive", 1300, 1),
    ],
)
def test_the_rate_is_the_mean_of_the_whole_run(kind: str, total: int, rate: float) -> None:
    assert seconds_until_the_end(kind=kind, total=total, rate=rate) == pytest.approx(total / rate, rel=0.1, abs=2)


def test_events_that_are_further_apart_than_a_pass_come_one_by_one() -> None:
    assert seconds_until_the_end(kind="steady", total=3, rate=0.0015) == pytest.approx(2 / 0.0015, abs=2)


def test_a_file_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"one\r\n\n  \ntwo \xff\nthree")
    assert emitted(file=str(tmp_path / "lines")) == [(0, "one"), (1, "two �"), (2, "three")]


def test_a_file_is_read_again_until_there_are_as_many_events_as_wanted(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\ntwo\n")
    assert emitted(file=str(tmp_path / "lines"), total=5) == [(0, "one"), (1, "two"), (2, "one"), (3, "two"), (4, "one")]


def test_a_line_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\n\n?two\n")
    found = refused(file=str(tmp_path / "lines"))
    assert "lines', line 3: expected no question, got '?two'" in found


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"rate": 0}, "'events.rate' must be a number above 0, got 0"),
        ({"rate": "fast"}, "'events.rate' must be"),
        ({"rate": 1e-9}, "'events.rate' must be at least one event a day"),
        ({"total": 0}, "'events.total' must be an integer from 1 to 9223372036854775807, got 0"),
        ({"seed": 1.5}, "'events.seed' must be an integer from 0 to 9223372036854775807, got 1.5"),
        ({"kind": "odd", "total": 5}, "'events.kind'"),
        ({"file": "/nowhere/at/all"}, "events.file '/nowhere/at/all' cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_key_is_named(keys: dict[str, Any], said: str) -> None:
    assert said in refused(**keys)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("\n\n")
    assert "expected at least one line that is not blank" in refused(file=str(tmp_path / "lines"))


@pytest.mark.parametrize(
    "trace",
    [
        {"trace.rows": [10]},
        {"trace.rows": [1000]},
        {"trace.rows": [0, 7, 5], "trace.scale": 0.5},
        {"trace.rows": [4], "trace.repeat": True},
        {"trace.scale": 0.5},
        {"trace.scale": 3},
        {"trace.speed": 2},
        {"trace.step.seconds": 0.1},
    ],
)
@pytest.mark.parametrize("total", [1, 33, 100])
def test_there_are_as_many_events_as_wanted_whatever_the_trace(trace: dict[str, Any], total: int) -> None:
    assert emitted(trace, total=total) == [(number, f"1/{number}") for number in range(total)]


def test_a_trace_that_is_not_to_repeat_ends_before_the_total() -> None:
    assert len(emitted({"trace.rows": [10], "trace.repeat": False}, total=33)) == 10
    assert len(emitted({"trace.rows": [10], "trace.repeat": False}, total=3)) == 3


def test_without_a_total_a_trace_ends_as_it_says() -> None:
    assert len(emitted({"trace.rows": [10, 5]})) == 15


@pytest.mark.parametrize("wrong", ["events.totl", "event.total"])
def test_a_misspelled_key_is_refused_with_the_nearest_one(wrong: str) -> None:
    with pytest.raises(PaspsError, match=f"'{wrong}' is unknown; the nearest known name is 'events.total'"):
        emitted({wrong: 10}, total=1)


class Keep(Bolt):
    outputs = ["event", "value"]

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


def kept(spout: type[EventSpout], **keys: Any) -> list[tuple[Any, ...]]:
    class Kept(Topology):
        events = spout.spec()
        keep = Keep.spec(inputs=[events])

    with StepRun(Kept, config=keys) as run:
        spout.clock = run.clock
        run.run_to_end(1000.0)
        return sorted(run.emitted["keep"]["default"])


class Lines(EventSpout):
    """As it is, with a clock of this test."""


class Visits(EventSpout):
    outputs = ["event", "path"]

    def from_line(self, line: str) -> list[str]:
        return [json.loads(line)["path"]]


def test_as_it_is_it_replays_the_lines_of_a_file_at_the_rate_of_a_trace(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\n\ntwo\n")
    keys = {"events.file": str(tmp_path / "lines"), "trace.rows": [2, 0, 3]}
    assert kept(Lines, **keys) == [(0, "one"), (1, "two"), (2, "one"), (3, "two"), (4, "one")]


def test_own_records_take_a_from_line_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "visits.jsonl").write_text('{"path": "/"}\n{"path": "/cart"}\n')
    assert kept(Visits, **{"events.file": str(tmp_path / "visits.jsonl")}) == [(0, "/"), (1, "/cart")]


def test_without_a_file_somebody_must_make_the_events() -> None:
    with pytest.raises(InvalidError, match=r"component 'events': expected 'events.file', .* defines synthetic\(number\)"):
        kept(Visits, **{"events.total": 3})


def test_a_line_with_too_many_values_is_refused_at_the_start(tmp_path: Path) -> None:
    class Both(Visits):
        def from_line(self, line: str) -> list[str]:
            return [line, line]

    (tmp_path / "lines").write_text("one\n")
    with pytest.raises(InvalidError, match=r"lines', line 1: expected values for \['path'\] from from_line, got 2: \('one', 'one'\)"):
        kept(Both, **{"events.file": str(tmp_path / "lines")})


def test_a_subclass_has_a_seed_of_its_own_until_a_key_says_another() -> None:
    class Seeded(EventSpout):
        outputs = ["event", "value"]
        seed = 7

        def synthetic(self, number: int) -> list[int]:
            return [self.seed]

    assert kept(Seeded, **{"events.total": 1}) == [(0, 7)]
    assert kept(Seeded, **{"events.total": 1, "events.seed": 9}) == [(0, 9)]
