"""The tables of measures."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import pytest

from pasps.control.decision_log import Restarted
from pasps.report.definitions import BOLT_HEAD, DEFINITIONS, bolt_rows, shown, table
from pasps.report.measures import measures_of
from tests.unit.report.builders import made_up, sample

PAGE = Path(__file__).parents[3] / "docs" / "report.md"


def test_six_are_of_the_paper() -> None:
    assert [definition.name for definition in DEFINITIONS if definition.of_paper] == [
        "saved resources",
        "throughput degradation",
        "latency, mean",
        "processed / received",
        "error of predicted input",
        "error of predicted replicas",
    ]


def test_the_table_is_a_line_for_each() -> None:
    lines = table(measures_of(*made_up(60, 10), 10)).splitlines()
    assert lines[0] == "saved resources                70.0%"
    assert len(lines) == len(DEFINITIONS) - 4


def test_what_is_not_known_is_a_dash_or_left_out() -> None:
    text = table(measures_of([], [], 10))
    assert "latency, p99                   -" in text
    assert "lost" not in text


def test_counts_by_id_are_shown_when_somebody_has_them() -> None:
    texts = {definition.name: text for definition, text in shown(measures_of([sample(1)], [], 10, lost=0, duplicated=4))}
    assert (texts["lost"], texts["duplicated"]) == ("0", "4")


@pytest.mark.parametrize(("acked", "text"), [(100_000, "100.0%"), (99_999, "99.999%"), (99_000, "99.000%"), (100_500, "100.5%")])
def test_what_was_left_is_not_rounded_away(acked: int, text: str) -> None:
    texts = {definition.name: text for definition, text in shown(measures_of([sample(1, due=100_000, acked=acked)], [], 10))}
    assert texts["processed / received"] == f"{text} ({acked:,} of 100,000)"


def test_where_events_were_acked_twice_the_table_gives_bounds() -> None:
    measures = measures_of([sample(1, due=100, acked=100, replayed=50, pending=40)], [], 10)
    texts = {definition.name: text for definition, text in shown(measures)}
    assert (texts["processed / received"], texts["unfinished"]) == ("at most 60.000% (60 of 100)", "at least 40")


def test_intervals_without_input_are_told() -> None:
    samples = [sample(0), sample(10, due=100, acked=80), sample(20, due=100, acked=100)]
    texts = {definition.name: text for definition, text in shown(measures_of(samples, [], 10))}
    assert texts["throughput degradation"] == "20.0% (1 interval; 1 without input left out)"


def test_each_bolt_has_a_row() -> None:
    rows = bolt_rows(measures_of(*made_up(60, 10), 10))
    assert [row[0] for row in rows] == ["parse", "split", "count", "store"]
    assert {len(row) for row in rows} == {len(BOLT_HEAD)}


def test_the_documentation_has_every_measure() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [definition.name for definition in DEFINITIONS if f"| {definition.name} |" not in text]
    assert not missing


@pytest.mark.parametrize(
    ("took", "text"),
    [
        ([], None),
        ([Restarted(30.0, 1.5)], "1; the spouts were silent for 31.5 s"),
        ([Restarted(0.0, 1.0, 12, 40), Restarted(0.0, 2.0)], "2; the spouts were silent for 3.0 s; 12 events came again"),
        ([Restarted(0.0, 1.0, 0, 2000)] * 2, "2; the spouts were silent for 2.0 s; 4,000 untracked tuples were lost"),
    ],
)
def test_restarts_and_their_price_are_shown_when_there_were_any(took: list[Restarted], text: str | None) -> None:
    samples, records = made_up(60, 10)
    records = [replace(record, restart=one) for record, one in zip_longest(records, took[: len(records)])]
    texts = {definition.name: text for definition, text in shown(measures_of(samples, records, 10))}
    assert texts.get("restarts") == text
