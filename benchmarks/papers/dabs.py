"""DABS-Storm (Kotto-Kombi, Lumineau, Lamarre, Rivetti, Busnel): Figures 12 to 17, of which its text tells some numbers.

Its streams are drawn without a scale and its bolts without a cost, so both are made up (`inputs`, `applications`); what can be compared
is who loses less, who needs more, and about how much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from benchmarks.papers.report import Column, Drawing, Experiment, Report, columns_table
from benchmarks.papers.runs import Course, Laboratory, Run
from benchmarks.papers.verdict import Verdict, of_claim, same_magnitude
from benchmarks.report import markdown

INCREMENTAL, LEARNING, DABS, AUTOSCALE = "incremental", "Rlearning", "AUTOSCALE+", "AUTOSCALE"
LATE = 30.0
"""Its time-out: what is later counts as lost."""
POOL = 24
_REBALANCE = (0.0, 10.0)
_DECIDES = 10.0


@dataclass(frozen=True, slots=True)
class Claim:
    """What the text says: `less` has less of `what` than each of `more`; `times`: by that factor, where it says one."""

    text: str
    what: str
    less: str
    more: Sequence[str]
    times: float | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One of them. `lost`: the shares that the text tells."""

    number: int
    stream: str
    application: str
    lost: Mapping[str, float]
    claims: Sequence[Claim]


FIGURES = (
    Figure(
        12,
        "progressive",
        "insensitive",
        {INCREMENTAL: 0.29, DABS: 0.07},
        (
            Claim("incremental uses 64 % more than Rlearning", "replicas", LEARNING, [INCREMENTAL], 1.64),
            Claim("incremental uses 18 % more than AUTOSCALE+", "replicas", DABS, [INCREMENTAL], 1.18),
            Claim("AUTOSCALE+ has the lowest latency", "latency s", DABS, [INCREMENTAL, LEARNING]),
        ),
    ),
    Figure(
        13,
        "erratic",
        "insensitive",
        {INCREMENTAL: 0.19, LEARNING: 0.13, DABS: 0.18},
        (Claim("incremental uses more than Rlearning", "replicas", LEARNING, [INCREMENTAL]),),
    ),
)


def runs_of(figure: Figure, lab: Laboratory) -> dict[str, Run]:
    """The three that are compared, and AUTOSCALE, whose figures are elsewhere. Changes are restarts, as in Storm 1."""

    def run(policy: str, **options: str) -> Run:
        return Run(
            figure.stream,
            policy,
            options=options,
            interval_seconds=_DECIDES,
            application=figure.application,
            pool=POOL,
            benchmarked=False,
            restart=_REBALANCE,
        )

    return {
        INCREMENTAL: run("incremental"),
        LEARNING: lab.learned(run("rlearning")),
        DABS: run("dabs"),
        AUTOSCALE: run("dabs", variant="autoscale"),
    }


def _made(figure: Figure, lab: Laboratory) -> Report:
    runs = runs_of(figure, lab)
    courses = dict(zip(runs, lab.courses(list(runs.values()), f"Figure {figure.number}"), strict=True))
    values = told(courses)
    lost = Column("lost", figure.lost, values["lost"])
    columns = [lost, *(Column(name, {}, found) for name, found in values.items() if name != "lost")]
    name = f"DABS, Figure {figure.number}"
    verdicts = {f"{name}, column lost": lost.verdict}
    lines = []
    for claim in figure.claims:
        verdict, said = judged(claim, values[claim.what])
        verdicts[f"{name}: {claim.text}"] = verdict
        lines.append([claim.text, said, verdict])
    parts = [columns_table(columns), markdown(["the text", "here", "verdict"], lines)]
    return Report(f"{name}: {figure.application} topology, {figure.stream} stream", parts, verdicts, [_drawing(figure, courses)])


def told(courses: Mapping[str, Course]) -> dict[str, dict[str, float]]:
    """What is compared, by system: the share that was late or lost, replicas in the mean, latency, and changes."""
    return {
        "lost": {name: course.late_after(LATE) for name, course in courses.items()},
        "replicas": {name: fmean(course.replicas) for name, course in courses.items()},
        "latency s": {name: course.latency_ms / 1000.0 for name, course in courses.items()},
        "changes": {name: float(course.changes) for name, course in courses.items()},
    }


def judged(claim: Claim, values: Mapping[str, float]) -> tuple[Verdict, str]:
    """By its direction, and by its size where it has one: the part above one, within a factor of ten."""
    least = values[claim.less]
    order = all(least < values[other] for other in claim.more)
    said = ", ".join(f"{name} {values[name]:.3g}" for name in (claim.less, *claim.more))
    if claim.times is None or not least:
        return of_claim(order=order, size=order), said
    times = values[claim.more[0]] / least
    return of_claim(order=order, size=same_magnitude(claim.times - 1.0, times - 1.0)), f"{said}: {times:.2f} times"


def _drawing(figure: Figure, courses: Mapping[str, Course]) -> Drawing:
    moments = [5.0 * step for step in range(len(next(iter(courses.values())).replicas))]
    title = f"DABS-Storm, Figure {figure.number}: {figure.application}, {figure.stream}"
    return Drawing(f"dabs-figure-{figure.number}", title, "replicas", {name: (moments, each.replicas) for name, each in courses.items()})


EXPERIMENTS = tuple(
    Experiment(f"dabs-figure-{each.number}", f"{each.application} topology, {each.stream} stream", partial(_made, each)) for each in FIGURES
)
