"""What our own policy does on the very inputs of the papers: what it saves at a latency that is no higher, beside each of their systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.papers import dabs, thesis
from benchmarks.papers.curves import INPUT, drawn_start, read_figure
from benchmarks.papers.inputs import read_rows
from benchmarks.papers.pa_sps import DATASETS, complex_runs, linear_start, other_runs, run_of, storm_runs
from benchmarks.papers.report import Experiment, Report
from benchmarks.papers.runs import Course, Laboratory, Run
from benchmarks.report import markdown

TARGETS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3)
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


def contests(lab: Laboratory) -> list[Contest]:
    """All inputs, and who ran on them."""
    found = []
    for dataset in DATASETS:
        start = drawn_start(read_figure(lab.data, f"{dataset.figure}-Replicas")[INPUT], read_rows(lab.data, dataset.trace))
        runs = {f"PA-SPS {model}": run_of(dataset.trace, model, start) for model in dataset.rows}
        if dataset.trace == "sbac":
            others = {**other_runs(start), **storm_runs(start)}
            runs |= {name: run for name, run in others.items() if name != "PA-SPS"}
        found.append(Contest(dataset.trace, dataset.over, runs))
    branches = complex_runs(linear_start(lab))
    found.append(Contest("sbac, complex application", 40, {"PA-SPS": branches["PA-SPS"], **thesis.complex_runs(linear_start(lab))}))
    found.append(Contest("Gaussian", thesis.GAUSSIAN_OVER, {f"RA-SPS {name}": run for name, run in thesis.pool_runs().items()}))
    found.append(Contest("smoothed, an hour", thesis.PARTS_OVER, {f"RA-SPS {name}": run for name, run in thesis.reactive_runs().items()}))
    return found + [Contest(f"{each.stream}, {each.application}", 2 * dabs.POOL, dabs.runs_of(each, lab)) for each in dabs.FIGURES]


def _made(lab: Laboratory) -> Report:
    lines, ahead, all_ = [], 0, 0
    for contest in contests(lab):
        systems = dict(zip(contest.runs, lab.courses(list(contest.runs.values()), contest.name), strict=True))
        for name, system in systems.items():
            run = contest.runs[name]
            offers = offers_for(run, lab)
            won = best(system, offers, contest.over)
            is_ahead = won is not None and won.course.saved(contest.over) > system.saved(contest.over)
            ahead, all_ = ahead + is_ahead, all_ + 1
            lines.append([contest.name, name, *_cells(system, contest.over), *_offered(won, contest.over), "yes" if is_ahead else "NO"])
    head = ["input", "system", "saved", "latency ms", "p99 ms", "processed", "`pasps` with target", "saved", "latency ms", "p99 ms"]
    parts = [markdown([*head, "processed", "ahead"], lines), f"Ahead of {ahead} of {all_}."]
    return Report("`pasps` on the papers' inputs: the most that it saves with a mean latency that is no higher", parts)


def offers_for(run: Run, lab: Laboratory) -> list[Offer]:
    """With every target."""
    runs = [ours(run, target) for target in TARGETS]
    return [Offer(target, course) for target, course in zip(TARGETS, lab.courses(runs, "pasps"), strict=True)]


def _cells(course: Course, over: float) -> list[str]:
    milliseconds = (course.latency_ms, 1000.0 * course.p99_latency)
    return [f"{course.saved(over):.3f}", *(f"{each:,.1f}" for each in milliseconds), f"{course.processed:.3f}"]


def _offered(offer: Offer | None, over: float) -> list[str]:
    return ["none", "-", "-", "-", "-"] if offer is None else [f"{offer.target:g}", *_cells(offer.course, over)]


EXPERIMENTS = (Experiment("pasps-ahead", "our own policy on all inputs, beside each system", _made),)
