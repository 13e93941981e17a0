"""What `pasps et` tells: progress while it measures, then a table or JSON, and the file with its picture."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pasps.api.blueprint import Blueprint, ComponentPlan
from pasps.cli import exit_codes
from pasps.cli.words import seconds_text, share_text, table
from pasps.control.et_file import EtFile, OperatorTimes, put_in_place, write_execution_times
from pasps.data.et_benchmark import Measured, Watcher
from pasps.data.et_events import EventFile, Rows
from pasps.data.et_sample import Sample
from pasps.data.et_statistics import VARIES
from pasps.errors import BrokenError
from pasps.worker.tracebacks import without_our_frames

_HEAD = ("bolt", "runs", "tuples", "et", "mean", "sd", "p50", "p95", "p99", "varies", "tuples out for each in")
_LEFT = (0, 1, 10)


def say(text: str) -> None:
    """Something for people, beside the result."""
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class SampleFacts:
    """What is worth saying of the sample."""

    events: int = 0
    by_spout: Mapping[str, int] | None = None
    bad: int = 0
    problems: tuple[str, ...] = ()

    def with_file(self, file: EventFile, rows: Rows) -> SampleFacts:
        """With what a file had."""
        problems = tuple(f"{file.path}: {problem}" for problem in rows.problems)
        return replace(self, bad=self.bad + rows.bad, problems=(*self.problems, *problems))

    def of(self, sample: Sample) -> SampleFacts:
        """With what came of it."""
        problems = tuple(map(without_our_frames, sample.problems))
        return replace(self, events=sample.events, by_spout=sample.by_spout, problems=(*self.problems, *problems))

    def tell(self) -> None:
        """To whoever waits."""
        spouts = ", ".join(f"{count:,} events of {name}" for name, count in (self.by_spout or {}).items())
        say(f"sample: {spouts}" + (f"; {self.bad:,} bad rows were left out" if self.bad else ""))
        for problem in self.problems:
            say(f"  {problem}")


class Progress(Watcher):
    """A line when a bolt begins, one for each pass, and one when it is done."""

    def __init__(self, repeat: int, events_per_second: float) -> None:
        self._repeat, self._rate = repeat, events_per_second

    def begins(self, plan: ComponentPlan, tuples: int) -> None:
        """See `Watcher`."""
        seconds = self._repeat * tuples / self._rate
        passes = "once" if self._repeat == 1 else f"{self._repeat} times"
        say(f"{plan.id}: {tuples:,} tuples {passes}, at least {seconds:.0f} s")

    def passed(self, plan: ComponentPlan, number: int) -> None:
        """See `Watcher`."""
        say(f"{plan.id}: pass {number} of {self._repeat}")

    def done(self, plan: ComponentPlan, measured: Measured) -> None:
        """See `Watcher`."""
        say(f"{plan.id}: {measured.reason if measured.summary is None else 'et ' + seconds_text(measured.summary.et)}")


@dataclass(frozen=True, slots=True)
class Result:
    """All that is known in the end. `kept` are entries for bolts that were left out; `made_with` is for the file."""

    blueprint: Blueprint
    found: Sequence[Measured]
    facts: SampleFacts
    kept: Mapping[str, OperatorTimes]
    made_with: Mapping[str, str | int]

    @property
    def exit_code(self) -> int:
        """Whether every bolt that was to be measured has an entry."""
        return exit_codes.FAILED if any(each.summary is None and not each.skipped for each in self.found) else exit_codes.OK

    def entries(self) -> dict[str, OperatorTimes]:
        """Of the file, in the order of the topology."""
        measured = {each.bolt: each.entry(self.blueprint.components[each.bolt]) for each in self.found}
        either = {name: entry or self.kept.get(name) for name, entry in measured.items()}
        return {name: entry for name, entry in either.items() if entry is not None}

    def write(self, out: Path, made_at: float) -> Path | None:
        """The file, and the picture beside it, whose path it returns; without any measurement nothing. `made_at`: since the epoch.

        Raises:
            BrokenError: it cannot be written.
        """
        if not any(each.summary for each in self.found):
            return None
        path, picture = out.with_suffix(".png"), self._drawn()
        when = datetime.fromtimestamp(int(made_at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        try:
            write_execution_times(out, EtFile(self.blueprint.name, self.entries(), when, dict(self.made_with)))
            if picture is None:
                return None
            put_in_place(path, picture)
        except OSError as error:
            raise BrokenError(f"{error.filename or out} cannot be written: {error.strerror or error}; give another with --out") from error
        return path

    def _drawn(self) -> bytes | None:
        plans, found = self.blueprint.components, [(each, each.summary) for each in self.found if each.summary is not None]
        try:
            # matplotlib is optional and takes half a second to import
            picture = importlib.import_module("pasps.data.et_picture")
            strips = [picture.Strip(each.bolt, plans[each.bolt].execution, each.costs, summary) for each, summary in found]
            drawn: bytes = picture.draw(self.blueprint.name, strips)
        except Exception as error:  # noqa: BLE001 - matplotlib's, of any kind: what was measured is not lost for a picture
            say(f"no picture: {error}")
            return None
        return drawn

    def text(self, out: Path, picture: Path | None) -> str:
        """For people."""
        rows = [self._row(each) for each in self.found]
        lines = table(_HEAD, rows, _LEFT)
        for each in self.found:
            lines += [f"{each.bolt}: {note}" for note in _notes(each)]
        if picture is None and not any(each.summary for each in self.found):
            return "\n".join([*lines, "nothing could be measured, so nothing is written"])
        return "\n".join([*lines, f"written to {out}" + (f", picture {picture}" if picture is not None else "")])

    def _row(self, each: Measured) -> tuple[str, ...]:
        plan, found = self.blueprint.components[each.bolt], each.summary
        if found is None:
            return (each.bolt, plan.execution, f"{each.given:,}", *("-" * 8))
        times = (found.et, found.mean, found.standard_deviation, found.p50, found.p95, found.p99)
        out = ", ".join(_stream(name, count) for name, count in (each.selectivity or {}).items()) or "-"
        return (each.bolt, plan.execution, f"{each.given:,}", *map(seconds_text, times), share_text(found.varies), out)

    def told(self, out: Path, picture: Path | None) -> dict[str, Any]:
        """For programs."""
        entries = self.entries()
        return {
            "topology": self.blueprint.name,
            "file": str(out) if any(each.summary for each in self.found) else None,
            "picture": None if picture is None else str(picture),
            "sample": asdict(self.facts),
            "operators": {
                each.bolt: {
                    **(asdict(entries[each.bolt]) if each.bolt in entries else {}),
                    **{name: getattr(each, name) for name in ("given", "reason", "failed", "error", "notes", "skipped")},
                }
                for each in self.found
            },
        }


def _stream(name: str, count: float) -> str:
    return f"{count:.3g}" if name == "default" else f"{name} {count:.3g}"


def _notes(each: Measured) -> list[str]:
    notes = list(each.notes)
    if each.summary is None:
        notes.insert(0, f"no entry: {each.reason}")
    elif each.summary.varies is not None and each.summary.varies >= VARIES:
        notes.append(f"what it takes depends on the event: it varies by {each.summary.varies:.0%}")
    if each.failed and each.summary is not None:
        notes.append(f"it failed on {each.failed:,} of {each.given:,} tuples")
    if each.error is not None:
        notes.append("the first error:\n" + "\n".join(f"    {line}" for line in without_our_frames(each.error).splitlines()))
    return notes
