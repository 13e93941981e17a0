"""What an experiment says: tables in Markdown, a verdict for each comparison, and curves to draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.papers.runs import Laboratory
from benchmarks.papers.verdict import Verdict, of_column
from benchmarks.report import markdown


@dataclass(frozen=True, slots=True)
class Drawing:
    """Curves over seconds, or what `xlabel` says, ours over theirs: pairs of x and y by label; what is `theirs` is drawn behind.

    `together`: ours are in one panel, to be compared with each other; else each has its own.
    """

    name: str
    title: str
    ylabel: str
    ours: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    theirs: Mapping[str, tuple[Sequence[float], Sequence[float]]] = field(default_factory=dict)
    xlabel: str = "seconds"
    together: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """`verdicts` by what was compared."""

    title: str
    parts: Sequence[str]
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    drawings: Sequence[Drawing] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of a paper. `make` blocks; it raises MissingError where what it reads is not there."""

    name: str
    about: str
    make: Callable[[Laboratory], Report]


@dataclass(frozen=True, slots=True)
class Column:
    """A measure of several systems, by system: as printed, and as simulated."""

    name: str
    printed: Mapping[str, float]
    ours: Mapping[str, float]
    form: str = ".3f"

    @property
    def verdict(self) -> Verdict:
        """By order and magnitude."""
        return of_column(self.printed, {system: self.ours[system] for system in self.printed})


def columns_table(columns: Sequence[Column], first: str = "system") -> str:
    """Systems as rows; in each cell the printed value and ours, and below all the verdict of each column."""
    systems = list(dict.fromkeys(system for column in columns for system in (*column.printed, *column.ours)))
    rows = [[system, *(_cell(column, system) for column in columns)] for system in systems]
    rows.append(["**verdict**", *(column.verdict if column.printed else "" for column in columns)])
    return markdown([first, *(f"{column.name}: paper, ours" for column in columns)], rows)


def _cell(column: Column, system: str) -> str:
    return ", ".join(format(values[system], column.form) if system in values else "-" for values in (column.printed, column.ours))
