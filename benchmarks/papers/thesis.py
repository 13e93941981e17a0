"""D. Wladdimiro's thesis (2024): parameters of the predecessor of PA-SPS, groupings, pool or restart, and RA-SPS by parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

from benchmarks.papers.curves import INPUT, STEP, at_steps, correlation, drawn_start, read_figure
from benchmarks.papers.inputs import A_TENTH, SPARSE, read_rows
from benchmarks.papers.pa_sps import Printed, linear_start, measures, systems_table
from benchmarks.papers.report import Column, Drawing, Experiment, Report, columns_table
from benchmarks.papers.runs import Course, Laboratory, Run
from benchmarks.papers.verdict import Verdict, of_curve
from benchmarks.report import markdown

INTERVALS = {
    "td 30 s": Printed(0.5617, 0.1831, 0.9987, 2098.91),
    "td 60 s": Printed(0.5390, 0.4332, 0.9979, 5271.01),
    "td 120 s": Printed(0.5219, 0.9221, 0.9976, 17068.33),
    "td 180 s": Printed(0.5563, 0.8028, 0.9992, 22364.86),
}
TIME_OUTS = {"1 s": 0.9030, "5 s": 0.9303, "10 s": 0.9529, "30 s": 0.9987}
"""Processed. The other columns differ too, which a time-out of untracked events cannot do."""
QUEUES = {
    "100": Printed(0.6719, 0.1919, 0.6835, 29.91),
    "1000": Printed(0.6656, 0.1375, 0.6922, 311.93),
    "10000": Printed(0.6602, 0.1687, 0.7249, 1394.56),
    "100000": Printed(0.5617, 0.1831, 0.9987, 2098.91),
}
POOL_OR_RESTART = {"Storm-Pool": Printed(0.2038, 0.2039, 0.9987, 12121.92), "Storm-Default": Printed(0.2041, 0.4031, 0.8627, 913.10)}
PARTS = {
    "δ": Printed(0.3996, 0.1092, 0.8907, 39687.51),
    "U": Printed(-0.8934, 0.2597, 0.7402, 23441.39),
    "Q": Printed(0.4975, 0.6830, 0.3169, 28799.60),
}
TWO_BRANCHES = {"δ": Printed(0.5023, 0.4252, 0.98, 179.5401), "r=5": Printed(0.0, 0.0, 1.0, 31.990)}

_WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "δ": {},
    "U": {"weight_use": 1.0, "weight_queue": 0.0, "weight_slowing": 0.0},
    "Q": {"weight_use": 0.0, "weight_queue": 1.0, "weight_slowing": 0.0},
}
_SERIES = {"δ": "delta", "U": "U", "Q": "Q", "Storm-Pool": "Storm-Pool", "Storm-Default": "Storm-Default"}
_HOUR = 3_600
_REBALANCE = (30.0, 8.0)
"""Storm's rebalance as it is by default: 30 to 38 s of silence on Storm 2.8.3, of which it waits for 30 while bolts go on."""
_GAUSSIAN, _SMOOTHED = "drawn:Dataset-TwitterGaussian", "drawn:reactive-TwitterLinear-Throughput"
GAUSSIAN_OVER, PARTS_OVER = 60.0, 76.0


def predecessor(start: int) -> Run:
    """The reactive one with a pool of 12, which all parameters are varied of."""
    return Run("sbac", "presps", start=start, pool=12)


def _intervals(lab: Laboratory) -> Report:
    base = predecessor(linear_start(lab))
    runs = {f"td {seconds} s": replace(base, interval_seconds=float(seconds)) for seconds in (30, 60, 120, 180)}
    return systems_table("Thesis, td: how often is decided", INTERVALS, runs, 32, lab)


def _time_outs(lab: Laboratory) -> Report:
    """An event that is done later than t_out counts as not processed: all that a time-out can do to events that nobody tracks."""
    (course,) = lab.courses([predecessor(linear_start(lab))], "t_out")
    ours = {name: 1.0 - course.late_after(float(name.split()[0])) for name in TIME_OUTS}
    column = Column("processed", TIME_OUTS, ours, ".4f")
    return Report("Thesis, t_out: when an event is late", [columns_table([column], "t_out")], {"t_out, column processed": column.verdict})


