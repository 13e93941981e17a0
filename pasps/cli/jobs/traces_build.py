"""`pasps traces build`: counts raw records per step of time, with Spark."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from pasps.cli import exit_codes
from pasps.cli.jobs.job_progress import SparkProgress
from pasps.cli.jobs.spark_options import add_spark_options, conf_of
from pasps.cli.options import add_json, at_least_one, describe
from pasps.cli.words import rate_text
from pasps.data.build_request import MOST_KEYS, MOST_STEPS, BuildRequest, check
from pasps.data.build_totals import Summary
from pasps.data.duration_text import duration_text
from pasps.data.record_formats import FORMATS, RecordFormat, Records
from pasps.data.spark import spark_session

_WHAT = """\
Counts records by their time, step by step, and fills the gaps with zeros. OUT is a directory: trace.csv and trace.parquet (time,
count), summary.json, and bad/ with the records that have no time that can be read, each with its reason: none ends the job.

PATHS are files, directories or patterns (in quotes), on this machine, gs:// or hdfs://, also .gz, .bz2 and .zst.
A record counts at its start. Steps are counted from 1970-01-01T00:00:00Z on, so a day of --step 1d is one in UTC."""

_EXAMPLES = (
    "pasps traces build --format hdfs 'logs/*.log.gz' --out rates",
    "pasps traces build --format openssh --year 2015 --time-zone Europe/Berlin auth.log --out rates",
    "pasps traces build --format csv --time-column ts --time-format millis --key host requests.csv --out rates",
    "pasps traces build --format csv --no-header --delimiter ';' --time-column 3 data/ --out rates",
    "pasps traces build --format jsonl --time-column user.created_at --step 5min events.jsonl --out rates",
    "pasps traces build --format parquet --time-column time --from 2024-01-01 --until 2024-02-01 gs://bucket/events --out gs://bucket/rates",
    "pasps traces build --format regex --pattern '^(?<time>\\S+ \\S+) \\[(?<key>\\w+)' --key key app.log --out rates",
    "pasps traces build --format regex --pattern 'at (?<time>[^;]+);' --time-format 'dd/MM/yyyy HH:mm' app.log --out rates",
    "pasps traces build --format dns l1-doh.csv --out rates",
    "pasps traces build --format tweets --key lang 'tweets/*.jsonl' --out rates",
    "pasps traces build --master spark://host:7077 --format apache gs://bucket/logs --out gs://bucket/rates",
)

_CODES = """\
exit codes:
  0    done, also when there was nothing to count
  1    something broke: Spark, or a file of the input or the output
  2    refused, and nothing was written: a wrong option, no such path, OUT is there already, too many steps or keys
  5    done, but more records were bad than --most-bad allows
  130  Ctrl-C, and 143 SIGTERM; nothing was written
