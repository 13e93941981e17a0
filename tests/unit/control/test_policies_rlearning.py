"""The learning baseline: what its table says, where the table comes from, and what is said of one that is of no use here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pasps.control.decision_log import Record, read, replayed, written
from pasps.control.plan import Plan
from pasps.control.policies import BUILT_IN, inlined, q_table
from pasps.control.policies.options import written as written_options
from pasps.control.policies.q_table import BoltTable, QTable
from pasps.control.policies.rlearning import POLICY, Options, plan
from pasps.control.situation import PolicySettings, Second, Situation
from pasps.errors import ConfigError, InvalidError
from tests.unit.control.situations import bolt, did, due, interval, known, shape, situation

OF = shape(bolt("a", "s", pool=4), bolt("b", "a", pool=2))
ROWS = ("=---",) * 4 + ("+=--",) * 4 + ("+++=",) * 4
TABLE = QTable("shop", {"a": BoltTable(4, 120.0, ROWS), "b": BoltTable(2, 60.0, ("+=",) * 12)}, 50, 1, 10.0)
TEXT = q_table.written(TABLE)
LEARNED = Options(table=TEXT)


def deciding(rate: float, active: int = 2, seconds: int = 40, **changes: Any) -> Situation:
    """Thirty seconds at that rate, after others at another; half of it reaches b."""
    rates = [999.0] * (seconds - 30) + [rate] * 30
    history = tuple(Second(float(at), 1.0, each, {}) for at, each in enumerate(rates[-seconds:], 1))
    now = interval({"s": due(rate * 10)}, {"a": did(1, 0.1, active=active), "b": did(1, 0.1)}, seconds=10.0)
    return situation(OF, now, known(OF, {"a": 0.1, "b": 0.1}, {"a": {"s": 1.0}, "b": {"a": 0.5}}), history=history, **changes)


# ---- what it does


@pytest.mark.parametrize(
    ("rate", "active", "replicas"),
    [(0.0, 2, 1), (39.9, 2, 1), (40.0, 2, 2), (40.0, 1, 2), (79.9, 3, 2), (80.0, 3, 4), (80.0, 4, 4), (119.0, 1, 2), (5000.0, 1, 2)],
)
def test_it_does_what_the_table_says_of_the_rate_and_the_replicas(rate: float, active: int, replicas: int) -> None:
    assert plan(deciding(rate, active), LEARNED).replicas["a"] == replicas


def test_each_bolt_has_the_rate_that_becomes_due_for_it() -> None:
    found = plan(deciding(50.0), LEARNED)
    assert found.bolts["a"].reasons[0].text == "50/s became due for it in the last 30 s, bucket 6 of 12; with 2 active: as it is"
    assert found.bolts["b"].reasons[0].text == "25/s became due for it in the last 30 s, bucket 6 of 12; with 1 active: one more"


def test_a_rate_above_all_that_it_knows_is_told() -> None:
    assert "bucket 12 of 12, above the 120/s that it was trained with" in plan(deciding(130.0), LEARNED).bolts["a"].reasons[0].text


def test_a_mean_is_by_the_length_of_its_seconds() -> None:
    slow = deciding(50.0)
    assert plan(replace(slow, history=(Second(1.0, 4.0, 200.0, {}),)), LEARNED) == plan(slow, LEARNED)


def test_without_a_second_or_a_table_nothing_changes() -> None:
    assert plan(replace(deciding(50.0), history=()), LEARNED) == Plan({}, held="there is no second yet to know a rate of")
    assert plan(deciding(50.0), Options()) == Plan({}, held="there is no table that says what to do")


# ---- where the table is


def configured(value: str | None, of: Any = OF) -> Options:
    given = {} if value is None else {"table": value}
    found = POLICY.configured(PolicySettings(), given, of)
    assert isinstance(found, Options)
    return found


def test_the_option_is_a_file_and_the_policy_gets_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "shop.table.json"
    file.write_text(TEXT, encoding="utf-8")
    assert configured(str(file)) == configured(TEXT) == LEARNED


def test_a_record_has_the_table_so_that_it_can_be_made_again_without_the_file(tmp_path: Path) -> None:
    file = tmp_path / "shop.table.json"
    file.write_text(TEXT, encoding="utf-8")
    options, now = configured(str(file)), deciding(50.0)
    file.unlink()
    record = read(written(Record(1, 0.0, 0.0, "cycle", "rlearning", now, plan(now, options), options=written_options(options), history=40)))
    assert replayed(record, POLICY) == record.plan


def test_what_goes_to_a_cluster_has_the_text_in_place_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "shop.table.json"
    file.write_text(TEXT, encoding="utf-8")
    key = "pasps.policy.options.table"
    conf = {"pasps.policy": "rlearning", key: str(file), "mine": 1}
    assert inlined(conf) == {key: TEXT}
    assert inlined({**conf, key: TEXT}) == {key: TEXT}
    assert inlined({"pasps.policy": "rlearning"}) == inlined({key: str(file)}) == inlined({"pasps.policy": "static"}) == {}
    with pytest.raises(ConfigError, match="names a file that cannot be read"):
        inlined({**conf, key: str(tmp_path / "none")})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            None,
            r"'pasps\.policy\.options\.table' is not set: policy 'rlearning' does what it has learned; train one with `pasps simulate FILE",
        ),
        ("no/such/file", r"names a file that cannot be read: .*no/such/file"),
        ("{}", "cannot be used: table of rlearning: expected a record of schema 'pasps.rlearning/1'"),
        (TEXT.replace("rlearning/1", "rlearning/9"), "cannot be used: .*expected schema 'pasps.rlearning/1', got 'pasps.rlearning/9'"),
        (TEXT.replace("=---", "=--", 1), "of bolt 'a' expected 12 rows with a letter of '-=\\+' for each of its replicas"),
        (TEXT.replace("=---", "=--?", 1), "of bolt 'a' expected 12 rows"),
        (TEXT.replace('"pool": 4', '"pool": 0'), "of bolt 'a' expected 12 rows"),
    ],
)
def test_a_table_that_is_none_is_refused_before_anything_starts(value: str | None, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        configured(value)


def test_a_table_of_another_topology_is_refused() -> None:
    with pytest.raises(ConfigError, match="it was trained for bolts a, b of topology 'shop', and this one has a, c; train one with"):
        configured(TEXT, shape(bolt("a", "s", pool=4), bolt("c", "a", pool=2)))
    with pytest.raises(ConfigError, match="it was trained for a pool of 2 of bolt 'b', which has 3 here"):
        configured(TEXT, shape(bolt("a", "s", pool=4), bolt("b", "a", pool=3)))


def test_a_file_that_every_record_would_have_to_have_is_not_too_large(tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_text("x" * 300_000)
    with pytest.raises(
        ConfigError, match=r"names a file of 300,000 bytes, at most 262,144 are taken, since every decision's record has them"
    ):
        configured(str(file))


def test_a_table_is_read_as_it_was_written() -> None:
    assert q_table.read(TEXT) == TABLE
    with pytest.raises(InvalidError):
        q_table.read("nothing")


def test_what_the_loop_gathers_for_it() -> None:
    needs = BUILT_IN["rlearning"].needs
    assert (needs.interval_seconds, needs.history_seconds, POLICY.forecasts) == (10.0, 30, False)
