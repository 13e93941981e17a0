"""What our own policy does on the very inputs of the papers: what it saves at a latency that is no higher, beside each of their systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.papers import dabs, thesis
from benchmarks.papers.applications import APPLICATIONS
from benchmarks.papers.curves import INPUT, drawn_start, read_figure
from benchmarks.papers.inputs import read_rows
from benchmarks.papers.pa_sps import DATASETS, Dataset, complex_runs, linear_start, model_runs, other_runs, storm_runs
from benchmarks.papers.report import Experiment, Report
from benchmarks.papers.runs import Course, Laboratory, Run
from benchmarks.report import markdown

TARGETS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3)
"""The one knob: the share of its time that a replica is to be busy."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Systems on one input; all have the same application, start and pool, and `over` is what their table divides by."""

    name: str
    over: float
    runs: Mapping[str, Run]


@dataclass(frozen=True, slots=True)
class Offer:
    """What `pasps` did with one target."""

    target: float
    course: Course


def ours(run: Run, target: float) -> Run:
    """`pasps` on a system's input, with its pool and its start; nobody forecasts, and what an event takes it measures itself."""
    return Run(
        run.trace,
        "pasps",
        options={"target": target},
        start=run.start,
        application=run.application,
        pool=run.pool,
        replicas=1,
        benchmarked=False,
        seconds=run.seconds,
        slower=run.slower,
    )


def best(system: Course, offers: Sequence[Offer], over: float) -> Offer | None:
    """The one that saves most of those that are no slower: neither in the mean of the samples nor in that of the events."""
    able = [each for each in offers if each.course.latency_ms <= system.latency_ms and each.course.mean_latency <= system.mean_latency]
    return max(able, key=lambda each: each.course.saved(over), default=None)


def _dataset(dataset: Dataset, lab: Laboratory) -> Contest:
    start = drawn_start(read_figure(lab.data, f"{dataset.figure}-Replicas")[INPUT], read_rows(lab.data, dataset.trace))
    runs = {f"PA-SPS {model}": run for model, run in model_runs(dataset, start).items()}
    if dataset.trace == "sbac":
        others = {**other_runs(start), **storm_runs(start)}
        runs |= {name: run for name, run in others.items() if name != "PA-SPS"}
    return Contest(dataset.trace, dataset.over, runs)


def _branches(lab: Laboratory) -> Contest:
    start = linear_start(lab)
    runs = {"PA-SPS": complex_runs(start)["PA-SPS"], **thesis.complex_runs(start)}
    return Contest("sbac, complex application", 40, {name.replace("δ", "RA-SPS"): run for name, run in runs.items()})


def _gaussian(lab: Laboratory) -> Contest:
    return Contest("Gaussian", thesis.GAUSSIAN_OVER, {f"RA-SPS, {name}": run for name, run in thesis.pool_runs().items()})


def _hour(lab: Laboratory) -> Contest:
    return Contest("smoothed, an hour", thesis.PARTS_OVER, {f"RA-SPS, {name}": run for name, run in thesis.reactive_runs().items()})


def _dabs(figure: dabs.Figure, lab: Laboratory) -> Contest:
    runs = dabs.runs_of(figure, lab)
    bolts = len(APPLICATIONS[figure.application].edges)
    return Contest(f"{figure.stream}, {figure.application}", bolts * dabs.pool_of(figure), runs)


CONTESTS: Mapping[str, Callable[[Laboratory], Contest]] = {
    **{dataset.trace: partial(_dataset, dataset) for dataset in DATASETS},
    "complex": _branches,
    "gaussian": _gaussian,
    "hour": _hour,
    **{each.stream if each in dabs.INSENSITIVE else each.name: partial(_dabs, each) for each in dabs.FIGURES},
}


def _made(name: str, lab: Laboratory) -> Report:
    contest = CONTESTS[name](lab)
    systems = lab.courses(list(contest.runs.values()), name)
    lines, ahead = [], 0
    for (system, run), course in zip(contest.runs.items(), systems, strict=True):
        won = best(course, offers_for(run, lab), contest.over)
        is_ahead = won is not None and won.course.saved(contest.over) > course.saved(contest.over)
        ahead += is_ahead
        lines.append([system, *_cells(course, contest.over), *_offered(won, contest.over), "yes" if is_ahead else "NO"])
    head = ["system", "saved", "latency ms", "p99 ms", "processed", "`pasps` with target", "saved", "latency ms", "p99 ms"]
    parts = [markdown([*head, "processed", "ahead"], lines), f"Ahead of {ahead} of {len(lines)}."]
    return Report(f"`pasps` on {contest.name}: the most that it saves with a mean latency that is no higher", parts)


def offers_for(run: Run, lab: Laboratory) -> list[Offer]:
    """With every target."""
    runs = [ours(run, target) for target in TARGETS]
    return [Offer(target, course) for target, course in zip(TARGETS, lab.courses(runs, "pasps"), strict=True)]


def _cells(course: Course, over: float) -> list[str]:
    milliseconds = (course.latency_ms, 1000.0 * course.p99_latency)
    return [f"{course.saved(over):.3f}", *(f"{each:,.1f}" for each in milliseconds), f"{course.processed:.3f}"]


def _offered(offer: Offer | None, over: float) -> list[str]:
    return ["none", "-", "-", "-", "-"] if offer is None else [f"{offer.target:g}", *_cells(offer.course, over)]


EXPERIMENTS = tuple(
    Experiment(f"pasps-ahead-{name}", f"our own policy on {name}, beside each system", partial(_made, name)) for name in CONTESTS
)