def _queues(lab: Laboratory) -> Report:
    base = predecessor(linear_start(lab))
    return systems_table("Thesis, q_size: how many may wait", QUEUES, {size: replace(base, buffer=int(size)) for size in QUEUES}, 32, lab)


# ---- groupings

GROUPING_FIGURE = "storm-Grouping-Latency"
_PRINTED_QUEUE = 100_000
"""q_size of the run that is printed as load-aware."""
_SHUFFLE, _LOAD_AWARE = "shuffle", "load-aware"
_GROUPING_SERIES = {_SHUFFLE: "Latency (Shuffle)", _LOAD_AWARE: "Latency (Load-Aware)"}
AWARE = {"as its code has it": "load-aware, Storm's", "as its text has it": "load-aware, the paper's", "pasps' own": "load-aware"}
"""What is meant by load-aware: that of the published code, Algorithm 1, and ours, which nobody printed anything of."""
_OURS = "pasps' own"


def grouping_runs(start: int) -> dict[str, Run]:
    """The predecessor with each of them: a tenth of the events, each ten times as dear, one by one, and a tenth as many may wait."""
    base = replace(
        predecessor(start),
        trace=f"{A_TENTH}sbac",
        application="linear, event by event",
        slower=1.0 / SPARSE,
        buffer=round(_PRINTED_QUEUE * SPARSE),
    )
    return {name: replace(base, grouping=name) for name in (_SHUFFLE, *AWARE.values())}


def grouping_columns(figure: Mapping[str, Mapping[int, float]], latency_ms: Mapping[str, float]) -> list[Column]:
    """Shuffle and load-aware by what is meant by it, beside the means of the published curves.

    The rows of the thesis' table are no measure: they are those of td under other names.
    """
    printed = {name: fmean(figure[series].values()) for name, series in _GROUPING_SERIES.items()}
    return [
        Column(
            f"latency ms, load-aware {reading}",
            {} if reading == _OURS else printed,
            {_SHUFFLE: latency_ms[_SHUFFLE], _LOAD_AWARE: latency_ms[aware]},
            ".1f",
        )
        for reading, aware in AWARE.items()
    ]


def _groupings(lab: Laboratory) -> Report:
    title = "Thesis, groupings: shuffle and load-aware"
    figure = read_figure(lab.data, GROUPING_FIGURE)
    runs = grouping_runs(drawn_start(figure[INPUT], read_rows(lab.data, "sbac")))
    courses = dict(zip(runs, lab.courses(list(runs.values()), title), strict=True))
    columns = grouping_columns(figure, {name: course.latency_ms for name, course in courses.items()})
    lines = [[name, f"{course.saved(32):.3f}", f"{course.processed:.4f}", f"{course.latency_ms:.1f}"] for name, course in courses.items()]
    parts = [columns_table(columns), markdown(["grouping", "saved of 32", "processed", "latency ms"], lines)]
    verdicts = {f"Thesis, groupings, {each.name}": each.verdict for each in columns if each.printed}
    return Report(title, parts, verdicts, [_grouping_drawing(title, figure, courses)])


def _grouping_drawing(title: str, figure: Mapping[str, Mapping[int, float]], courses: Mapping[str, Course]) -> Drawing:
    ours, theirs = {}, {}
    for name, course in courses.items():
        told = [(float(STEP * step), 1000.0 * each) for step, each in enumerate(course.latency, 1) if each is not None]
        ours[name] = ([second for second, _ in told], [value for _, value in told])
        if name != AWARE[_OURS]:
            curve = figure[_GROUPING_SERIES[_SHUFFLE if name == _SHUFFLE else _LOAD_AWARE]]
            theirs[name] = ([float(second) for second in curve], list(curve.values()))
    return Drawing(f"thesis-{GROUPING_FIGURE}", title, "latency ms", ours, theirs)


# ---- RA-SPS


