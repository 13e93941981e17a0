"""PA-SPS (Wladdimiro, Arantes, Sens, Hidalgo): Tables 2 to 8 and Figures 9, 10, 13 and 15.

The configuration is that of the authors' published controller: samples of 5 s, twelve of them, six ahead, a decision each 30 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from benchmarks.papers.applications import LINEAR
from benchmarks.papers.curves import (
    INPUT,
    LAST,
    STEP,
    at_steps,
    correlation,
    drawn_start,
    mean_apart,
    read_figure,
)
from benchmarks.papers.inputs import read_rows
from benchmarks.papers.report import Column, Drawing, Experiment, Report, columns_table
from benchmarks.papers.runs import Course, Laboratory, Run
from benchmarks.papers.verdict import LEAST_CORRELATION, SOME_CORRELATION, Verdict, counted, of_curve
from benchmarks.report import markdown

MODELS = {"ANN": "ann-published", "FFT": "fft-published", "LR": "lr", "RF": "rf", "Basic": "basic"}
PUBLISHED = {"published": True}
REBALANCE = (0.0, 10.0)
"""Storm's rebalance with no wait: 7 to 12 s of silence on Storm 2.8.3. DABS-Storm's curve changes 5 s after another change at times, so
it did not wait either."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A row of a table: saved, degradation, processed, latency in ms, and the two columns of errors as they are headed."""

    saved: float
    degradation: float
    processed: float
    latency: float
    input_error: float | None = None
    replica_error: float | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table that compares the models. `apart`: so many seconds the runs of its figure may have begun apart, looked at each `every`, and
    then at each second around the best of those.

    `et_seconds`: that of the second bolt in its runs, by what they did in their first seconds and by their curves (the other bolts keep
    their ratios to it).
    """

    table: int
    trace: str
    figure: str
    over: float
    rows: Mapping[str, Printed]
    apart: int = 5
    every: int = 1
    et_seconds: float = 1.8e-3


DATASETS = (
    Dataset(
        2,
        "sbac",
        "TwitterLinear-Models",
        32,
        {
            "ANN": Printed(0.475, 0.070, 1.000, 355.490, 0.212, 0.277),
            "FFT": Printed(0.519, 0.189, 1.000, 1023.380, 0.249, 0.345),
            "LR": Printed(0.533, 0.195, 1.000, 663.030, 0.090, 0.140),
            "RF": Printed(0.538, 0.227, 0.996, 583.921, 0.140, 0.193),
            "Basic": Printed(0.560, 0.325, 1.000, 1295.490, 0.180, 0.287),
        },
    ),
    Dataset(
        6,
        "twitter-raw",
        "TwitterRaw",
        32,
        {
            "ANN": Printed(0.395, 0.213, 1.000, 1044.510, 0.424, 0.466),
            "FFT": Printed(0.153, 0.579, 1.000, 12285.990, 0.903, 1.282),
            "LR": Printed(0.421, 0.261, 0.988, 1366.680, 0.397, 0.391),
            "RF": Printed(0.539, 0.381, 0.987, 2610.330, 0.253, 0.398),
            "Basic": Printed(0.513, 0.251, 1.000, 1049.490, 0.312, 0.407),
        },
        et_seconds=1.875e-3,
    ),
    Dataset(
        7,
        "dns",
        "DNS",
        12,
        {
            "ANN": Printed(0.515, 0.381, 0.998, 446.840, 0.294, 0.872),
            "FFT": Printed(0.498, 0.337, 0.995, 397.140, 0.367, 1.674),
            "LR": Printed(0.561, 0.350, 1.000, 464.010, 0.216, 0.714),
            "RF": Printed(0.608, 0.436, 0.975, 545.910, 0.112, 0.583),
            "Basic": Printed(0.604, 0.511, 0.984, 487.600, 0.090, 0.738),
        },
        apart=30,
        every=5,
        et_seconds=1.6e-3,
    ),
    Dataset(
        8,
        "log",
        "Log",
        32,
        {
            "ANN": Printed(0.603, 0.236, 0.987, 905.290, 0.355, 0.537),
            "FFT": Printed(0.503, 0.572, 1.000, 9184.060, 0.746, 1.191),
            "LR": Printed(0.565, 0.252, 0.994, 1021.800, 0.412, 0.413),
            "RF": Printed(0.661, 0.335, 0.998, 1673.560, 0.243, 0.394),
            "Basic": Printed(0.655, 0.306, 0.989, 855.970, 0.250, 0.449),
        },
        apart=30,
        every=5,
        et_seconds=1.6e-3,
    ),
)

OVER = 32
"""r_over of Tables 3 and 4."""
STORM = {
    "PA-SPS": Printed(0.475, 0.071, 1.000, 355.490),
    "r=1": Printed(0.875, 0.515, 0.331, 196962.950),
    "r=4": Printed(0.500, 0.855, 0.987, 269.750),
    "r=8": Printed(0.000, 0.000, 1.000, 153.510),
}
OTHERS = {
    "PA-SPS": Printed(0.475, 0.071, 1.000, 355.490),
    "PSPS": Printed(0.561, 0.183, 0.998, 2098.910),
    "DABS": Printed(0.396, 0.284, 0.828, 1391.280),
}
TWO_BRANCHES = {"PA-SPS": Printed(0.688, 0.031, 1.000, 209.270), "r=5": Printed(0.000, 0.000, 1.000, 31.990)}


# ---- the models, on four inputs


@dataclass(frozen=True, slots=True)
class Placed:
    """A run and how like the published curve it is. `start` is that of its first row."""

    start: int
    course: Course
    theirs: Sequence[float]
    printed: float
    over: float

    @property
    def correlation(self) -> float:
        """Of all replicas, sample by sample."""
        return correlation(self.course.replicas, self.theirs)

    @property
    def apart(self) -> float:
        """In replicas, in the mean."""
        return mean_apart(self.course.replicas, self.theirs)

    @property
    def saved(self) -> float:
        """See `Course.saved`."""
        return self.course.saved(self.over)

    @property
    def verdict(self) -> Verdict:
        """By the rule for curves."""
        return of_curve(self.correlation, self.saved, self.printed)


@dataclass(frozen=True, slots=True)
class Compared:
    """One model on one input: begun with the drawn input, begun when it is most like its curve, and, begun then too, as it was run:
    with the et_i of its own figure and the published controller's sums of queues.
    """

    drawn: Placed
    own: Placed
    as_run: Placed


def compared(dataset: Dataset, lab: Laboratory) -> dict[str, Compared]:
    """All models. The five runs of a figure were begun by hand, each for itself, and its input is that of one of them."""
    curves, rows = read_figure(lab.data, f"{dataset.figure}-Replicas"), read_rows(lab.data, dataset.trace)
    drawn = drawn_start(curves[INPUT], rows)
    coarse = range(drawn - dataset.apart, drawn + dataset.apart + 1, dataset.every)
    near = range(1 - dataset.every, dataset.every)
    first = _tried(dataset, lab, curves, dict.fromkeys(dataset.rows, coarse))
    best = {model: min(placed, key=_likeness(drawn)).start for model, placed in first.items()}
    tried = _tried(dataset, lab, curves, {model: sorted({*coarse, *(start + off for off in near)}) for model, start in best.items()})
    found = {
        model: (next(each for each in placed if each.start == drawn), min(placed, key=_likeness(drawn))) for model, placed in tried.items()
    }
    summed = {model: as_run(dataset, run_of(dataset.trace, model, own.start)) for model, (_, own) in found.items()}
    courses = lab.courses(list(summed.values()), f"Table {dataset.table} as run")
    return {
        model: Compared(at_drawn, own, replace(own, course=course))
        for (model, (at_drawn, own)), course in zip(found.items(), courses, strict=True)
    }


def _likeness(drawn: int) -> Callable[[Placed], tuple[float, int]]:
    """Smaller is more like the published curve; of two alike, the one that begins nearer to the drawn input."""
    return lambda placed: (placed.apart, abs(placed.start - drawn))


def _tried(
    dataset: Dataset, lab: Laboratory, curves: Mapping[str, Mapping[int, float]], starts: Mapping[str, Iterable[int]]
) -> dict[str, list[Placed]]:
    """The models' runs that begin then, beside their curves."""
    runs = {model: [run_of(dataset.trace, model, start) for start in each] for model, each in starts.items()}
    lab.courses([run for each in runs.values() for run in each], f"Table {dataset.table}")
    return {
        model: [
            Placed(run.start, course, at_steps(curves[model]), dataset.rows[model].saved, dataset.over)
            for run, course in zip(each, lab.courses(each), strict=True)
        ]
        for model, each in runs.items()
    }