"""

_TIME_FORMAT = "iso, seconds, millis, micros, nanos, or a pattern of Spark's such as 'dd/MMM/yyyy:HH:mm:ss Z' (default: iso)"
_ZONE = "of times that do not name theirs, such as Europe/Berlin or +02:00 (default: UTC)"
_YEAR = "of times without one (openssh; default: the last year that does not put a line later than its file's last change)"
_KEY = "one more trace for each value of this column, JSON field, group of the pattern, or key of the format"
_CONF = {
    # tasks small enough to see how far it is, and to share them well
    "spark.sql.files.maxPartitionBytes": "32m",
    # only counts are moved: few of them, with nothing to adapt to
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.enabled": "false",
}
_FEW_BYTES = 32 * 2**20
_JAVA = {
    # done before code that is compiled with more care would pay
    True: "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    # a record leaves much garbage, and nobody waits for an answer meanwhile
    False: "-XX:+UseParallelGC",
}


def add_traces_build(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    describe(parser, f"{_WHAT}\n\n{_formats()}", _EXAMPLES, _CODES)
    parser.add_argument("paths", metavar="PATH", nargs="+", help="where the records are")
    parser.add_argument("--out", metavar="OUT", required=True, help="the directory to be made")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT, if it is of an earlier build")
    _add_records(parser.add_argument_group("records"))
    _add_trace(parser.add_argument_group("trace"))
    parser.add_argument("--quiet", action="store_true", help="say nothing while it works")
    add_json(parser)
    add_spark_options(parser)


def traces_build(options: argparse.Namespace) -> int:
    """See the module."""
    request = _request(options)
    check(request)
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        summary = _built(request, options)
    finally:
        signal.signal(signal.SIGTERM, before)
    print(json.dumps(summary.as_object(), ensure_ascii=False) if options.json else summary_text(summary))
    if not summary.counted:
        _say(f"no record was counted, so the trace has no rows; {_why_none(summary)}")
    share = summary.bad_total / summary.records if summary.records else 0.0
    if options.most_bad is not None and share > options.most_bad:
        _say(f"{share:.2%} of the records are bad, more than the {options.most_bad:.2%} of --most-bad")
        return exit_codes.FAILED
    return exit_codes.OK


def _built(request: BuildRequest, options: argparse.Namespace) -> Summary:
    progress = SparkProgress(quiet=options.quiet)
    progress.told("starting Spark")
    conf = {**_CONF, "spark.driver.extraJavaOptions": _JAVA[are_few(request.records.paths)], **conf_of(options)}
    with spark_session("pasps traces build", options.master, conf) as session, progress.following(session):
        # what builds knows pyspark, which is optional
        built: Summary = importlib.import_module("pasps.data.build").build_trace(session, request, progress.told)
    return built


def are_few(paths: Sequence[str]) -> bool:
    """Whether all records are in files of this machine, and small; of patterns, and of what is elsewhere, nobody knows."""
    size = 0
    for path in map(Path, paths):
        if not path.exists():
            return False
        for file in path.rglob("*") if path.is_dir() else [path]:
            with suppress(OSError):  # a link to nothing; Spark says what it makes of it
                size += file.stat().st_size
            if size > _FEW_BYTES:
                return False
    return True


def summary_text(summary: Summary) -> str:
    """What a build has found, for people."""
    lines = [
        f"trace    {summary.out}/trace.csv and trace.parquet",
        f"records  {summary.counted:,} counted of {summary.records:,}",
    ]
    if summary.bad:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in summary.bad.items())
        lines.append(f"bad      {summary.bad_total:,}: {reasons}; they are in {summary.out}/bad")
    if summary.outside:
        lines.append(f"outside  {summary.outside:,} before --from or not before --until")
    if summary.counted:
        lines += [
            f"time     {summary.first} to {summary.last}",
            f"steps    {summary.steps:,} of {duration_text(summary.step_seconds)}",
            f"count    {rate_text(summary.mean)} per step, at most {summary.peak:,} at {summary.peak_time}",
        ]
    if summary.keys:
        lines.append(f"keys     {len(summary.keys):,}, in {summary.out}/by-key")
    return "\n".join(lines)


def _add_records(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--format", required=True, choices=FORMATS, metavar="FORMAT", help="one of the formats above")
    group.add_argument("--time-column", metavar="NAME", help="of csv, jsonl and parquet; without a header its number, from 1 on")
    group.add_argument("--time-format", metavar="FORMAT", help=_TIME_FORMAT)
    group.add_argument("--time-zone", metavar="ZONE", default="UTC", help=_ZONE)
    group.add_argument("--pattern", metavar="REGEX", help="of regex: a Java regular expression with a group `time`")
    group.add_argument("--year", metavar="Y", type=_year, help=_YEAR)
    group.add_argument("--delimiter", metavar="C", default=",", type=_delimiter, help=r"between columns of CSV; \t is a tab (default: ,)")
    group.add_argument("--no-header", action="store_true", help="the CSV files do not begin with the names of the columns")


def _add_trace(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--step", metavar="STEP", default="1s", help="such as 500ms, 1s, 5min, 1h, 1d (default: 1s)")
    group.add_argument("--from", metavar="TIME", dest="start", help="leave records before it out, and count them apart")
    group.add_argument("--until", metavar="TIME", help="leave records at or after it out, and count them apart")
    group.add_argument("--key", metavar="KEY", help=_KEY)
    steps, keys = f"rows of the trace, at most (default: {MOST_STEPS:,})", f"keys, at most (default: {MOST_KEYS:,})"
    group.add_argument("--most-steps", metavar="N", type=at_least_one, default=MOST_STEPS, help=steps)
    group.add_argument("--most-keys", metavar="N", type=at_least_one, default=MOST_KEYS, help=keys)
    group.add_argument("--most-bad", metavar="SHARE", type=_share, help="exit code 5 when more of the records are bad, such as 0.01")


def _request(options: argparse.Namespace) -> BuildRequest:
    records = Records(
        tuple(options.paths),
        options.format,
        time_column=options.time_column,
        time_format=options.time_format,
        time_zone=options.time_zone,
        pattern=options.pattern,
        key=options.key,
        year=options.year,
        delimiter=options.delimiter,
        header=not options.no_header,
    )
    return BuildRequest(
        records,
        options.out,
        options.step,
        start=options.start,
        until=options.until,
        most_steps=options.most_steps,
        most_keys=options.most_keys,
        overwrite=options.overwrite,
    )


def _formats() -> str:
    width = max(len(name) for name in FORMATS)
    lines = [f"  {known.name:{width}}  {known.about}{_keys(known)}" for known in FORMATS.values()]
    return "\n".join(["formats:", *lines])


def _keys(known: RecordFormat) -> str:
    return f"; --key {' or '.join(known.keys)}" if known.keys else ""


def _why_none(summary: Summary) -> str:
    if summary.bad_total:
        return f"all are in {summary.out}/bad: check --format and the time's options"
    if summary.outside:
        return "all are before --from or not before --until"
    return "the input is empty; files whose names begin with _ or . are not read"


def _say(text: str) -> None:
    print(f"pasps traces build: {text}", file=sys.stderr, flush=True)


def _terminated(number: int, _: FrameType | None) -> None:
    """Leave in order, so that nothing half is left."""
    raise SystemExit(exit_codes.BY_SIGNAL + number)


def _year(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 9999:
        raise argparse.ArgumentTypeError(f"expected a year such as 2015, got {text!r}")
    return int(text)


def _delimiter(text: str) -> str:
    return "\t" if text == r"\t" else text


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"expected a share from 0 to 1, such as 0.01, got {text!r}")
    return share
