"""From the counts of a build to what is said of its trace; refuses one that would be too long or have too many keys. Pure."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pasps.data.build_request import BuildRequest
from pasps.data.record_source import REASONS, Kind
from pasps.data.steps import END_MICROS, SECOND, iso_time, step_micros, step_start
from pasps.errors import InvalidError

if TYPE_CHECKING:
    # a command names what is said, and does without numpy
    from pasps.data.arrays import Ints

_STRETCHES = 100
"""A trace that is as long as it may be is looked at in so many stretches, when it would be longer."""
_LONGEST_NAME = 80


class Group(NamedTuple):
    """Records of one kind, those that are counted also of one key if that is wanted; the first and the last moment of them."""

    kind: int
    key: str | None
    records: int
    first: int | None
    last: int | None


class Bucket(NamedTuple):
    """Records of one stretch of time, all stretches being of one length: its number, how many, the first and last moment of them."""

    number: int
    records: int
    first: int
    last: int


class Majority(NamedTuple):
    """From the first to the last of so many records."""

    first: int
    last: int
    records: int


@dataclass(frozen=True, slots=True)
class Totals:
    """Numbers of a trace: `first` is the start of the first of its `steps`, records' times are in `seen`; all in microseconds."""

    kinds: Mapping[Kind, int]
    steps: int = 0
    first: int = 0
    seen: tuple[int, int] | None = None
    keys: Sequence[str] | None = None

    @property
    def counted(self) -> int:
        """Records that are in the trace."""
        return self.kinds.get(Kind.COUNTED, 0)

    @property
    def bad(self) -> dict[str, int]:
        """Bad records by reason."""
        return {reason: self.kinds[kind] for kind, reason in REASONS.items() if kind in self.kinds}

    @property
    def rows(self) -> int:
        """Steps of all keys."""
        return self.steps * len(self.keys or (1,))


@dataclass(frozen=True, slots=True)
class KeySummary:
    """One key's part: `file` is its trace, in `by-key`."""

    file: str
    counted: int
    peak: int


@dataclass(frozen=True, slots=True)
class Summary:
    """All numbers of a build.

    `records` is `counted`, the bad ones and `outside`; lines that are blank, or a CSV file's header, are no records. `first` and
    `last` are times of records, not of steps, of which there are `steps`; None when none was counted.
    """

    out: str
    format: str
    paths: tuple[str, ...]
    time_zone: str
    records: int
    counted: int
    bad: Mapping[str, int]
    outside: int
    blank: int
    headers: int
    first: str | None
    last: str | None
    steps: int
    step_seconds: float
    peak: int
    peak_time: str | None
    mean: float
    keys: Mapping[str, KeySummary] | None = None

    @property
    def bad_total(self) -> int:
        """All bad records."""
        return sum(self.bad.values())

    def as_object(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def totals(groups: Sequence[Group], request: BuildRequest) -> Totals:
    """The numbers of the trace that these records make.

    Raises:
        InvalidError: it would have more keys than the request allows.
    """
    kinds: Counter[Kind] = Counter()
    for group in groups:
        kinds[Kind(group.kind)] += group.records
    counted = [group for group in groups if group.kind == Kind.COUNTED]
    keys = None if request.records.key is None else sorted(str(group.key) for group in counted)
    if len(keys or ()) > request.most_keys:
        some = ", ".join(repr(key[:40]) for key in (keys or ())[:3])
        raise InvalidError(
            f"key {request.records.key!r}: there are more than {request.most_keys:,} keys, such as {some};"
            " give a key with fewer values, or raise --most-keys"
        )
    if not counted:
        return Totals(kinds, keys=keys)
    step = step_micros(request.step)
    seen = min(group.first for group in counted if group.first is not None), max(group.last for group in counted if group.last is not None)
    first, last = (step_start(moment, step) for moment in seen)
    return Totals(kinds, (last - first) // step + 1, first, seen, keys)


def stretch_micros(found: Totals, request: BuildRequest) -> int:
    """How long the stretches are by which `too_long` is to see where the records lie."""
    return max(1, request.most_steps // len(found.keys or (1,)) // _STRETCHES) * step_micros(request.step)


def too_long(found: Totals, buckets: Sequence[Bucket], request: BuildRequest) -> InvalidError:
    """Says also which records to leave out for a trace that is not: one wrong year among millions is hard to find."""
    step, keys = step_micros(request.step), len(found.keys or (1,))
    each = f" for each of {keys} keys" if keys > 1 else ""
    most = densest(buckets, _STRETCHES)
    since, until = step_start(most.first, step), min(step_start(most.last, step) + step, END_MICROS - 1)
    first, last = map(iso_time, found.seen or (0, 0))
    return InvalidError(
        f"records from {first} to {last} make {found.rows:,} steps of {request.step}{each}, more than the"
        f" {request.most_steps:,} of --most-steps; {most.records:,} of the {found.counted:,} are kept with"
        f" --from {iso_time(since)} --until {iso_time(until)}; or take a longer --step, or raise --most-steps"
    )


def densest(buckets: Sequence[Bucket], most: int) -> Majority:
    """The most records that lie in `most` stretches that follow each other; of several such, the latest.

    Args:
        buckets: At least one, in any order, none twice.
    """
    ordered = sorted(buckets)
    best, inside, oldest = Majority(0, 0, 0), 0, 0
    for newest in ordered:
        inside += newest.records
        while newest.number - ordered[oldest].number >= most:
            inside -= ordered[oldest].records
            oldest += 1
        if inside >= best.records:
            best = Majority(ordered[oldest].first, newest.last, inside)
    return best


def summary(found: Totals, whole: Ints, counts: Ints, request: BuildRequest, out: str) -> Summary:
    """What is said of the trace; `whole` has a count for each step, `counts` a row of them for each key."""
    seen, bad, step = found.seen, found.bad, step_micros(request.step)
    outside = found.kinds.get(Kind.OUTSIDE, 0)
    peak = int(whole.argmax()) if found.steps else 0
    files = key_files(found.keys or ())
    keys = {key: KeySummary(files[key], int(row.sum()), int(row.max())) for key, row in zip(found.keys or (), counts, strict=False)}
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
        step_seconds=step / SECOND,
        peak=int(whole[peak]) if found.steps else 0,
        peak_time=iso_time(found.first + peak * step) if seen else None,
        mean=found.counted / found.steps if found.steps else 0.0,
        keys=None if found.keys is None else keys,
    )


def key_files(keys: Iterable[str]) -> dict[str, str]:
    """A file name for each key that every file system takes, and no two of which differ by case only."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for key in sorted(keys):
        safe = re.sub(r"[^A-Za-z0-9.-]+", "_", key)[:_LONGEST_NAME].strip("._-") or "none"
        if safe != key or safe.casefold() in taken:
            safe += "-" + hashlib.sha256(key.encode()).hexdigest()[:8]
        taken.add(safe.casefold())
        found[key] = f"{safe}.csv"
    return found
