"""The execution-time file: read strictly, and held against the topology as it is now."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.api import Bolt, Spout, Topology, Tuple, bolt
from pasps.api.source import source_hash
from pasps.control.et_file import (
    EtFile,
    ExecutionTimes,
    OperatorTimes,
    et_path,
    load_execution_times,
    parse,
    write_execution_times,
    written,
)
from pasps.errors import InvalidError


class Tweets(Spout):
    outputs = ["text"]

    def next_tuple(self) -> None: ...


@bolt(outputs=["score"])
def sentiment(text: str) -> tuple[int]:
    return (len(text),)


class Store(Bolt):
    execution = "thread"

    def process(self, tup: Tuple) -> None: ...


class Application(Topology):
    tweets = Tweets.spec()
    sentiment = sentiment.spec(inputs=[tweets], pool=8)
    store = Store.spec(inputs=[sentiment], pool=8)


BLUEPRINT = Application.blueprint()
MEASURED = EtFile(
    "application",
    {
        "sentiment": OperatorTimes(
            et_seconds=0.185,
            execution="inline",
            source=source_hash(BLUEPRINT.components["sentiment"]),
            samples=1000,
            mean_seconds=0.19,
            standard_deviation_seconds=0.02,
            p50_seconds=0.18,
            p95_seconds=0.22,
            p99_seconds=0.3,
            varies=0.1,
            selectivity={"default": 1.0},
        ),
        "store": OperatorTimes(0.01, "thread", source_hash(BLUEPRINT.components["store"])),
    },
    made_at="2025-03-04T14:03:05Z",
    made_with={"python": "3.11.7", "cores": 2},
)


def loaded(tmp_path: Path, file: EtFile) -> ExecutionTimes:
    path = et_path(tmp_path / "application.py")
    write_execution_times(path, file)
    return load_execution_times(path, BLUEPRINT)


def with_entry(name: str, **changed: Any) -> EtFile:
    return replace(MEASURED, operators={**MEASURED.operators, name: replace(MEASURED.operators[name], **changed)})


def test_it_lies_beside_the_topology_file() -> None:
    assert et_path("apps/tweets.py") == et_path(Path("apps/tweets.py")) == Path("apps/tweets.py.et.json")


def test_without_a_file_nothing_is_known(tmp_path: Path) -> None:
    assert load_execution_times(tmp_path / "no.py.et.json", BLUEPRINT) == ExecutionTimes({}, ())


def test_what_was_measured_of_this_code_counts(tmp_path: Path) -> None:
    assert loaded(tmp_path, MEASURED) == ExecutionTimes({"sentiment": 0.185, "store": 0.01}, ())
    assert os.listdir(tmp_path) == ["application.py.et.json"], "nothing is left beside it"


def test_the_least_that_one_writes_by_hand_counts() -> None:
    by_hand = '{"schema": "pasps.et/1", "topology": "t", "operators": {"store": {"et_seconds": 1, "execution": "thread", "source": null}}}'
    assert parse(by_hand, "t.py.et.json").operators == {"store": OperatorTimes(1.0, "thread", None)}


def test_an_entry_of_other_code_is_ignored_with_a_warning(tmp_path: Path) -> None:
    times = loaded(tmp_path, with_entry("store", source="sha256:" + "0" * 64))
    assert times.seconds == {"sentiment": 0.185}
    (warning,) = times.warnings
    assert "application.py.et.json: bolt 'store': its source is not the one that was measured, so its entry is ignored" in warning
    assert warning.endswith("correct it by hand, or remove it: et is then what is measured while the topology runs")


def test_without_a_hash_the_source_is_not_checked(tmp_path: Path) -> None:
    assert loaded(tmp_path, with_entry("store", source=None)).seconds["store"] == 0.01


def test_an_entry_measured_in_another_way_of_execution_is_ignored(tmp_path: Path) -> None:
    times = loaded(tmp_path, with_entry("store", execution="inline", source=None))
    assert "store" not in times.seconds
    assert "measured as 'inline', but it runs as 'thread' now" in times.warnings[0]


def test_strangers_and_missing_bolts_are_named(tmp_path: Path) -> None:
    entry = MEASURED.operators["store"]
    times = loaded(tmp_path, replace(MEASURED, operators={"store": entry, "sentimant": entry, "zzz": entry, "tweets": entry}))
    assert times.seconds == {"store": 0.01}
    nearest, unlike, missing = times.warnings
    assert "operator 'sentimant' is none of this topology, so its entry is ignored; did you mean 'sentiment'?" in nearest
    assert "operator 'zzz'" in unlike
    assert "there are sentiment, store" in unlike
    assert "bolt 'sentiment': there is no entry for it" in missing


def entry(**changed: Any) -> dict[str, Any]:
    return {**asdict(MEASURED.operators["store"]), **changed}


def without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {field: value for field, value in fields.items() if field != name}


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        (entry(et_seconds=0), "field 'et_seconds': expected seconds above 0, got 0;"),
        (entry(et_seconds=-0.5), "expected seconds above 0, got -0.5;"),
        (entry(et_seconds=float("nan")), "expected seconds above 0, got nan;"),
        (entry(et_seconds=float("inf")), "expected seconds above 0, got inf;"),
        (entry(et_seconds="0.1"), "expected seconds above 0, got '0.1';"),
        (entry(et_seconds=True), "expected seconds above 0, got True;"),
        (entry(et_seconds=10**400), "expected seconds above 0, got 1000"),
        (without(entry(), "et_seconds"), "field 'et_seconds': expected seconds above 0, got nothing;"),
        (without(entry(), "execution"), "field 'execution': expected one of 'inline', 'async' and 'thread', got nothing;"),
        (entry(execution=["inline"]), "expected one of 'inline', 'async' and 'thread', got ['inline'];"),
        (without(entry(), "source"), "field 'source': expected 'sha256:' and 64 hexadecimal digits, or null, got nothing;"),
        (entry(source="abc"), "or null, got 'abc';"),
        (entry(samples=0), "field 'samples': expected a whole number of at least 1, or null, got 0;"),
        (entry(samples=1.5), "got 1.5;"),
        (entry(p99_seconds=-1), "field 'p99_seconds': expected seconds of at least 0, or null, got -1;"),
        (entry(varies="a lot"), "field 'varies': expected a number of at least 0, or null, got 'a lot';"),
        (entry(selectivity={"default": -1}), "field 'selectivity': expected tuples for each event by stream"),
        (entry(et_second=1), "field 'et_second': expected no such field, got 1; did you mean 'et_seconds'?"),
        ([0.1], "expected an object with et_seconds, execution and source, got [0.1];"),
    ],
)
def test_a_wrong_entry_is_refused_by_file_operator_and_field(operator: Any, words: str) -> None:
    text = json.dumps({"schema": "pasps.et/1", "topology": "t", "operators": {"store": operator}})
    with pytest.raises(InvalidError) as refused:
        parse(text, "t.py.et.json")
    assert str(refused.value).startswith("t.py.et.json: operator 'store': ")
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected an object of schema 'pasps.et/1' as JSON, got ''"),
        ("{", "expected an object of schema 'pasps.et/1' as JSON, got '{'"),
        ("[" * 100_000, "expected an object of schema 'pasps.et/1' as JSON, got '[[["),
        ("[]", "field 'schema': expected 'pasps.et/1', got list;"),
        ("{}", "field 'schema': expected 'pasps.et/1', got None;"),
        ('{"schema": "pasps.et/2"}', "field 'schema': expected 'pasps.et/1', got 'pasps.et/2'; make the file again"),
        ('{"schema": "pasps.et/1", "operators": {}}', "field 'topology': expected the topology's name, got nothing;"),
        (
            '{"schema": "pasps.et/1", "topology": "t"}',
            "field 'operators': expected an object with an entry for each operator, got nothing;",
        ),
        ('{"schema": "pasps.et/1", "topology": "t", "operators": {}, "made_at": "today"}', "field 'made_at': expected an ISO time"),
        ('{"schema": "pasps.et/1", "topology": "t", "operators": {}, "made_with": {"a": [1]}}', "field 'made_with': expected an object"),
    ],
)
def test_a_wrong_file_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidError) as refused:
        parse(text, "t.py.et.json")
    assert f"t.py.et.json: {words}" in str(refused.value)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="which cannot be read"):
        load_execution_times(tmp_path, BLUEPRINT)
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidError, match="which cannot be read"):
        load_execution_times(tmp_path / "latin.json", BLUEPRINT)


def test_what_would_be_refused_is_not_written_and_the_old_file_stands(tmp_path: Path) -> None:
    loaded(tmp_path, MEASURED)
    with pytest.raises(InvalidError, match="operator 'store': field 'et_seconds': expected seconds above 0, got nan"):
        loaded(tmp_path, with_entry("store", et_seconds=float("nan")))
    assert load_execution_times(et_path(tmp_path / "application.py"), BLUEPRINT).seconds["store"] == 0.01


seconds = st.floats(min_value=0, max_value=1e6)
operators = st.builds(
    OperatorTimes,
    et_seconds=st.floats(min_value=1e-9, max_value=1e6),
    execution=st.sampled_from(["inline", "async", "thread"]),
    source=st.none() | st.binary(min_size=32, max_size=32).map(lambda digest: f"sha256:{digest.hex()}"),
    samples=st.none() | st.integers(1, 10**9),
    mean_seconds=st.none() | seconds,
    standard_deviation_seconds=st.none() | seconds,
    p50_seconds=st.none() | seconds,
    p95_seconds=st.none() | seconds,
    p99_seconds=st.none() | seconds,
    varies=st.none() | seconds,
    selectivity=st.dictionaries(st.text(), seconds, max_size=3),
)


@given(
    st.builds(
        EtFile,
        topology=st.text(min_size=1),
        operators=st.dictionaries(st.text(), operators, max_size=3),
        made_at=st.none() | st.datetimes().map(lambda time: time.isoformat()),
        made_with=st.dictionaries(st.text(), st.integers() | st.text(), max_size=3),
    )
)
def test_what_is_written_is_read_as_it_was(file: EtFile) -> None:
    assert parse(written(file), "t.py.et.json") == file
