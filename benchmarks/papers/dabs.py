"""DABS-Storm (Kotto-Kombi, Lumineau, Lamarre, Rivetti, Busnel): Figures 12 to 17, of which its text tells some numbers.

Its streams are drawn without a scale and its bolts without a cost, so both are made up (`inputs`, `applications`); what can be compared
is who loses less, who needs more, and about how much. In 14 to 17 what an event takes goes by its value, and all systems have OSG; here
each is beside itself with other groupings too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from benchmarks.papers.applications import CLUSTER_CORES
from benchmarks.papers.curves import STEP
from benchmarks.papers.inputs import PLATEAU
from benchmarks.papers.report import Column, Drawing, Experiment, Report, columns_table
from benchmarks.papers.runs import Course, Laboratory, Run
from benchmarks.papers.verdict import Verdict, of_claim, same_magnitude
from benchmarks.report import markdown

INCREMENTAL, LEARNING, DABS, AUTOSCALE = "incremental", "Rlearning", "AUTOSCALE+", "AUTOSCALE"
LATE = 30.0
"""Its time-out: what is later counts as lost."""
POOL = 24
OSG = "OSG"
BESIDE = ("shuffle", "load-aware")
"""Groupings that each system is tried with beside OSG."""
PLATEAU_LATENCY = "latency s at the plateau"
_REBALANCE = (0.0, 10.0)
_DECIDES = 10.0


@dataclass(frozen=True, slots=True)
class Claim:
    """What the text says: each of `less` has less of `what` than each of `more`; `times`: the first by that factor, where it says one.

    `alike`: it says that they have about the same instead, which is that none has ten times as much as another.
    """

    text: str
    what: str
    less: Sequence[str]
    more: Sequence[str]
    times: float | None = None
    alike: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """One of them. `lost`: the shares that the text tells. `reading`: of a figure that is made in several ways, which this is."""

    number: int
    stream: str
    application: str
    lost: Mapping[str, float]
    claims: Sequence[Claim]
    reading: str = ""

    @property
    def name(self) -> str:
        """On the command line."""
        return "-".join(filter(None, ("dabs-figure", str(self.number), self.reading)))

    @property
    def sensitive(self) -> bool:
        """Whether what an event takes goes by its value."""
        return self.number >= _FIRST_SENSITIVE


_FIRST_SENSITIVE = 14
_OTHERS = (INCREMENTAL, LEARNING)
INSENSITIVE = (
    Figure(
        12,
        "progressive",
        "insensitive",
        {INCREMENTAL: 0.29, DABS: 0.07},
        (
            Claim("incremental uses 64 % more than Rlearning", "replicas", [LEARNING], [INCREMENTAL], 1.64),
            Claim("incremental uses 18 % more than AUTOSCALE+", "replicas", [DABS], [INCREMENTAL], 1.18),
            Claim("AUTOSCALE+ has the lowest latency", "latency s", [DABS], _OTHERS),
        ),
    ),
    Figure(
        13,
        "erratic",
        "insensitive",
        {INCREMENTAL: 0.19, LEARNING: 0.13, DABS: 0.18},
        (Claim("incremental uses more than Rlearning", "replicas", [LEARNING], [INCREMENTAL]),),
    ),
)
_SENSITIVE = (
    Figure(
        14,
        "progressive-sparse",
        "simple sensitive",
        {},
        (
            Claim("AUTOSCALE+ is quickest at the highest rate", PLATEAU_LATENCY, [DABS], _OTHERS),
            Claim("Rlearning loses least", "lost", [LEARNING], [INCREMENTAL, DABS]),
            Claim("losses are alike", "lost", [DABS, INCREMENTAL, LEARNING], [], alike=True),
        ),
    ),
    Figure(
        15,
        "erratic-sparse",
        "simple sensitive",
        {DABS: 0.048},
        (
            Claim("incremental uses most", "replicas", [DABS, LEARNING], [INCREMENTAL]),
            Claim("incremental loses most", "lost", [DABS, LEARNING], [INCREMENTAL]),
        ),
    ),
    Figure(
        16,
        "progressive-sparse",
        "complex sensitive",
        {},
        (
            Claim("DABS-Storm has the lowest latency", "latency s", [DABS], _OTHERS),
            Claim("DABS-Storm loses least", "lost", [DABS], _OTHERS),
            Claim("DABS-Storm uses most", "replicas", _OTHERS, [DABS]),
        ),
    ),
    Figure(
        17,
        "erratic-sparse",
        "complex sensitive",
        {DABS: 0.10},
        (
            Claim("DABS-Storm has the lowest latency", "latency s", [DABS], _OTHERS),
            Claim("DABS-Storm loses least", "lost", [DABS], _OTHERS),
        ),
    ),
)
COMPUTING = tuple(replace(each, application=f"{each.application}, computing", reading="computing") for each in INSENSITIVE)
"""CPU never counts for bolts that wait; these use some."""
FIGURES = (*INSENSITIVE, *COMPUTING, *_SENSITIVE)


def pool_of(figure: Figure) -> int:
    """Replicas of each bolt at most: for those that compute as many as there are cores."""
    return CLUSTER_CORES if figure.sensitive or figure.reading else POOL


def runs_of(figure: Figure, lab: Laboratory) -> dict[str, Run]:
    """The three that are compared, and AUTOSCALE, whose figures are elsewhere. Changes are restarts, as in Storm 1.

    Where the topology is sensitive all have OSG, and under their names with a grouping is what they do with that.
    """

    def run(policy: str, **options: str) -> Run:
        return Run(
            figure.stream,
            policy,
            options=options,
            interval_seconds=_DECIDES,
            application=figure.application,
            pool=pool_of(figure),
            benchmarked=False,
            restart=_REBALANCE,
        )

    runs = {
        INCREMENTAL: run("incremental"),
        LEARNING: lab.learned(run("rlearning")),
        DABS: run("dabs"),
        AUTOSCALE: run("dabs", variant="autoscale"),
    }
    if not figure.sensitive:
        return runs
    del runs[AUTOSCALE]
    found = {name: replace(each, grouping=OSG) for name, each in runs.items()}
    for grouping in BESIDE:
        found |= {f"{name}, {grouping}": replace(each, grouping=grouping) for name, each in runs.items()}
    return found


def _made(figure: Figure, lab: Laboratory) -> Report:
    runs = runs_of(figure, lab)
    courses = dict(zip(runs, lab.courses(list(runs.values()), f"Figure {figure.number}"), strict=True))
    values = told(courses)
    if not figure.stream.startswith("progressive"):
        del values[PLATEAU_LATENCY]
    lost = Column("lost", figure.lost, values["lost"])
    columns = [lost, *(Column(name, {}, found) for name, found in values.items() if name != "lost")]
    name = f"DABS, Figure {figure.number}" + (f", {figure.reading}" if figure.reading else "")
    verdicts = {f"{name}, column lost": lost.verdict}
    lines = []
    for claim in figure.claims:
        verdict, said = judged(claim, values[claim.what])
        verdicts[f"{name}: {claim.text}"] = verdict
        lines.append([claim.text, said, verdict])
    parts = [columns_table(columns), markdown(["the text", "here", "verdict"], lines)]
    return Report(f"{name}: {_about(figure)}", parts, verdicts, [_drawing(figure, courses)])


def _about(figure: Figure) -> str:
    return f"{figure.application} topology, {figure.stream} stream"


def told(courses: Mapping[str, Course]) -> dict[str, dict[str, float]]:
    """What is compared, by system: the share that was late or lost, replicas in the mean, latency, and changes."""
    return {
        "lost": {name: course.late_after(LATE) for name, course in courses.items()},
        "replicas": {name: fmean(course.replicas) for name, course in courses.items()},
        "latency s": {name: course.latency_ms / 1000.0 for name, course in courses.items()},
        PLATEAU_LATENCY: {name: plateau_latency(course) for name, course in courses.items()},
        "changes": {name: float(course.changes) for name, course in courses.items()},
    }


def plateau_latency(course: Course) -> float:
    """The mean of the samples' means while the progressive stream is at its highest; infinite where nothing is done then."""
    first, last = (second // STEP for second in PLATEAU)
    return fmean([each for each in course.latency[first:last] if each is not None] or [math.inf])


def judged(claim: Claim, values: Mapping[str, float]) -> tuple[Verdict, str]:
    """By its direction, and by its size where it has one: the part above one, within a factor of ten."""
    said = ", ".join(f"{name} {values[name]:.3g}" for name in (*claim.less, *claim.more))
    if claim.alike:
        found = [values[name] for name in claim.less]
        alike = same_magnitude(min(found), max(found))
        return of_claim(order=alike, size=alike), said
    order = all(values[one] < values[other] for one in claim.less for other in claim.more)
    least = values[claim.less[0]]
    if claim.times is None or not least:
        return of_claim(order=order, size=order), said
    times = values[claim.more[0]] / least
    return of_claim(order=order, size=same_magnitude(claim.times - 1.0, times - 1.0)), f"{said}: {times:.2f} times"


def _drawing(figure: Figure, courses: Mapping[str, Course]) -> Drawing:
    moments = [float(STEP * step) for step in range(len(next(iter(courses.values())).replicas))]
    title = f"DABS-Storm, Figure {figure.number}: {figure.application}, {figure.stream}"
    return Drawing(figure.name, title, "replicas", {name: (moments, each.replicas) for name, each in courses.items()})


EXPERIMENTS = tuple(Experiment(each.name, _about(each), partial(_made, each)) for each in FIGURES)
