"""What a run's samples say for a simulation: its input by the second, how many replicas worked when, and where two courses differ. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pasps.api.blueprint import Blueprint
from pasps.control.decision_log import Record
from pasps.control.et_file import EtFile, OperatorTimes
from pasps.control.run_log import Sample
from pasps.errors import InvalidError
from pasps.simulation.arrivals import Arrivals

Course = Sequence[tuple[float, Mapping[str, int]]]
"""When how many replicas of each bolt were active, changes only."""
_LEAST_SECONDS = 5
_FIRST = 3.0
"""What was due by the first sample belongs to the second before it, unless it is more than so many seconds' worth: then it is left out."""


def input_of(samples: Iterable[Sample], where: str) -> tuple[Arrivals, float]:
    """Events that became due in each second, on the line between two samples; and the run's uptime when that begins.

    Of a long run whose first samples are gone, what was due before is left out.

    Raises:
        InvalidError: less than some seconds were sampled, or nothing became due.
    """
    times, dues = list[float](), list[int]()
    for sample in samples:
        if sample.complete and (not times or sample.uptime > times[-1]):
            times.append(sample.uptime)
            dues.append(max(sample.due, dues[-1] if dues else 0))
    if len(times) < 2 or times[-1] - times[0] < _LEAST_SECONDS:
        raise InvalidError(f"{where}: {len(times)} samples are no input to simulate; expected {_LEAST_SECONDS} s of them at least")
    if dues[-1] == dues[0]:
        raise InvalidError(f"{where}: no event became due between the first and the last sample, so there is nothing to simulate")
    if times[0] and 0 < dues[0] <= _FIRST * (dues[1] - dues[0]) / (times[1] - times[0]):
        # the first sample is taken a second after the spouts began
        times.insert(0, max(0.0, times[0] - 1.0))
        dues.insert(0, 0)
    begin, place, sums = times[0], 0, list[float]()
    for second in range(int(times[-1] - begin) + 1):
        at = begin + second
        while times[place + 1] < at and place + 2 < len(times):
            place += 1
        share = min(1.0, (at - times[place]) / (times[place + 1] - times[place]))
        sums.append(dues[place] + share * (dues[place + 1] - dues[place]))
    rates = [later - earlier for earlier, later in pairwise(sums)]
    if dues[-1] > sums[-1]:  # a part of a second, which has a row of its own: with the one before it would be a burst
        rates.append(dues[-1] - sums[-1])
    return Arrivals.of(rates), begin


def times_of_run(samples: Iterable[Sample], records: Iterable[Record], blueprint: Blueprint) -> EtFile:
    """What a benchmark would have found, as far as a run says it: the mean of each bolt that executed, and what events became."""
    last = None
    for sample in samples:
        last = sample
    bolts = {} if last is None else {name: bolt.seconds / bolt.executed for name, bolt in last.bolts.items() if bolt.executed}
    theta = dict[str, Mapping[str, float]]()
    for record in records:
        theta = dict(record.situation.estimates.selectivity) if record.situation is not None else theta
    operators = {}
    for name, seconds in bolts.items():
        if name not in blueprint.components or not seconds:
            continue
        out = {
            edge.stream: theta[edge.target][name] for edge in blueprint.edges if edge.source == name and name in theta.get(edge.target, {})
        }
        operators[name] = OperatorTimes(seconds, blueprint.components[name].execution, None, selectivity=out)
    return EtFile(blueprint.name, operators)


def replicas_of(samples: Iterable[Sample], begin: float) -> list[tuple[float, Mapping[str, int]]]:
    """Who worked when, counted from `begin`."""
    found = list[tuple[float, Mapping[str, int]]]()
    for sample in samples:
        active = {name: bolt.active for name, bolt in sample.bolts.items()}
        if sample.complete and (not found or found[-1][1] != active):
            found.append((max(0.0, sample.uptime - begin), active))
    return found


@dataclass(frozen=True, slots=True)
class Difference:
    """From `begin` to `end` a bolt had so many active replicas in the first course and so many in the second; `seconds` after the begin."""

    begin: float
    end: float
    bolt: str
    first: int
    second: int


def differences(first: Course, second: Course, seconds: float) -> list[Difference]:
    """Where two courses of so many seconds differ, bolt by bolt, in the order of time."""
    found = []
    for bolt in sorted({name for _, active in (*first, *second) for name in active}):
        moments = sorted({0.0, *(at for at, _ in first), *(at for at, _ in second)})
        open_: Difference | None = None
        for at, one, other in zip(moments, _counts(first, moments, bolt), _counts(second, moments, bolt), strict=True):
            if open_ is not None and (open_.first, open_.second) != (one, other):
                found.append(Difference(open_.begin, at, bolt, open_.first, open_.second))
                open_ = None
            if open_ is None and one is not None and other is not None and one != other and at < seconds:
                open_ = Difference(at, seconds, bolt, one, other)
        if open_ is not None:
            found.append(open_)
    return sorted(found, key=lambda each: (each.begin, each.bolt))


def _counts(course: Course, moments: Iterable[float], bolt: str) -> Iterator[int | None]:
    """How many it had at each of these moments, in order; before the first one that is known what it had at that."""
    count, place = None, 0
    for at in moments:
        while place < len(course) and (course[place][0] <= at or count is None):
            count = course[place][1].get(bolt, count)
            place += 1
        yield count


def mean_active(course: Course, seconds: float) -> dict[str, float]:
    """The mean of active replicas by bolt, over so many seconds."""
    found = dict[str, float]()
    ends = [at for at, _ in course[1:]] + [seconds]
    for (begin, active), end in zip(course, ends, strict=True):
        for bolt, count in active.items():
            found[bolt] = found.get(bolt, 0.0) + count * max(0.0, min(end, seconds) - min(begin, seconds))
    whole = seconds - min(course[0][0], seconds) if course else 0.0
    return {bolt: total / whole for bolt, total in found.items()} if whole else {}
