"""What a reader sees first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pasps.report.measures import Measures, measures_of
from pasps.report.run_files import RunFiles
from pasps.report.story import headlines, sentence, warnings
from tests.unit.report.builders import lines, made_up, sample, write_run


def measured() -> Measures:
    return measures_of(*made_up(120, 10), 10)


def test_the_sentence_says_what_happened() -> None:
    text = sentence(measured())
    assert text.startswith("In 1 min 59 s, 47,")
    assert "99% within" in text
    assert "Replicas were switched" in text


def test_what_was_left_is_not_called_everything() -> None:
    measures = measured()
    left = replace(measures, events=replace(measures.events, received=100_000, processed=99_999, share=0.99999, unfinished=1))
    assert "100,000 events became due and 99,999 were processed" in sentence(left)
    assert [headline.value for headline in headlines(left) if headline.name == "processed"] == ["99.99%"]


def test_where_events_were_acked_twice_the_share_is_at_most_so_much(tmp_path: Path) -> None:
    samples = [sample(1), sample(2, due=100, acked=100, replayed=50, pending=40)]
    files = RunFiles(write_run(tmp_path, samples, []))
    measures = measures_of(files.samples, files.records, 10)
    assert "100 events became due and at most 60 were processed" in sentence(measures)
    assert [(headline.value, headline.beside) for headline in headlines(measures) if headline.name == "processed"] == [
        ("≤ 60.00%", "at least 40 of 100 left")
    ]
    (warning,) = warnings(files, measures)
    assert warning.startswith("More was emitted again than failed")


def test_a_static_run_has_no_headline_of_predictions() -> None:
    measures = measures_of(made_up(60, 10, elastic=False)[0], [], 10)
    assert "prediction error" not in [headline.name for headline in headlines(measures)]
    assert "Replicas stayed as they were; 16.0 of 32 worked on average." in sentence(measures)


def test_the_headlines_are_those_that_are_known() -> None:
    assert [headline.name for headline in headlines(measured())] == [
        "resources saved",
        "latency, p99",
        "processed",
        "prediction error",
        "replicas switched",
    ]
    assert [headline.name for headline in headlines(measures_of([], [], 10))] == ["replicas switched"]


def test_a_whole_run_needs_no_warning(tmp_path: Path) -> None:
    samples, records = made_up(60, 10)
    files = RunFiles(write_run(tmp_path, samples, records))
    assert list(warnings(files, measures_of(files.samples, files.records, 10))) == []


def test_a_killed_run_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(b"rubbish\n" + b"".join(lines([sample(1), sample(2, complete=False)]))[:-1])
    files = RunFiles(tmp_path)
    assert list(warnings(files, measures_of(files.samples, files.records, 10))) == [
        "There is no summary: the run was killed, or it is not over. The report shows it until its last sample.",
        "1 line of metrics.jsonl could not be read; nothing of it is in the numbers.",
        "1 sample of 2 lacked a worker's counts and went into no number.",
        "Nothing was tracked and no decision was written, so it is not known what was processed.",
    ]


def test_an_untracked_run_says_what_its_output_is(tmp_path: Path) -> None:
    samples, records = made_up(60, 10)
    bare = [replace(one, acked=0, pending=0, latency={}) for one in samples]
    files = RunFiles(write_run(tmp_path, bare, records))
    assert list(warnings(files, measures_of(files.samples, files.records, 10))) == [
        "Nothing was tracked: output is what store executed, and latency is not known."
    ]
