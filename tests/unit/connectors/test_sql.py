"""The sink in a topology: a row for each event, whatever comes twice, and a bad one harms nobody else; with SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pasps import EndOfInput, Grouping, Spout, Topology, Tuple
from pasps.connectors.sql import SqlSink
from pasps.control.monitor import shape_of
from pasps.errors import InvalidError
from pasps.testing import PAUSE, StepOptions, StepRun, complete_topology


class Tweets(Spout):
    outputs = ["event", "label", "score"]

    def next_tuple(self) -> None:
        raise EndOfInput


class Store(SqlSink):
    table = "tweets"
    columns = {"event": int, "label": str, "score": float}
    key = ("event",)


class Labelled(Topology):
    tweets = Tweets.spec()
    store = Store.spec(inputs=[tweets], par=2, pool=4)


class Words(SqlSink):
    """As many rows as there are words; and what makes it stumble."""

    table = "words"
    columns = {"event": int, "place": int, "word": str}
    key = ("event", "place")

    def rows(self, tup: Tuple) -> Iterator[Mapping[str, Any]]:
        words = tup.values.label.split(" ")
        for place, word in enumerate(words):
            yield {"event": tup.values.event, "place": place, "word": 1 / tup.values.score if word == "divide" else word}
        if "list" in words:
            yield [1, 2, 3]  # type: ignore[misc]


class Split(Topology):
    tweets = Tweets.spec()
    words = Words.spec(inputs={tweets: Grouping.fields("event")}, par=2, pool=4)


class KeyedByEvent(Topology):
    tweets = Tweets.spec()
    store = Store.spec(inputs={tweets: Grouping.fields("event")}, par=2, pool=4)


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    return {"sql.url": f"sqlite:///{tmp_path}/a.db"}


def stored(tmp_path: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(tmp_path / "a.db")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_every_event_is_one_row(config: dict[str, Any], tmp_path: Path) -> None:
    rows = [[number % 50, f"label {number % 50}", number % 50 / 4] for number in range(300)]
    done = complete_topology(Labelled, {"tweets": rows}, config=config, workers=2)
    assert (len(done.acked["tweets"]), done.failed["tweets"], done.errors) == (300, [], [])
    assert stored(tmp_path, "SELECT * FROM tweets ORDER BY event") == [(n, f"label {n}", n / 4) for n in range(50)]


@pytest.mark.parametrize(
    ("url", "useful"), [(None, 1), ("sqlite:////data/a.db", 1), ("postgresql://me@host/db", None), ("postgresql+psycopg://", None)]
)
def test_elasticity_gives_one_replica_to_a_sink_of_sqlite(url: str | None, useful: int | None) -> None:
    assert Store.useful_replicas({"sql.url": url}) == useful
    (shape,) = shape_of(Labelled.blueprint(config={} if url is None else {"sql.url": url})).bolts
    assert shape.pool == (useful or 4)


def test_an_event_may_have_several_rows_or_none(config: dict[str, Any], tmp_path: Path) -> None:
    complete_topology(Split, {"tweets": [[1, "to be or", 1.0], [2, "not", 1.0], [1, "to be or", 1.0]]}, config=config)
    assert stored(tmp_path, "SELECT event, word FROM words ORDER BY event, place") == [(1, "to"), (1, "be"), (1, "or"), (2, "not")]


def test_a_row_that_does_not_fit_is_put_aside_and_said(config: dict[str, Any], tmp_path: Path) -> None:
    done = complete_topology(Labelled, {"tweets": [[1, "good", 1.0], [2, 3, 1.0], [None, "no key", 1.0]]}, config=config)
    assert (len(done.acked["tweets"]), done.failed["tweets"]) == (3, [])
    assert stored(tmp_path, "SELECT event FROM tweets") == [(1,)]
    assert stored(tmp_path, "SELECT row_key, column_name FROM tweets_refused ORDER BY 1") == [("event=2", "label"), ("event=None", "event")]
    said = "table 'tweets', row event=2, column 'label': the row is refused: expected str, got 3 (int); it is kept in table tweets_refused"
    assert said in [error.text for error in done.errors]


def test_a_row_that_nothing_can_print_is_put_aside_too(config: dict[str, Any], tmp_path: Path) -> None:
    done = complete_topology(Labelled, {"tweets": [[1, "good", 1.0], [10**5000, "good", 1.0]]}, config=config)
    assert (len(done.acked["tweets"]), done.failed["tweets"]) == (2, [])
    assert stored(tmp_path, "SELECT event FROM tweets") == [(1,)]
    ((values,),) = stored(tmp_path, "SELECT row_values FROM tweets_refused")
    assert values.startswith("{'event': 0x")


def test_what_cannot_be_put_aside_fails_alone(config: dict[str, Any], tmp_path: Path) -> None:
    class One(Topology):
        tweets = Tweets.spec()
        store = Store.spec(inputs=[tweets])

    rows: list[Any] = [[1, "good", 1.0], PAUSE(1), [2, 3, 1.0], [4, "good", 1.0]]
    with StepRun(One, 1, inputs={"tweets": rows}, config=config) as run:
        run.run_until_idle()
        stored(tmp_path, "DROP TABLE tweets_refused")
        run.run_to_end()
        assert (sorted(run.verdicts.acked["tweets"]), run.verdicts.failed["tweets"]) == ([0, 2], [1])
        (error,) = run.journal.of("error")
    assert "got 3 (int); its tuple failed, for it cannot be kept: component 'store': sqlite:///" in error.text
    assert error.text.endswith("no such table: tweets_refused")
    assert stored(tmp_path, "SELECT event FROM tweets") == [(1,), (4,)]


def test_or_its_tuple_alone_fails(config: dict[str, Any], tmp_path: Path) -> None:
    config["sql.refused"] = "fail"
    done = complete_topology(Labelled, {"tweets": [[1, "good", 1.0], [2, 3, 1.0], [4, "good", 1.0]]}, config=config)
    assert (sorted(done.acked["tweets"]), done.failed["tweets"]) == ([0, 2], [1])
    assert stored(tmp_path, "SELECT event FROM tweets") == [(1,), (4,)]
    assert [error.text.endswith("got 3 (int); its tuple failed") for error in done.errors] == [True]
    assert stored(tmp_path, "SELECT name FROM sqlite_master WHERE name = 'tweets_refused'") == []


def test_a_tuple_whose_rows_cannot_be_made_fails_alone(config: dict[str, Any], tmp_path: Path) -> None:
    rows = [[1, "good", 0.0], [2, "divide", 0.0], [3, "list", 0.0], [4, "good", 0.0]]
    done = complete_topology(Split, {"tweets": rows}, config=config)
    assert (sorted(done.acked["tweets"]), sorted(done.failed["tweets"])) == ([0, 3], [1, 2])
    assert stored(tmp_path, "SELECT event FROM words ORDER BY 1") == [(1,), (4,)]
    said = "\n".join(error.text for error in done.errors)
    assert "table 'words': rows() failed for a tuple with event=2\n" in said
    assert "values(" not in said, "no value but the key"
    assert "ZeroDivisionError" in said
    assert 'rows() must give dicts such as {"event": 17}, got a value of type list' in said


def test_a_second_run_into_the_same_table_is_warned_once(config: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        caplog.clear()
        complete_topology(Labelled, {"tweets": [[1, "good", 1.0]]}, config=config, workers=2)
    assert [record.levelname for record in caplog.records if "has rows already, 1:" in record.message] == ["WARNING"]


def test_fields_that_are_missing_are_said_at_the_start(config: dict[str, Any]) -> None:
    class Short(Store):
        columns = {"event": int, "label": str, "points": float}

    class Mistaken(Topology):
        tweets = Tweets.spec()
        store = Short.spec(inputs=[tweets])

    with pytest.raises(
        InvalidError, match=r"component 'store': expected fields event, label, points in .* got event, label, score; rename"
    ):
        complete_topology(Mistaken, {"tweets": []}, config=config)


def test_a_replica_that_is_put_out_has_no_connection(config: dict[str, Any]) -> None:
    class One(Topology):
        tweets = Tweets.spec()
        store = Store.spec(inputs=[tweets])

    with StepRun(One, 1, inputs={"tweets": [[1, "good", 1.0], PAUSE(60)]}, config=config) as run:
        run.run_until_idle()
        (worker,) = run.workers.values()
        (bolt,) = worker.residents.slots.values()
        engine = vars(vars(bolt.instance)["_writer"])["_engine"]
        assert engine.pool.checkedin() == 1
        bolt.instance.deactivate()
        assert engine.pool.checkedin() == 0


@pytest.mark.parametrize("topology", [Labelled, KeyedByEvent])
def test_a_worker_that_takes_a_sink_over_needs_no_database_for_that(topology: type[Topology], tmp_path: Path) -> None:
    here, away = tmp_path / "here", tmp_path / "away"
    here.mkdir()
    config = {"sql.url": f"sqlite:///{here}/a.db"}
    rows: list[Any] = [*([number, "good", 1.0] for number in range(20)), PAUSE(1), *([number, "good", 1.0] for number in range(20, 40))]
    with StepRun(topology, 2, inputs={"tweets": rows}, config=config, options=StepOptions(replays=1000)) as run:
        run.run_until_idle()
        here.rename(away)
        for worker in ("w0", "w1"):
            run.kill(worker)
            run.settle()
            run.restart(worker)
            run.settle()
        while not run.journal.of("error"):
            run.step()
            run.wait_outside()
        away.rename(here)
        run.run_to_end()
    assert all("there is no directory" in report.text for report in run.journal.of("error"))
    assert stored(here, "SELECT count(*) FROM tweets") == [(40,)]


def test_a_keyed_sink_moves_to_another_worker_and_writes_on(config: dict[str, Any], tmp_path: Path) -> None:
    def part(first: int) -> list[Any]:
        return [*([number, "a b", 1.0] for number in range(first, first + 40)), PAUSE(1)]

    with StepRun(Split, 2, inputs={"tweets": [*part(0), *part(40), *part(80)]}, config=config) as run:
        run.run_until_idle()
        run.set_active("words", 1)
        run.advance(1.5)
        run.set_active("words", 4)
        run.run_to_end()
        assert len(run.journal.of("moved")) > 2
        assert (len(run.verdicts.acked["tweets"]), run.journal.of("error")) == (120, [])
    assert stored(tmp_path, "SELECT count(*) FROM words") == [(240,)]
