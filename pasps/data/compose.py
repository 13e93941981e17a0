"""A test stream of the spikes of real traces: section 4.1.2 of PA-SPS, after Bodik et al. 2010. Pure.

Stretches are chosen from a pool, each brought to the level 1 before its spike, and joined by quiet rows in which one fades into the
next. So what is relative to the level before, slope and magnitude, stays as it was found.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pasps.data.arrays import Floats, np
from pasps.data.spikes import Spike, find_spikes
from pasps.data.stretches import FADE_ROWS, LEAST_EVENTS, Pool, Stretch, alternating, steepest
from pasps.errors import InvalidError


@dataclass(frozen=True, slots=True)
class Taken:
    """A stretch that is part of the stream, whose spike begins there at `onset`."""

    stretch: Stretch
    onset: int


@dataclass(frozen=True, slots=True)
class Composed:
    """The stream: events by row, what it was made of, and the spikes that are found in it."""

    counts: Sequence[int]
    taken: Sequence[Taken]
    spikes: Sequence[Spike]


def compose(pool: Pool) -> Composed:
    """The stream that is wanted, of exactly its length and peak; the same for the same stretches.

    Raises:
        InvalidError: there are not enough spikes for it.
    """
    wanted = pool.wanted
    chosen = _chosen(pool)
    random.Random(wanted.seed).shuffle(chosen)
    gaps = _gaps(chosen, wanted.length)
    values, onsets = _joined(chosen, gaps)
    counts = np.rint(values * (wanted.peak / values.max()))
    spikes = find_spikes(counts, wanted.share_rows, least_magnitude=wanted.least_magnitude)
    taken = [Taken(stretch, onset) for stretch, onset in zip(chosen, onsets, strict=True)]
    return Composed([int(count) for count in counts], taken, spikes)


def faded(tail: Floats, lead: Floats, rows: int) -> Floats:
    """So many rows that begin as `tail` and end as `lead`, and over all rows that both have go from one to the other."""
    from_tail, from_lead = min(len(tail), rows), min(len(lead), rows)
    both = from_tail + from_lead - rows
    weights = np.arange(1, both + 1) / (both + 1)
    begin, end = rows - from_lead, from_tail
    late = lead[len(lead) - from_lead :]
    middle = tail[begin:end] * (1.0 - weights) + late[:both] * weights
    return np.concatenate((tail[:begin], middle, late[both:]))


def limited(values: Floats, before: float, after: float, most: float) -> Floats:
    """The nearest rows, going from `before` to `after`, with no step larger than `most`; there are enough rows for that."""
    rows = values.tolist()
    last = before
    for place, value in enumerate(rows):
        rows[place] = last = min(max(value, last - most), last + most)
    last = after
    for place in reversed(range(len(rows))):
        rows[place] = last = min(max(rows[place], last - most), last + most)
    return np.array(rows)


def _chosen(pool: Pool) -> list[Stretch]:
    """Stretches that can be joined to the length, in the pool's order as far as that goes."""
    wanted = pool.wanted
    if not pool.ups and not pool.downs:
        raise InvalidError(
            f"{pool.rows:,} rows in {pool.traces} traces have no spike of {wanted.least_magnitude:g} to {wanted.most_magnitude:g} times "
            f"the level before it, with {LEAST_EVENTS / wanted.smooth_rows:g} events a row there, that lasts at most {wanted.share_rows} "
            "rows; give other traces, or other magnitudes"
        )
    queue = list(alternating(pool.ups, pool.downs))
    chosen = _filling(queue, wanted.length) if wanted.spikes is None else _counted(queue, wanted.spikes, wanted.length)
    most = _most_rows(chosen)
    if wanted.spikes is not None and len(chosen) < wanted.spikes:
        raise InvalidError(
            f"{wanted.spikes} spikes are wanted, and the traces have {len(chosen)} that fit; ask for fewer, or give more traces"
        )
    if most < wanted.length:
        of_them = f"the {pool.spikes} spikes that fit" if wanted.spikes is None else f"{len(chosen)} of the {pool.spikes} spikes that fit"
        raise InvalidError(
            f"a length of {wanted.length:,} rows cannot be composed: {of_them} reach {most:,} rows at most; "
            "ask for a shorter stream or more spikes, or give more traces"
        )
    return chosen


def _filling(queue: Iterable[Stretch], length: int) -> list[Stretch]:
    """As many as make up half of the length, and leave room to join them."""
    chosen: list[Stretch] = []
    spike_rows = least_rows = most_rows = 0
    for stretch in queue:
        needs = stretch.spike.rows + 2 * stretch.quiet_rows
        if 2 * spike_rows >= length <= most_rows or least_rows + needs > length:
            continue
        chosen.append(stretch)
        spike_rows += stretch.spike.rows
        least_rows += needs
        most_rows += len(stretch.values) - FADE_ROWS
    return chosen


def _counted(queue: Sequence[Stretch], count: int, length: int) -> list[Stretch]:
    """So many; those with little quiet around them give way to others if the length is not reached otherwise."""
    chosen, others = list(queue[:count]), sorted(queue[count:], key=lambda stretch: len(stretch.values))
    while others and _most_rows(chosen) < length:
        shortest = min(range(len(chosen)), key=lambda place: len(chosen[place].values))
        longest = others.pop()
        if len(longest.values) <= len(chosen[shortest].values):
            break
        chosen[shortest] = longest
    return chosen


def _most_rows(chosen: Sequence[Stretch]) -> int:
    return sum(len(stretch.values) for stretch in chosen) - FADE_ROWS * (len(chosen) - 1)


def _gaps(chosen: Sequence[Stretch], length: int) -> list[int]:
    """Quiet rows before each spike, and after the last: of what may be had between the least and the most, everywhere the same share."""
    first, last = chosen[0], chosen[-1]
    pairs = list(pairwise(chosen))
    least = [first.quiet_rows, *(a.quiet_rows + b.quiet_rows for a, b in pairs), last.quiet_rows]
    most = [len(first.lead), *(len(a.tail) + len(b.lead) - FADE_ROWS for a, b in pairs), len(last.tail)]
    missing = length - sum(stretch.spike.rows for stretch in chosen) - sum(least)
    room = np.cumsum([0, *(high - low for low, high in zip(least, most, strict=True))])
    given = np.diff(room * missing // max(1, int(room[-1]))).tolist()
    return [low + more for low, more in zip(least, given, strict=True)]


def _joined(chosen: Sequence[Stretch], gaps: Sequence[int]) -> tuple[Floats, list[int]]:
    """The rows, relative to the level, and where each spike begins."""
    first, last = chosen[0], chosen[-1]
    parts = [first.lead[len(first.lead) - gaps[0] :]]
    onsets = []
    for place, stretch in enumerate(chosen):
        onsets.append(sum(map(len, parts)))
        parts.append(stretch.body)
        if stretch is not last:
            after = chosen[place + 1]
            most = max(steepest(stretch.body), steepest(after.body))
            quiet = faded(stretch.tail, after.lead, gaps[place + 1])
            parts.append(limited(quiet, float(stretch.body[-1]), float(after.body[0]), most))
    parts.append(last.tail[: gaps[-1]])
    return np.concatenate(parts), onsets