def as_run(dataset: Dataset, run: Run) -> Run:
    """The same with the et_i of its figure, and queues as the published controller sums them."""
    return replace(run, slower=dataset.et_seconds / LINEAR.et_seconds["B"], options={**run.options, "queue_share": "published"})


def run_of(trace: str, model: str, start: int) -> Run:
    """PA-SPS as it was published, with that model."""
    return Run(trace, "pa-sps", MODELS[model], PUBLISHED, start)


def model_runs(dataset: Dataset, start: int) -> dict[str, Run]:
    """All models of a table, begun at the same second."""
    return {model: run_of(dataset.trace, model, start) for model in dataset.rows}


def models_table(dataset: Dataset, lab: Laboratory) -> Report:
    """A table of the models: replica curves and saved resources, and the other columns."""
    found = compared(dataset, lab)
    verdicts = {f"Table {dataset.table}, {model}": each.own.verdict for model, each in found.items()}
    at_drawn, summed = ([getattr(each, name).verdict for each in found.values()] for name in ("drawn", "as_run"))
    courses = {model: each.own.course for model, each in found.items()}
    columns = [*measures(dataset.rows, courses, dataset.over), *_errors(dataset.rows, courses)]
    parts = [
        _curves_table(found, dataset),
        f"Begun with the drawn input: {counted(at_drawn)}; each begun by itself: {counted(verdicts.values())}; as run: {counted(summed)}.",
        columns_table(columns),
    ]
    verdicts |= {f"Table {dataset.table}, column {column.name}": column.verdict for column in columns}
    return Report(f"PA-SPS, Table {dataset.table}: {dataset.trace}, {dataset.over:g} replicas", parts, verdicts)


