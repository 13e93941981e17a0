"""What PostgreSQL refuses: rows, and tables that will not do."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from pasps.connectors.sql import SqlError
from pasps.errors import InvalidError
from tests.integration.postgres_server import PostgresServer
from tests.integration.sql_databases import SHORT, Database, Make, making, numbered


@pytest.fixture(scope="module")
def server(postgres_server: PostgresServer) -> PostgresServer:
    with psycopg.connect(postgres_server.address("postgres"), autocommit=True) as connection:
        connection.execute("CREATE ROLE limited LOGIN")
    return postgres_server


@pytest.fixture
def make() -> Iterator[Make]:
    yield from making()


def test_postgresql_s_refusals_are_told_apart_and_name_the_column(postgres: Database, make: Make) -> None:
    postgres.run(
        "CREATE TABLE tags (tag TEXT PRIMARY KEY)",
        "INSERT INTO tags VALUES ('x')",
        "CREATE TABLE tweets (event INTEGER PRIMARY KEY, label VARCHAR(5) NOT NULL CONSTRAINT polite CHECK (label <> 'bad'), "
        "FOREIGN KEY (label) REFERENCES tags DEFERRABLE INITIALLY DEFERRED)",
    )
    writer = make(postgres, SHORT)
    writer.prepare()
    rows = numbered([*range(500), 2**40])
    for event, label in {7: None, 8: "too long", 9: "bad", 10: "a\0", 11: "none"}.items():
        rows[event] = {"event": event, "label": label}
    refused = {refusal.row["event"]: (refusal.column, refusal.reason) for refusal in writer.write(rows)}
    assert {event: column for event, (column, _) in refused.items()} == {7: "label", 8: "label", 9: "", 10: "label", 11: "", 2**40: "event"}
    assert 'violates check constraint "polite"' in refused[9][1]
    assert 'violates foreign key constraint "tweets_label_fkey"' in refused[11][1]
    assert postgres.run("SELECT count(*) FROM tweets") == [(495,)]


NO_BAD_LABELS = """
    CREATE FUNCTION polite() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF new.label = 'bad' THEN RAISE 'no bad labels' USING errcode = 'APP01'; END IF; RETURN new; END $$"""


def test_the_row_is_to_blame_when_a_trigger_or_a_policy_refuses_it(server: PostgresServer, postgres: Database, make: Make) -> None:
    postgres.run(
        "CREATE TABLE tweets (event BIGINT PRIMARY KEY, label TEXT)",
        "GRANT ALL ON tweets TO limited",
        NO_BAD_LABELS,
        "CREATE TRIGGER polite BEFORE INSERT ON tweets FOR EACH ROW EXECUTE FUNCTION polite()",
        "ALTER TABLE tweets ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY mine ON tweets USING (true) WITH CHECK (label <> 'yours')",
    )
    writer = make(Database("a", server.url(postgres.name, "limited")), SHORT, refused="fail")
    writer.prepare()
    assert [refusal.row["event"] for refusal in writer.write(numbered([1], "bad"))] == [1]
    rows = [*numbered([*range(50)]), *numbered([50], "bad"), *numbered([51], "yours")]
    assert [(refusal.row["event"], refusal.reason.partition(" CONTEXT")[0]) for refusal in writer.write(rows)] == [
        (50, "no bad labels"),
        (51, 'new row violates row-level security policy for table "tweets"'),
    ]
    postgres.run("REVOKE INSERT ON tweets FROM limited")
    with pytest.raises(SqlError, match="20 rows for table 'tweets' were not written: permission denied for table tweets"):
        writer.write(numbered([*range(100, 120)]))
    assert postgres.run("SELECT count(*) FROM tweets") == [(50,)]


def test_a_role_that_may_not_keep_refused_rows_is_told_at_the_start(server: PostgresServer, postgres: Database, make: Make) -> None:
    postgres.run("CREATE TABLE tweets (event BIGINT PRIMARY KEY, label TEXT)", "GRANT ALL ON tweets TO limited")
    limited = Database("a", server.url(postgres.name, "limited"))
    with pytest.raises(SqlError, match=r"table 'tweets_refused', .* \(make it, or set sql.refused=fail\): permission denied for schema"):
        make(limited, SHORT).prepare()
    make(limited, SHORT, refused="fail").prepare()


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (
            "event BIGINT, label TEXT, UNIQUE (event) DEFERRABLE",
            r"expected a key on \(event\) that is checked row by row, got a DEF",
        ),
        ("event BIGINT PRIMARY KEY, label TEXT GENERATED ALWAYS AS ('x') STORED", "column 'label': .*, got GENERATED ALWAYS"),
        ("event BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY, label TEXT", "column 'event': .*, got GENERATED ALWAYS"),
    ],
)
def test_a_table_that_could_never_be_written_to_is_told_at_the_start(postgres: Database, make: Make, there: str, words: str) -> None:
    postgres.run(f"CREATE TABLE tweets ({there})")
    with pytest.raises(InvalidError, match=words):
        make(postgres, SHORT).prepare()