def _curves(
    title: str, figure: str, over: float, runs: Mapping[str, Run], printed: Mapping[str, Printed], lab: Laboratory, *, by_figure: bool
) -> Report:
    """Replica curves by the rule for them, and the columns. `by_figure`: saved resources are those of the published curve, since the
    printed ones are no function of it.
    """
    curves = read_figure(lab.data, f"{figure}-Replicas")
    courses = dict(zip(runs, lab.courses(list(runs.values()), title), strict=True))
    lines, verdicts = [], dict[str, Verdict]()
    for name, course in courses.items():
        theirs = at_steps(curves[_SERIES[name]], 0, runs[name].seconds)
        drawn = 1.0 - sum(theirs) / len(theirs) / over
        r, saved = correlation(course.replicas, theirs), course.saved(over)
        verdicts[f"{title.split(':')[0]}, {name}"] = verdict = of_curve(r, saved, drawn if by_figure else printed[name].saved)
        lines.append([name, f"{printed[name].saved:.4f}", f"{drawn:.3f}", f"{saved:.3f}", f"{r:.2f}", verdict])
    columns = [column for column in measures(printed, courses, over) if not (by_figure and column.name == "saved")]
    verdicts |= {f"{title.split(':')[0]}, column {column.name}": column.verdict for column in columns}
    parts = [markdown(["system", "saved: printed", "by its curve", "ours", "r", "verdict"], lines), columns_table(columns)]
    return Report(title, parts, verdicts, [_drawing(title, figure, courses, curves)])


def _drawing(title: str, figure: str, courses: Mapping[str, Course], curves: Mapping[str, Mapping[int, float]]) -> Drawing:
    ours = {name: ([float(5 * step) for step in range(len(course.replicas))], course.replicas) for name, course in courses.items()}
    theirs = {name: ([float(second) for second in curves[_SERIES[name]]], list(curves[_SERIES[name]].values())) for name in courses}
    return Drawing(f"thesis-{figure}", title, "replicas", ours, theirs)


def reactive_runs() -> dict[str, Run]:
    """RA-SPS by parts of its metric, on the input that its figure draws."""
    base = Run(_SMOOTHED, "ra-sps", interval_seconds=25.0, pool=50, seconds=_HOUR)
    return {name: replace(base, options=weights) for name, weights in _WEIGHTS.items()}


def pool_runs() -> dict[str, Run]:
    """RA-SPS with a pool, and with Storm's rebalance."""
    base = Run(_GAUSSIAN, "ra-sps", interval_seconds=25.0, pool=50, seconds=_HOUR)
    return {"Storm-Pool": base, "Storm-Default": replace(base, restart=_REBALANCE)}


def _parts(lab: Laboratory) -> Report:
    title = "Thesis, RA-SPS: parts of its metric"
    return _curves(title, "reactive-TwitterLinear", PARTS_OVER, reactive_runs(), PARTS, lab, by_figure=False)


def _pool(lab: Laboratory) -> Report:
    title = "Thesis, pool or restart: RA-SPS on the Gaussian stream"
    return _curves(title, "storm-Pool", GAUSSIAN_OVER, pool_runs(), POOL_OR_RESTART, lab, by_figure=True)


def complex_runs(start: int) -> dict[str, Run]:
    """RA-SPS with a pool of 6 of each of eight bolts, and Storm with five replicas."""
    return {
        "δ": Run("sbac", "ra-sps", start=start, interval_seconds=25.0, pool=6, application="complex"),
        "r=5": Run("sbac", "static", start=start, replicas=5, application="complex"),
    }


def _complex(lab: Laboratory) -> Report:
    return systems_table("Thesis, RA-SPS: a complex application", TWO_BRANCHES, complex_runs(linear_start(lab)), 40, lab)


EXPERIMENTS = (
    Experiment("thesis-td", "how often is decided", _intervals),
    Experiment("thesis-t-out", "when an event is late", _time_outs),
    Experiment("thesis-q-size", "how many tuples may wait", _queues),
    Experiment("thesis-grouping", "shuffle and load-aware groupings", _groupings),
    Experiment("thesis-pool", "RA-SPS with a pool and with Storm's rebalance", _pool),
    Experiment("thesis-ra-sps", "RA-SPS by parts of its metric", _parts),
    Experiment("thesis-ra-sps-complex", "RA-SPS with a complex application", _complex),
)
