"""From the counts of steps to the numbers of a whole trace; refuses one that would be too long or have too many keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Row
from pyspark.sql.functions import expr

from pasps.data.build_request import BuildRequest
from pasps.data.build_summary import KeySummary, Summary, key_files
from pasps.data.dense_span import Bucket, densest
from pasps.data.record_source import REASONS, Kind
from pasps.data.steps import END_MICROS, SECOND, iso_time, step_micros, step_start
from pasps.errors import InvalidError

_STRETCHES = 100
"""A trace that is as long as it may be is looked at in so many stretches, when it would be longer."""
_MOST_STRETCHES = 100_000


@dataclass(frozen=True, slots=True)
class Totals:
    """Numbers of a trace; `first` and `last` are the starts of its steps, and records' times are in `seen`; all in microseconds."""

    kinds: Mapping[Kind, int]
    steps: int = 0
    first: int = 0
    last: int = 0
    seen: tuple[int, int] | None = None
    peak: int = 0
    peak_start: int = 0
    keys: Mapping[str, KeySummary] | None = field(default=None)

    @property
    def counted(self) -> int:
        """Records that are in the trace."""
        return self.kinds.get(Kind.COUNTED, 0)

    @property
    def bad(self) -> dict[str, int]:
        """Bad records by reason."""
        return {reason: self.kinds[kind] for kind, reason in REASONS.items() if kind in self.kinds}


def totals(counts: DataFrame, request: BuildRequest) -> Totals:
    """Read the counts (see build_count.counts), a few numbers at a time.

    Raises:
        InvalidError: the trace would have more steps or keys than the request allows.
    """
    step, has_key = step_micros(request.step), request.records.key is not None
    most = "max(struct(count, -start AS back)) AS most"
    numbers = ["sum(count) AS records", "min(first) AS first", "max(last) AS last", most]
    groups = counts.groupBy("kind", *(["key"] if has_key else [])).agg(*(expr(number) for number in numbers))
    # more keys than are allowed are counted no further
    rows = groups.limit(request.most_keys + len(Kind)).collect()
    kinds: Counter[Kind] = Counter()
    for row in rows:
        kinds[Kind(row["kind"])] += row["records"]
    counted = [row for row in rows if row["kind"] == Kind.COUNTED]
    keys = _keys(counted, request) if has_key else None
    if not counted:
        return Totals(kinds, keys=keys)
    seen = (min(row["first"] for row in counted), max(row["last"] for row in counted))
    first, last = (step_start(moment, step) for moment in seen)
    steps = (last - first) // step + 1
    if steps * len(keys or (1,)) > request.most_steps:
        raise _too_long(counts, request, Totals(kinds, steps, first, last, seen, keys=keys))
    peak = per_step(counts, request).selectExpr(most).collect()[0]["most"] if has_key else counted[0]["most"]
    return Totals(kinds, steps, first, last, seen, peak["count"], -peak["back"], keys)


def per_step(counts: DataFrame, request: BuildRequest) -> DataFrame:
    """`start` and `count` of the steps that have any, of all keys together."""
    counted = counts.where(f"kind = {Kind.COUNTED}")
    if request.records.key is None:
        return counted.select("start", "count")
    return counted.groupBy("start").agg(expr("sum(count) AS count"))


def summary(found: Totals, request: BuildRequest, out: str) -> Summary:
    """What is said of the trace."""
    seen, bad = found.seen, found.bad
    outside = found.kinds.get(Kind.OUTSIDE, 0)
    return Summary(
        out=out,
        format=request.records.format,
        paths=request.records.paths,
        time_zone=request.records.time_zone,
        records=found.counted + outside + sum(bad.values()),
        counted=found.counted,
        bad=bad,
        outside=outside,
        blank=found.kinds.get(Kind.BLANK, 0),
        headers=found.kinds.get(Kind.HEADER, 0),
        first=iso_time(seen[0]) if seen else None,
        last=iso_time(seen[1]) if seen else None,
        steps=found.steps,
        step_seconds=step_micros(request.step) / SECOND,
        peak=found.peak,
        peak_time=iso_time(found.peak_start) if seen else None,
        mean=found.counted / found.steps if found.steps else 0.0,
        keys=found.keys,
    )


def _keys(rows: Sequence[Row], request: BuildRequest) -> dict[str, KeySummary]:
    if len(rows) > request.most_keys:
        some = ", ".join(repr(key[:40]) for key in sorted(row["key"] for row in rows)[:3])
        raise InvalidError(
            f"key {request.records.key!r}: there are more than {request.most_keys:,} keys, such as {some};"
            " give a key with fewer values, or raise --most-keys"
        )
    files = key_files(row["key"] for row in rows)
    return {
        row["key"]: KeySummary(files[row["key"]], row["records"], row["most"]["count"])
        for row in sorted(rows, key=lambda row: str(row["key"]))
    }


def _too_long(counts: DataFrame, request: BuildRequest, found: Totals) -> InvalidError:
    """Says also which records to leave out for a trace that is not: one wrong year among millions is hard to find."""
    step, keys = step_micros(request.step), len(found.keys or (1,))
    each = f" for each of {keys} keys" if keys > 1 else ""
    width = max(1, request.most_steps // keys // _STRETCHES)
    numbers = "sum(count) AS records", "min(first) AS first", "max(last) AS last"
    stretches = counts.where(f"kind = {Kind.COUNTED}").groupBy(expr(f"floor(start / {step * width}L) AS number"))
    rows = stretches.agg(*(expr(number) for number in numbers)).orderBy("records", ascending=False).limit(_MOST_STRETCHES).collect()
    most = densest([Bucket(*row) for row in rows], _STRETCHES)
    since, until = step_start(most.first, step), min(step_start(most.last, step) + step, END_MICROS - 1)
    first, last = map(iso_time, found.seen or (0, 0))
    return InvalidError(
        f"records from {first} to {last} make {found.steps * keys:,} steps of {request.step}{each}, more than the"
        f" {request.most_steps:,} of --most-steps; {most.records:,} of the {found.counted:,} are kept with"
        f" --from {iso_time(since)} --until {iso_time(until)}; or take a longer --step, or raise --most-steps"
    )