def _curves_table(found: Mapping[str, Compared], dataset: Dataset) -> str:
    head = ["model", "saved: paper", "begun with the drawn input: saved, r, apart", "verdict", "begun by itself: at", "saved, r, apart"]
    head += ["verdict", "as run: saved, r, apart", "verdict"]
    lines = [
        [
            model,
            f"{dataset.rows[model].saved:.3f}",
            *_told(each.drawn),
            f"{each.own.start:+d} s",
            *_told(each.own),
            *_told(each.as_run),
        ]
        for model, each in found.items()
    ]
    return markdown(head, lines)


def _told(placed: Placed) -> tuple[str, str]:
    return f"{placed.saved:.3f}, {placed.correlation:.2f}, {placed.apart:.2f}", placed.verdict


def measures(printed: Mapping[str, Printed], courses: Mapping[str, Course], over: float) -> list[Column]:
    """The four columns that all tables have."""
    return [
        Column("saved", {name: row.saved for name, row in printed.items()}, {name: one.saved(over) for name, one in courses.items()}),
        Column(
            "degradation",
            {name: row.degradation for name, row in printed.items()},
            {name: one.degradation for name, one in courses.items()},
        ),
        Column("processed", {name: row.processed for name, row in printed.items()}, {name: one.processed for name, one in courses.items()}),
        Column(
            "latency ms",
            {name: row.latency for name, row in printed.items()},
            {name: one.latency_ms for name, one in courses.items()},
            ".1f",
        ),
    ]


def _errors(printed: Mapping[str, Printed], courses: Mapping[str, Course]) -> list[Column]:
    """Each of our errors beside the column that is headed with the other's name: they look swapped (docs/papers.md)."""
    ours_in = {name: one.input_error for name, one in courses.items()}
    ours_replica = {name: one.replica_error for name, one in courses.items()}
    return [
        Column(
            '"error replica", beside our error of the input',
            {name: row.replica_error for name, row in printed.items() if row.replica_error is not None},
            {name: value for name, value in ours_in.items() if value is not None},
        ),
        Column(
            '"error input", beside our error of the replicas',
            {name: row.input_error for name, row in printed.items() if row.input_error is not None},
            {name: value for name, value in ours_replica.items() if value is not None},
        ),
    ]


# ---- against others


def linear_start(lab: Laboratory) -> int:
    """When the input of the figures of the smoothed stream began."""
    figure = read_figure(lab.data, "TwitterLinear-Models-Replicas")
    return drawn_start(figure[INPUT], read_rows(lab.data, "sbac"))


def storm_runs(start: int) -> dict[str, Run]:
    """PA-SPS, and Storm with as many replicas all the time."""
    found = {"PA-SPS": run_of("sbac", "ANN", start)}
    return found | {f"r={count}": Run("sbac", "static", start=start, replicas=count) for count in (1, 4, 8)}


def other_runs(start: int) -> dict[str, Run]:
    """PA-SPS, its predecessor with a pool of 12, and DABS-Storm."""
    return {
        "PA-SPS": run_of("sbac", "ANN", start),
        "PSPS": Run("sbac", "presps", start=start, pool=12),
        "DABS": Run("sbac", "dabs", start=start, interval_seconds=10.0, restart=REBALANCE),
    }


def complex_runs(start: int) -> dict[str, Run]:
    """PA-SPS, and Storm with five replicas of each of eight bolts."""
    return {
        "PA-SPS": replace(run_of("sbac", "ANN", start), application="complex"),
        "r=5": Run("sbac", "static", start=start, replicas=5, application="complex"),
    }


def systems_table(title: str, printed: Mapping[str, Printed], runs: Mapping[str, Run], over: float, lab: Laboratory) -> Report:
    """A table of systems: its four columns."""
    courses = dict(zip(runs, lab.courses(list(runs.values()), title), strict=True))
    columns = measures(printed, courses, over)
    return Report(title, [columns_table(columns)], {f"{title.split(':')[0]}, column {each.name}": each.verdict for each in columns})


