"""What `pasps traces build` was asked for, checked before Spark starts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from pasps.data.record_formats import FORMATS, RecordFormat, Records
from pasps.data.sql_text import TIME_FORMATS, has_optional_zone, is_utc
from pasps.data.steps import step_micros
from pasps.errors import InvalidError

MOST_STEPS = 50_000_000
MOST_KEYS = 1000


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """A trace to be built.

    Attributes:
        records: What is counted.
        out: The directory to be made.
        step: As `1s`, `500ms`, `5min`.
        start: Records before this time are left out; a time as ISO 8601 has it, in the records' zone when it names none.
        until: Records at or after it are left out.
        most_steps: Rows of the output, at most: one record with a wrong year would make billions.
        most_keys: Keys, at most.
        overwrite: Whether an output of an earlier build may be replaced.
    """

    records: Records
    out: str
    step: str = "1s"
    start: str | None = None
    until: str | None = None
    most_steps: int = MOST_STEPS
    most_keys: int = MOST_KEYS
    overwrite: bool = False


def check(request: BuildRequest) -> None:
    """Whether the parts fit together.

    Raises:
        InvalidError: they do not; says which, and what to give instead.
    """
    records = request.records
    known = FORMATS.get(records.format)
    if known is None:
        raise InvalidError(f"--format: expected one of {', '.join(FORMATS)}, got {records.format!r}")
    if not records.paths:
        raise InvalidError("paths: expected files, directories or patterns, got none")
    step_micros(request.step)
    _check_time_column(records, known)
    _check_fits("--pattern", records.pattern is not None, known.name == "regex", records)
    if known.name == "regex" and records.pattern is None:
        raise InvalidError(r"format regex needs a --pattern, such as '^(?<time>\S+) '")
    own_time = known.name in ("csv", "jsonl", "parquet", "regex")
    _check_fits("--time-format", records.time_format is not None, own_time, records)
    _check_zone(records)
    _check_fits("--year", records.year is not None, known.yearless, records)
    _check_fits("--delimiter", records.delimiter != ",", known.reader == "csv", records)
    _check_fits("--no-header", not records.header, known.name == "csv", records)
    if len(records.delimiter) != 1 or not records.delimiter.isascii() or records.delimiter in '"\r\n':
        raise InvalidError(f"--delimiter: expected one character, such as ';' or a tab, got {records.delimiter!r}")


def _check_time_column(records: Records, known: RecordFormat) -> None:
    needs = known.reader != "text" and not known.columns
    _check_fits("--time-column", records.time_column is not None, needs, records)
    if needs and not records.time_column:
        raise InvalidError(f"format {known.name} needs to know where the time is: give --time-column")


def _check_zone(records: Records) -> None:
    pattern = records.time_format or TIME_FORMATS[0]
    if pattern not in TIME_FORMATS and has_optional_zone(pattern) and not is_utc(records.time_zone):
        raise InvalidError(
            f"--time-format {pattern!r}: times without its optional zone would not be read in --time-zone {records.time_zone!r};"
            " give a pattern with a zone or one without, and count the other times in another build"
        )


def _check_fits(option: str, given: bool, fits: bool, records: Records) -> None:
    if given and not fits:
        raise InvalidError(f"{option}: records of format {records.format} have no use for it; leave it out, or give another format")
