"""DABS-Storm's three topologies: what they store, and what an event costs them."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pasps.errors import PaspsError
from pasps.testing import CompletedTopology, complete_topology
from tests.unit.topologies.parts import rows_of
from topologies.complex_sensitive import complex_sensitive, opinions
from topologies.complex_sensitive.complex_sensitive import ComplexSensitive
from topologies.complex_sensitive.expected import expected_keys as complex_keys
from topologies.simple_insensitive.expected import expected_keys as insensitive_keys
from topologies.simple_insensitive.simple_insensitive import SimpleInsensitive
from topologies.simple_sensitive import sensitive
from topologies.simple_sensitive.expected import expected_keys as sensitive_keys
from topologies.simple_sensitive.sensitive import MOST_VALUE, zipf_value
from topologies.simple_sensitive.simple_sensitive import SimpleSensitive
from topologies.work import work

TOTAL = 300
SAID = '{"user": 1, "age": 20, "code": 3, "topic": "energy", "opinion": 0.5}'
WRONG_OPINIONS = [
    ('"user": 1', '"user": null', "expected 'user' to be a whole number from 0"),
    ('"user": 1', '"user": true', "expected 'user'"),
    ('"age": 20', '"age": Infinity', "expected 'age' to be a whole number from 0 to 149"),
    ('"age": 20', '"age": 200', "expected 'age'"),
    ('"age": 20', '"age": "20"', "expected 'age'"),
    ('"code": 3', '"code": 257', "expected 'code' to be a whole number from 1 to 256"),
    ('"energy"', "7", "expected 'topic' to be text"),
    ('"energy"', r'"a\u0000"', "expected 'topic' to be text"),
    ('"energy"', r'"\ud800"', "expected 'topic' to be text"),
    ("0.5", "NaN", "expected 'opinion' to be a number from -1 to 1"),
    ("0.5", "1.1", "expected 'opinion'"),
    ("0.5", "false", "expected 'opinion'"),
    (', "opinion": 0.5', "", "expected an object with user, age, code, topic, opinion"),
]


def run(topology: Any, folder: Path, **config: Any) -> CompletedTopology:
    # all are due at once, for the source waits by the machine's clock
    options = {"trace.rows": [TOTAL], "trace.step.seconds": 1e-6, "work.rounds": 1, "sql.url": f"sqlite:///{folder}/stored.db"}
    return complete_topology(topology, config={**options, **config})


def stored(folder: Path, columns: str, table: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in rows_of(folder, f"SELECT {columns} FROM {table}")]


def test_every_event_of_the_insensitive_topology_is_stored(tmp_path: Path) -> None:
    run(SimpleInsensitive, tmp_path)
    rows = stored(tmp_path, "event, value, result", "insensitive_results")
    assert len(rows) == TOTAL
    assert {(event,) for event, _, _ in rows} == insensitive_keys(TOTAL)
    assert all(result == work(1, value) for _, value, result in rows)


def test_every_event_of_the_sensitive_topology_is_stored(tmp_path: Path) -> None:
    run(SimpleSensitive, tmp_path)
    rows = stored(tmp_path, "event, value, result", "sensitive_results")
    assert len(rows) == TOTAL
    assert {(event,) for event, _, _ in rows} == sensitive_keys(TOTAL)
    assert all(result == work(value, value) for _, value, result in rows)


@pytest.mark.parametrize("seed", [1, 2])
def test_each_strong_opinion_is_stored_by_city_and_by_age(tmp_path: Path, seed: int) -> None:
    run(ComplexSensitive, tmp_path, **{"events.seed": seed})
    rows = stored(tmp_path, "event, branch, subgroup, topic, verdict", "opinions")
    assert len(rows) == len({row[:2] for row in rows})
    assert {row[:2] for row in rows} == complex_keys(TOTAL, seed)
    for event, branch, subgroup, topic, verdict in rows:
        said = opinions.opinion_of(event, seed)
        assert subgroup == (opinions.city_of(said.code) if branch == "city" else opinions.age_group(said.age))
        assert (topic, verdict) == (said.topic, "for" if said.opinion > 0 else "against")
    assert len(rows) < 2 * TOTAL


def test_values_follow_zipfs_law() -> None:
    dice = random.Random(3)
    drawn = Counter(zipf_value(dice) for _ in range(50_000))
    assert drawn[1] / drawn[4] == pytest.approx(4**1.5, rel=0.1)
    assert set(drawn) <= set(range(1, MOST_VALUE + 1))
    even = Counter(zipf_value(dice, 0.0) for _ in range(50_000))
    assert len(even) == MOST_VALUE
    assert max(even.values()) < 1.5 * 50_000 / MOST_VALUE


def test_work_depends_on_every_round_and_on_the_value() -> None:
    assert len({work(rounds, value) for rounds in range(1, 20) for value in range(20)}) == 19 * 20


@pytest.mark.parametrize("module", [sensitive, complex_sensitive])
def test_what_an_event_costs_grows_with_its_value(module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    # the rounds are what is wanted here, and they are not in the result
    monkeypatch.setattr(module, "work", lambda rounds, value: asked.append((rounds, value)) or "")
    run(SimpleSensitive if module is sensitive else ComplexSensitive, tmp_path, **{"work.rounds": 7})
    assert len({value for _, value in asked}) > 10
    assert all(rounds == 7 * value for rounds, value in asked)


def test_opinions_of_a_file(tmp_path: Path) -> None:
    lines = [{"user": 1, "age": 20, "code": 3, "topic": "energy", "opinion": 0.9}]
    lines += [{**lines[0], "topic": "weather"}, {**lines[0], "opinion": 0.1}]
    (tmp_path / "said").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    run(ComplexSensitive, tmp_path, **{"trace.rows": [len(lines)], "events.file": str(tmp_path / "said")})
    assert sorted(stored(tmp_path, "event, branch, subgroup", "opinions")) == [(0, "age", "young"), (0, "city", "west-003")]


@pytest.mark.parametrize(
    ("topology", "line", "said"),
    [
        (SimpleInsensitive, "ten", "invalid literal"),
        (SimpleInsensitive, str(1 << 63), "expected a whole number from -9223372036854775807 to 9223372036854775807"),
        (SimpleInsensitive, str(-1 << 70), "expected a whole number from"),
        (SimpleSensitive, "0", "expected a value from 1 to 256"),
        (ComplexSensitive, "{", "Expecting"),
        (ComplexSensitive, "[" * 100_000, "it is nested too deeply"),
        (ComplexSensitive, "[1]", "expected an object with user, age, code, topic, opinion"),
        *((ComplexSensitive, SAID.replace(old, new), said) for old, new, said in WRONG_OPINIONS),
    ],
)
def test_a_wrong_line_is_named(topology: Any, line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text(f"{line}\n")
    with pytest.raises(PaspsError, match="line 1: ") as caught:
        run(topology, tmp_path, **{"events.file": str(tmp_path / "lines")})
    assert said in str(caught.value)


@pytest.mark.parametrize(("key", "value"), [("work.rounds", -1), ("work.rounds", "many"), ("values.skew", -0.5)])
def test_a_wrong_key_is_named(key: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(PaspsError, match=key):
        run(SimpleSensitive, tmp_path, **{key: value})


@pytest.mark.parametrize(("topology", "column"), [(SimpleSensitive, 1), (ComplexSensitive, 3)])
def test_values_are_drawn_by_the_skew_that_is_wanted(topology: Any, column: int, tmp_path: Path) -> None:
    def most_frequent(**config: Any) -> int:
        rows = run(topology, tmp_path, **config).rows("source")
        return Counter(row[column] for row in rows).most_common(1)[0][1]

    assert most_frequent() > TOTAL / 4
    assert most_frequent(**{"values.skew": 0}) < TOTAL / 20


def test_a_wrong_skew_of_the_complex_topology_is_named(tmp_path: Path) -> None:
    with pytest.raises(PaspsError, match=r"component 'source'.*values\.skew"):
        run(ComplexSensitive, tmp_path, **{"values.skew": True})