def _storm(lab: Laboratory) -> Report:
    return systems_table("PA-SPS, Table 3: against Storm", STORM, storm_runs(linear_start(lab)), OVER, lab)


def _others(lab: Laboratory) -> Report:
    return systems_table("PA-SPS, Table 4: against other systems", OTHERS, other_runs(linear_start(lab)), OVER, lab)


def _complex(lab: Laboratory) -> Report:
    return systems_table("PA-SPS, Table 5: a complex application", TWO_BRANCHES, complex_runs(linear_start(lab)), 40, lab)


# ---- figures


def drawn_figure(number: int, title: str, figure: str, courses: Mapping[str, tuple[str, Course]], lab: Laboratory) -> Report:
    """(a) all replicas and (b) throughput: ours, by the name of the published series, and how like them they are."""
    replicas, throughput = (read_figure(lab.data, f"{figure}-{kind}") for kind in ("Replicas", "Throughput"))
    moments = list(range(0, LAST + 1, STEP))
    lines, verdicts = [], dict[str, Verdict]()
    for name, (series, course) in courses.items():
        found = {}
        if series in replicas:
            found["replicas"] = correlation(course.replicas, at_steps(replicas[series]))
        if series in throughput:
            found["throughput"] = correlation(course.done, at_steps(throughput[series], STEP))
        lines.append([name, *(f"{found[kind]:.2f}" if kind in found else "not drawn" for kind in ("replicas", "throughput"))])
        verdicts |= {f"Figure {number}, {name}, {kind}": _alike(value) for kind, value in found.items()}
    drawings = [
        Drawing(
            f"pa-sps-figure-{number}a",
            f"{title}: replicas",
            "replicas",
            {name: (moments, course.replicas) for name, (_, course) in courses.items()},
            {name: _line(replicas[series]) for name, (series, _) in courses.items() if series in replicas},
        ),
        Drawing(
            f"pa-sps-figure-{number}b",
            f"{title}: events done in 5 s",
            "events",
            {name: (moments[1:], course.done) for name, (_, course) in courses.items()},
            {name: _line(throughput[series]) for name, (series, _) in courses.items() if series in throughput},
        ),
    ]
    return Report(f"PA-SPS, Figure {number}: {title}", [markdown(["curve", "replicas: r", "throughput: r"], lines)], verdicts, drawings)


def _alike(value: float) -> Verdict:
    """The half of the rule that is about curves."""
    return Verdict.REPRODUCED if value >= LEAST_CORRELATION else Verdict.IN_PART if value >= SOME_CORRELATION else Verdict.NOT


def _line(curve: Mapping[int, float]) -> tuple[list[float], list[float]]:
    return [float(second) for second in curve], list(curve.values())


def _models_figure(number: int, dataset: Dataset, lab: Laboratory) -> Report:
    found = {model: (model, each.own.course) for model, each in compared(dataset, lab).items()}
    return drawn_figure(number, f"the models, {dataset.trace}", dataset.figure, found, lab)


def _others_figure(lab: Laboratory) -> Report:
    runs = other_runs(linear_start(lab))
    courses = dict(zip(runs, lab.courses(list(runs.values()), "Figure 10"), strict=True))
    return drawn_figure(10, "against other systems", "TwitterLinear-RW", {name: (name, course) for name, course in courses.items()}, lab)


def _experiments() -> list[Experiment]:
    by_table = {dataset.table: dataset for dataset in DATASETS}
    found = {
        number: Experiment(f"pa-sps-table-{number}", f"the models on {each.trace}", partial(models_table, each))
        for number, each in by_table.items()
    }
    found[3] = Experiment("pa-sps-table-3", "PA-SPS against Storm with fixed replicas", _storm)
    found[4] = Experiment("pa-sps-table-4", "PA-SPS against PSPS and DABS-Storm", _others)
    found[5] = Experiment("pa-sps-table-5", "a complex application, against Storm", _complex)
    figures = [
        Experiment("pa-sps-figure-9", "replicas and throughput of the models, smoothed", partial(_models_figure, 9, by_table[2])),
        Experiment("pa-sps-figure-10", "replicas and throughput of PA-SPS, PSPS and DABS-Storm", _others_figure),
        Experiment("pa-sps-figure-13", "replicas and throughput of the models, DNS", partial(_models_figure, 13, by_table[7])),
        Experiment("pa-sps-figure-15", "replicas and throughput of the models, Log", partial(_models_figure, 15, by_table[8])),
    ]
    return [found[number] for number in sorted(found)] + figures


EXPERIMENTS = tuple(_experiments())
