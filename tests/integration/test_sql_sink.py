"""The SQL sink on real databases: SQLite's file and a PostgreSQL server, which is killed; and in workers, which are killed too."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import psycopg
import pytest

from pasps import LocalCluster, RunningTopology, Topology
from pasps.connectors.sql import SqlError, SqlSink
from pasps.connectors.sql_rows import Layout, fitted
from pasps.errors import InvalidError, WorkerStartError
from pasps.spouts import TraceSpout
from tests.integration.postgres_server import PASSWORD, PostgresServer
from tests.integration.running import finish, kill, until, until_replaced
from tests.integration.sql_databases import SHORT, Database, Make, making, numbered

COLUMNS: dict[str, type] = {"event": int, "label": str, "score": float, "good": bool, "raw": bytes, "at": datetime}
LAYOUT = Layout("tweets", COLUMNS, ("event",))
EVENTS = [1_500, 500]
"""In the first and the second second."""
TOTAL = sum(EVENTS)


@pytest.fixture(scope="module")
def server(postgres_server: PostgresServer) -> PostgresServer:
    with psycopg.connect(postgres_server.address("postgres"), autocommit=True) as connection:
        connection.execute(psycopg.sql.SQL("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD {}").format(PASSWORD))
    return postgres_server


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """An empty one."""
    if request.param == "sqlite":
        return Database("a", f"sqlite:///{tmp_path}/a.db")
    found: Database = request.getfixturevalue("postgres")
    return found


@pytest.fixture
def make() -> Iterator[Make]:
    yield from making()


def test_values_come_back_as_they_were_written_and_only_once(database: Database, make: Make) -> None:
    writer = make(database, LAYOUT)
    writer.prepare()
    noon = datetime(2024, 2, 29, 12, 0, 0, 250_000, tzinfo=timezone(timedelta(hours=-3)))
    row = {"event": -(2**63), "label": "ñandú \U0001f9a4 'quoted' %s :x", "score": 1e-300, "good": True, "raw": b"\0\xff", "at": noon}
    rows = [fitted(LAYOUT, row), fitted(LAYOUT, {"event": 2**63 - 1})]
    assert writer.write(rows) == []
    assert writer.write([{**found, "label": "later"} for found in rows] * 3) == []
    (first, second) = database.run("SELECT event, label, score, good, raw FROM tweets ORDER BY event")
    assert (first[:3], bool(first[3]), bytes(first[4])) == ((row["event"], row["label"], row["score"]), True, row["raw"])
    assert second == (2**63 - 1, None, None, None, None)
    zone = "" if database.url.startswith("sqlite") else " AT TIME ZONE 'UTC'"
    assert str(database.run(f"SELECT at{zone} FROM tweets ORDER BY event")[0][0]) == "2024-02-29 15:00:00.250000"


def test_many_that_start_at_once_make_one_table_and_write_the_same_rows(database: Database, make: Make) -> None:
    writers = [make(database, SHORT) for _ in range(8)]
    together = threading.Barrier(len(writers))

    def work(place: int) -> None:
        writer = writers[place]
        together.wait()
        writer.prepare()
        for seed in range(3):
            rows = numbered(list(range(2000 * seed, 2000 * seed + 2000)))
            random.Random(10 * place + seed).shuffle(rows)
            assert writer.write(rows) == []

    with ThreadPoolExecutor(len(writers)) as threads:
        for done in [threads.submit(work, place) for place in range(len(writers))]:
            done.result()
    assert database.run("SELECT count(*), count(DISTINCT event) FROM tweets") == [(6000, 6000)]


def test_a_table_that_is_there_is_compared_also_in_postgresql(postgres: Database, make: Make) -> None:
    postgres.run(
        "CREATE TABLE tweets (event BIGINT, label TEXT, serial BIGSERIAL PRIMARY KEY, UNIQUE (event), "
        "double BIGINT NOT NULL GENERATED ALWAYS AS (2 * event) STORED)"
    )
    make(postgres, SHORT).prepare()
    with pytest.raises(InvalidError, match=r"table 'tweets', column 'score': expected DOUBLE .*, got no such column"):
        make(postgres, LAYOUT).prepare()
    postgres.run("CREATE TYPE mood AS ENUM ('x')", "ALTER TABLE tweets ALTER label TYPE mood USING label::mood")
    with pytest.raises(InvalidError, match=r"column 'label': expected TEXT .*, got"):
        make(postgres, SHORT).prepare()


def test_times_without_a_zone_are_in_utc(postgres: Database, make: Make) -> None:
    postgres.run(f"ALTER DATABASE \"{postgres.name}\" SET timezone TO 'America/Santiago'")
    postgres.run("CREATE TABLE tweets (event BIGINT PRIMARY KEY, at TIMESTAMP)")
    writer = make(postgres, Layout("tweets", {"event": int, "at": datetime}, ("event",)))
    writer.prepare()
    writer.write([{"event": 1, "at": datetime(2024, 2, 29, 12, tzinfo=UTC)}])
    assert postgres.run("SELECT at FROM tweets") == [(datetime(2024, 2, 29, 12),)]


def test_a_connection_that_was_cut_is_made_again_at_once(postgres: Database, make: Make) -> None:
    writer = make(postgres, SHORT)
    writer.prepare()
    writer.write(numbered([1]))
    cut = postgres.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert cut == [(True,)]
    assert writer.write(numbered([1, 2])) == []
    assert postgres.run("SELECT count(*) FROM tweets") == [(2,)]


def test_a_password_comes_from_a_file_or_the_environment_and_is_never_told(
    server: PostgresServer, postgres: Database, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guarded = Database(postgres.name, server.tcp_url(postgres.name))
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text(PASSWORD + "\n")
    wrong.write_text("wrong" + PASSWORD)
    make(guarded, SHORT, password_file=str(right)).prepare()
    with pytest.raises(SqlError, match=r"here: postgresql.*: password authentication failed for user \"guarded\"") as caught:
        make(guarded, SHORT, password_file=str(wrong)).prepare()
    assert PASSWORD not in str(caught.value)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    make(guarded, SHORT).prepare()


class Events(TraceSpout):
    outputs = ("event", "label")

    def values(self, number: int, due: float) -> tuple[int, str]:
        return number, f"label {number}"


class Store(SqlSink):
    table = "tweets"
    columns = {"event": int, "label": str}
    key = ("event",)


class Stored(Topology):
    config = {"topology.max.spout.pending": 500, "trace.rows": EVENTS}
    events = Events.spec()
    store = Store.spec(inputs=[events], par=2, pool=4)


def check(database: Database, running: RunningTopology) -> None:
    finish(running)
    assert database.run("SELECT count(*), count(DISTINCT event), min(event), max(event) FROM tweets") == [(TOTAL, TOTAL, 0, TOTAL - 1)]
    assert running.stats().acked >= TOTAL  # a spout that died emits some again


def test_every_event_is_stored_once_though_a_worker_is_killed(database: Database) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Stored, config={"sql.url": database.url})
        until(lambda: running.stats().acked > 300, "stored events")
        victim = running.workers[0]
        kill(victim)
        until_replaced(running, victim)
        check(database, running)


def test_every_event_is_stored_once_though_the_server_is_killed_and_a_worker_too(server: PostgresServer, postgres: Database) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Stored, config={"sql.url": postgres.url})
        until(lambda: running.stats().acked > 300, "stored events")
        server.kill()
        try:
            until(lambda: running.stats().failed > 20, "failed batches")
            errors = running.errors
            victim, survivor = running.workers
            kill(victim)
            until_replaced(running, victim)
        finally:
            server.start()
        check(postgres, running)
        assert survivor in running.workers
    assert all("rows for table 'tweets' were not written" in error.text for error in errors)
    assert 1 <= len(errors) <= 12, "errors are not throttled"


def test_a_database_that_is_not_there_ends_the_start_and_is_named() -> None:
    words = "component 'store': postgresql://me@127.0.0.1:1/db: table 'tweets' cannot be made or looked at: .* Connection refused"
    with LocalCluster(workers=1) as cluster, pytest.raises(WorkerStartError, match=words):
        cluster.submit(Stored, config={"sql.url": "postgresql://me@127.0.0.1:1/db"})
