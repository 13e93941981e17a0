"""Makes a report of a run directory: reads its files, measures, draws, and writes one page with its pictures beside it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pasps.errors import BrokenError, InvalidError
from pasps.report.course import course_of, expect
from pasps.report.decided import decided
from pasps.report.drawing import Drawing
from pasps.report.measures import Measures, measures_of
from pasps.report.notable import notable
from pasps.report.page import View, page
from pasps.report.run_facts import command_of, facts_of, interval_of, title_of
from pasps.report.run_files import RunFiles
from pasps.report.story import headlines, sentence, warnings

PAGE_NAME = "report.html"


@dataclass(frozen=True, slots=True)
class Report:
    """What was made of a run. `paths`: the page first, then the pictures; `warnings` say what the numbers are short of."""

    title: str
    measures: Measures
    warnings: Sequence[str]
    paths: Sequence[Path]


def write_report(directory: Path, out: Path | None = None) -> Report:
    """Make the report of a run, in `out` or in its own directory, over an older one. The run may be under way, or have been killed.

    Blocks for seconds with a long run; its files are read line by line.

    Raises:
        InvalidError: no run's directory, nothing in it to report on, or matplotlib is missing.
        BrokenError: a file cannot be read or written.
    """
    files = RunFiles(directory)
    try:
        return _written(files, directory if out is None else out)
    except OSError as error:
        raise BrokenError(f"{error.filename or directory}: {error.strerror or error}") from error


def _written(files: RunFiles, out: Path) -> Report:
    """1. measure, 2. draw, 3. compose, 4. write."""
    interval_seconds = interval_of(files.run, files.records)
    measures = measures_of(files.samples, files.records, interval_seconds)
    if not measures.samples:
        raise InvalidError(
            f"{files.directory}: expected a complete sample in metrics.jsonl, found none "
            f"({files.samples.unreadable} lines that cannot be read, {measures.incomplete_samples} incomplete samples)"
        )
    drawings = _drawn(files, measures)
    title = title_of(files.run, files.directory.name)
    facts = facts_of(files.run, files.summary, measures.decisions.forecasts, interval_seconds)
    warned = list(warnings(files, measures))
    view = View(
        title=title,
        about=", ".join(f"{name} {value}" for name, value in facts if name != "ended"),
        sentence=sentence(measures),
        warnings=warned,
        headlines=headlines(measures),
        drawings=drawings,
        measures=measures,
        decisions=notable(files.records),
        facts=[*facts, ("files", str(files.directory))],
        command=command_of(files.run),
    )
    out.mkdir(parents=True, exist_ok=True)
    pictures = [(out / drawing.name, drawing.png) for drawing in drawings]
    for path, content in [*pictures, (out / PAGE_NAME, page(view).encode("utf-8", "replace"))]:
        path.write_bytes(content)
    return Report(title, measures, warned, [out / PAGE_NAME, *(path for path, _ in pictures)])


def _drawn(files: RunFiles, measures: Measures) -> list[Drawing]:
    # matplotlib is optional and takes half a second to import
    figures = importlib.import_module("pasps.report.figures")
    course = course_of(files.samples, measures.events.output)
    expect(course, decided(files.records, measures.interval_seconds).ahead)
    return cast("list[Drawing]", figures.draw(course))
