"""`python -m benchmarks.lead_time`: from which lead time on which forecast is worth having, in saved capacity at equal latency.

In the simulator: what is ordered now comes after 0 to 90 s, and is given back at once. One bolt whose replicas wait, on the reporting
series of `forecast_series.json` at the pace at which they were recorded, with arrivals at random. Forecasts do not depend on the lead
time, so each is made once for every second of a series, and all runs of that series look it up.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean

from matplotlib.figure import Figure

from benchmarks.data_folder import NO_FOLDER, add_data
from benchmarks.elasticity.traces import burstiest
from benchmarks.forecasting.series import SIDES, SeriesError, read, split
from benchmarks.machine import machine
from benchmarks.report import markdown
from pasps.control.forecaster import NONE
from pasps.control.loop import Forecasts
from pasps.control.situation import INPUT, BoltShape, Forecast, PolicySettings, TopologyShape
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.forecasters import CLAIRVOYANT, Clairvoyant
from pasps.simulation.graph import Graph, GraphBolt, GraphEdge
from pasps.simulation.model import Detail
from pasps.simulation.run import Order, simulate
from predictor_service.beside import beside
from predictor_service.forecast import forecast
from predictor_service.model import Model
from predictor_service.registry import builtin_models

LEADS = (0.0, 0.3, 1.0, 5.0, 10.0, 30.0, 60.0, 90.0)
SOME_LEADS = (10.0, 30.0, 60.0)
"""For the models that are not in the figure: below them who knows what comes gains next to nothing."""
TARGETS = (0.45, 0.65, 0.8, 0.95, 1.1)
RATIOS = (0.1, 0.5, 2.0, 8.0, 30.0)
"""In place of targets, prices: what a second of waiting costs, in seconds of a replica; then a quantile of the forecast is planned for."""
AUTO, NAIVE, PRICED = "auto", "naive", "auto-priced"
SHOWN = (NONE, NAIVE, AUTO, PRICED, CLAIRVOYANT)
OTHERS = ("ses", "holt", "theta", "kalman", "ensemble", "ar", "gbm", "basic", "lr", "fft", "ann", "rf")
WAITS = (0.03, 0.3)
"""Seconds of waiting in the mean at which saved capacity is compared."""
LEAST_GAIN = 0.005
"""Saved capacity, in the mean of the series: a part of less says nothing."""
_EVENT_SECONDS = 0.1
_POOL = 32
_PEAK = 0.9 * _POOL / _EVENT_SECONDS
_PARCELS_A_SECOND = 20.0
_HORIZON = 92
_WINDOW = 600
_EVERY_SECONDS, _SELDOM_SECONDS = 10, 30
"""A model that does not learn sample by sample is fitted so often; between two fits its last forecast goes on."""
_SLOW = "gbm"
"""Half a second a fit: it is fitted seldom, or it alone would take as long as all others."""
_STEP_SECONDS = (("twitter_volume", 300.0), ("worldcup98", 60.0), ("bgelasor_periodic", 300.0), ("bgelasor_fluctuate", 600.0))
"""How long a row of a file was when it was recorded; of all others a second."""
_SECONDS = {True: 3_600.0, False: 1_300.0}
"""How much of a series is run: of those with long rows, and of the others."""


@dataclass(frozen=True, slots=True)
class Found:
    """One run. `aim` is a target, or a ratio of prices; `waited` and `p99` are seconds beyond an event's own."""

    series: str
    model: str
    lead: float
    aim: float
    saved: float
    waited: float
    p99: float
    done: float


def stretch_of(folder: Path, name: str) -> tuple[list[float], float]:
    """The events a second of each second of the series' burstiest stretch: between the middles of two rows they lie on the line."""
    rows = read(folder, name)
    step = next((seconds for begin, seconds in _STEP_SECONDS if name.startswith(begin)), 1.0)
    wanted = _SECONDS[step > 1.0]
    count = max(2, min(len(rows), math.ceil(wanted / step) + 1))
    first = burstiest(rows, count)
    rows = rows[first : first + count]
    seconds = int(min(wanted, (len(rows) - 1) * step)) if step > 1.0 else len(rows)
    if step == 1.0:
        return _scaled(rows[:seconds]), step
    return _scaled([_between(rows, (second + 0.5) / step) for second in range(seconds)]), step


def _between(rows: Sequence[float], at: float) -> float:
    place = min(int(at), len(rows) - 2)
    return rows[place] + (rows[place + 1] - rows[place]) * (at - place)


def _scaled(rates: Sequence[float]) -> list[float]:
    most = max(rates)
    return [rate * _PEAK / most for rate in rates]


def subject() -> Graph:
    """One bolt that waits; its whole pool is there at first, so that nobody pays for what could not be ordered in time."""
    bolt = GraphBolt("bolt", (GraphEdge("spout", "default"),), _EVENT_SECONDS, _POOL, _POOL, "thread")
    shape = TopologyShape(("spout",), (BoltShape("bolt", _POOL, ("spout",), waits=True),))
    return Graph("lead", {"spout": 1}, (bolt,), workers=1, cores=2, buffer=10**9, shape=shape)


Sums = Mapping[float, tuple[float, ...]]


class Said(Forecasts):
    """What a model said at each second, with quantiles of running sums if it has any."""

    def __init__(self, model: str, made: Mapping[int, tuple[float, ...]], sums: Mapping[int, Sums] | None = None) -> None:
        self._model, self._made, self._sums = model, made, sums or {}

    async def forecast(self, samples: Sequence[float], seconds: float, now: float) -> Forecast | None:
        """See `Forecasts`."""
        second = int(now + 0.01)
        while second >= 0 and second not in self._made:
            second -= 1
        if second < 0:
            return None
        return Forecast(float(second), self._made[second], self._model, quantiles=self._sums.get(second, {}))

    async def forecast_series(
        self, series: Mapping[str, Sequence[float]], seconds: float, now: float, quantiles: Sequence[float]
    ) -> Mapping[str, Forecast]:
        """See `SeriesForecasts`."""
        found = await self.forecast(series.get(INPUT, ()), seconds, now)
        return {} if found is None else {INPUT: found}


def said_by(model: Model, samples: Sequence[float]) -> dict[int, tuple[float, ...]]:
    """What it expects of the coming seconds at each second, from what has come by then."""
    made: dict[int, tuple[float, ...]] = {}
    if model.online is not None:
        learning = model.online(1.0, [1, 10, 30, _HORIZON])
        for second, sample in enumerate(samples, 1):
            learning.update(sample)
            made[second] = tuple(learning.means(_HORIZON))
        return made
    every = _SELDOM_SECONDS if model.name == _SLOW else _EVERY_SECONDS
    for second in range(max(_EVERY_SECONDS, model.least_samples), len(samples) + 1, every):
        known = samples[max(0, second - _WINDOW) : second]
        made[second] = tuple(forecast(model, known, _HORIZON, 1.0).predictions)
    return made


def priced_by(samples: Sequence[float]) -> Said:
    """`auto` with the quantiles that the ratios of prices ask for."""
    levels = [ratio / (1.0 + ratio) for ratio in RATIOS]
    horizons = [1, 10, 30, _HORIZON]
    learning = beside(1.0, horizons, quantiles=levels)
    made: dict[int, tuple[float, ...]] = {}
    sums: dict[int, Sums] = {}
    for second, sample in enumerate(samples, 1):
        learning.update(sample)
        means = learning.means(_HORIZON)
        expected = list(accumulate(means))
        away = learning.offsets(levels, _HORIZON)
        made[second] = tuple(means)
        sums[second] = {
            level: tuple(accumulate((max(0.0, mean + off) for mean, off in zip(expected, line, strict=True)), max))
            for level, line in zip(levels, away, strict=True)
        }
    return Said(AUTO, made, sums)


def came(arrivals: Arrivals) -> list[float]:
    """Events of each second, as the spout counts them."""
    found = [0.0] * math.ceil(arrivals.seconds)
    for at, count in arrivals.parcels(_PARCELS_A_SECOND):
        found[min(len(found) - 1, int(at))] += count
    return found


def one_series(folder: Path, models: Sequence[str], leads: Sequence[float], name: str) -> list[Found]:
    """All runs of a series."""
    rates, _ = stretch_of(folder, name)
    arrivals = Arrivals.of(rates, 1.0, seed=1)
    samples = came(arrivals)
    known: dict[str, Forecasts | None] = {NONE: None, CLAIRVOYANT: Clairvoyant(arrivals)}
    if PRICED in models:
        known[PRICED] = priced_by(samples)
    known |= {model: Said(model, said_by(builtin_models()[model], samples)) for model in models if model not in known}
    found = []
    for model in models:
        for lead in leads if model in SHOWN else [each for each in leads if each in SOME_LEADS]:
            found += [_run(name, model, known[model], arrivals, lead, aim) for aim in (RATIOS if model == PRICED else TARGETS)]
    return found


def _run(name: str, model: str, forecasts: Forecasts | None, arrivals: Arrivals, lead: float, aim: float) -> Found:
    order = Order(
        "pasps",
        NONE if forecasts is None else model,
        PolicySettings(interval_seconds=30.0, correction_seconds=1.0),
        benchmark={"bolt": _EVENT_SECONDS},
        options={"lead_seconds": lead, **({"late_cost": aim, "replica_cost": 1.0} if model == PRICED else {"target": aim})},
        lead_seconds=lead,
        tail_seconds=120.0,
    )
    result = simulate(subject(), arrivals, order, detail=Detail(_PARCELS_A_SECOND, exact=False), forecasts=forecasts)
    latency = result.latency
    return Found(
        name, model, lead, aim, result.saved, latency.mean - _EVENT_SECONDS, latency.p99 - _EVENT_SECONDS, result.done / result.events
    )


# ---- what it says


def saved_at(runs: Sequence[Found], wait: float) -> float | None:
    """Saved capacity where the mean wait is so long, on the line between two targets; None: none of them waits as long, or as short."""
    points = sorted((run.waited, run.saved) for run in runs)
    for (low, less), (high, more) in pairwise(points):
        if low <= wait <= high:
            return less + (more - less) * (wait - low) / (high - low) if high > low else less
    return None


def report(found: Sequence[Found]) -> str:
    """Tables in Markdown."""
    return "\n\n".join([_curves(found), *(_saved_table(found, wait) for wait in WAITS), _gains(found)])


def _of(found: Sequence[Found], model: str, lead: float) -> list[Found]:
    return [one for one in found if (one.model, one.lead) == (model, lead)]


def _mean_saved(found: Sequence[Found], model: str, lead: float, wait: float) -> tuple[float | None, int]:
    """Over the series on which it can be said of those that all are compared with, if it can be said of this one there too; how many."""
    values = []
    for series in dict.fromkeys(one.series for one in found):
        runs = [one for one in found if one.series == series]
        compared = [each for each in (NONE, NAIVE, AUTO, CLAIRVOYANT) if _of(runs, each, lead)]
        saved = saved_at(_of(runs, model, lead), wait)
        if _of(runs, model, lead) and all(saved_at(_of(runs, each, lead), wait) is not None for each in compared):
            if saved is None:
                return None, 0
            values.append(saved)
    return (fmean(values) if values else None), len(values)


def _models(found: Sequence[Found]) -> list[str]:
    return list(dict.fromkeys(one.model for one in found))


def _leads(found: Sequence[Found]) -> list[float]:
    return sorted({one.lead for one in found})


def _curves(found: Sequence[Found]) -> str:
    """Means over the series, at each target."""
    rows = []
    for lead in _leads(found):
        for model in _models(found):
            runs = _of(found, model, lead)
            if not runs:
                continue
            cells = []
            for aim in RATIOS if model == PRICED else TARGETS:
                at = [run for run in runs if run.aim == aim]
                cells.append(
                    f"{fmean(run.saved for run in at):.3f}, {fmean(run.waited for run in at):.3g}, {fmean(run.p99 for run in at):.3g}"
                )
            rows.append([f"{lead:g} s", f"`{model}`", *cells])
    return markdown(
        [
            "lead",
            "forecast",
            *(f"target {target:g} (prices {ratio:g}): saved, mean wait s, p99 s" for target, ratio in zip(TARGETS, RATIOS, strict=True)),
        ],
        rows,
    )


def _saved_table(found: Sequence[Found], wait: float) -> str:
    leads = _leads(found)
    rows = []
    for model in _models(found):
        cells = []
        for lead in leads:
            saved, count = _mean_saved(found, model, lead, wait)
            cells.append("" if not _of(found, model, lead) else "-" if saved is None else f"{saved:.3f} ({count})")
        rows.append([f"`{model}`", *cells])
    head = f"Saved capacity at a mean wait of {wait:g} s, and on how many series that can be told:"
    return f"{head}\n\n{markdown(['forecast', *(f'{lead:g} s' for lead in leads)], rows)}"


def gain(found: Sequence[Found], model: str, lead: float, wait: float) -> float | None:
    """What of the clairvoyant's gain over `naive` a model keeps, over the series on which all three can be told.

    None: on none of them, or there is next to nothing to keep.
    """
    ours = theirs = 0.0
    told = 0
    for series in dict.fromkeys(one.series for one in found):
        runs = [one for one in found if one.series == series]
        saved = [saved_at(_of(runs, each, lead), wait) for each in (model, NAIVE, CLAIRVOYANT)]
        mine, base, best = saved
        if mine is not None and base is not None and best is not None:
            ours, theirs, told = ours + mine - base, theirs + best - base, told + 1
    return ours / theirs if told and theirs / told >= LEAST_GAIN else None


def _gains(found: Sequence[Found]) -> str:
    leads = [lead for lead in _leads(found) if lead in SOME_LEADS or lead in LEADS]
    rows = []
    for model in _models(found):
        if model in (NAIVE, CLAIRVOYANT):
            continue
        cells = []
        for lead in leads:
            kept = [gain(found, model, lead, wait) for wait in WAITS]
            cells.append(", ".join(map(_part_of, kept)) if _of(found, model, lead) else "")
        rows.append([f"`{model}`", *cells])
    head = f"What is kept of the clairvoyant's gain over `{NAIVE}`, at a mean wait of {' and of '.join(f'{wait:g} s' for wait in WAITS)}:"
    return f"{head}\n\n{markdown(['forecast', *(f'{lead:g} s' for lead in leads)], rows)}"


def _part_of(kept: float | None) -> str:
    """Of who loses more than there is to gain it says nothing how much more."""
    return "-" if kept is None else "< -100%" if kept < -1.0 else f"{kept:.0%}"


def draw(found: Sequence[Found], file: Path) -> None:
    """Curves of saved capacity against waiting at four lead times, and saved capacity at equal waiting over the lead time."""
    figure = Figure(figsize=(15, 9))
    axes = figure.subplots(2, 3)
    colours = {NONE: "#888888", NAIVE: "#d95f02", AUTO: "#1b9e77", PRICED: "#7570b3", CLAIRVOYANT: "#000000"}
    for axis, lead in zip(axes.flat[:4], (1.0, 10.0, 30.0, 60.0), strict=True):
        for model, colour in colours.items():
            runs = _of(found, model, lead)
            points = []
            for aim in sorted({run.aim for run in runs}):
                at = [run for run in runs if run.aim == aim]
                if at:
                    points.append((fmean(run.saved for run in at), fmean(run.waited for run in at)))
            axis.plot([100 * saved for saved, _ in points], [wait for _, wait in points], "o-", color=colour, label=_label(model))
        axis.set_yscale("log")
        axis.set_title(f"Capacity comes after {lead:g} s")
        axis.set_xlabel("saved capacity, %")
        axis.set_ylabel("mean wait, s")
        axis.grid(alpha=0.3)
    axes.flat[0].legend()
    for axis, wait in zip(axes.flat[4:], WAITS, strict=True):
        for model, colour in colours.items():
            told = [(lead, _mean_saved(found, model, lead, wait)[0]) for lead in _leads(found)]
            known = [(lead, saved) for lead, saved in told if saved is not None]
            axis.plot([max(lead, 0.1) for lead, _ in known], [100 * saved for _, saved in known], "o-", color=colour, label=_label(model))
        axis.set_xscale("log")
        axis.set_title(f"Saved capacity at a mean wait of {wait:g} s")
        axis.set_xlabel("lead time, s (0 is drawn at 0.1)")
        axis.set_ylabel("saved capacity, %")
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def _label(model: str) -> str:
    return {NONE: "no forecast", NAIVE: "as now", CLAIRVOYANT: "who knows what comes", PRICED: "auto, by prices"}.get(model, model)


# ---- the command


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate and print; exit code 2 when a series cannot be had."""
    wanted = _parser().parse_args(arguments)
    if wanted.report:
        found = [Found(**one) for file in wanted.report for one in json.loads(file.read_text())["runs"]]
        print(report(found))
        if wanted.figure:
            draw(found, wanted.figure)
        return 0
    first, parts = wanted.part
    names = split()[wanted.side][first - 1 :: 6 if wanted.quick else parts]
    leads = LEADS[::3] if wanted.quick else LEADS
    found = _kept(wanted)
    names = [name for name in names if not set(wanted.models) <= {one.model for one in found if one.series == name}]
    try:
        if wanted.data is None:
            raise SeriesError(NO_FOLDER)
        os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
        began = time.perf_counter()
        with multiprocessing.get_context("spawn").Pool(wanted.processes) as pool:
            work = partial(one_series, wanted.data, wanted.models, leads)
            for name, runs in zip(names, pool.imap(work, names), strict=True):
                found += runs
                _keep(wanted, found)
                sys.stderr.write(f"{time.perf_counter() - began:5.0f} s  {name}\n")
    except (SeriesError, KeyError) as error:
        print(error.args[0], file=sys.stderr)
        return 2
    print(report(found))
    if wanted.figure:
        draw(found, wanted.figure)
    return 0


def _kept(wanted: argparse.Namespace) -> list[Found]:
    """What an interrupted call left."""
    if wanted.json is None or not wanted.json.is_file():
        return []
    return [Found(**one) for one in json.loads(wanted.json.read_text())["runs"]]


def _keep(wanted: argparse.Namespace, found: Sequence[Found]) -> None:
    """After each series, so that hours are not lost with the last one."""
    if wanted.json:
        wanted.json.write_text(json.dumps({"machine": machine(), "side": wanted.side, "runs": list(map(asdict, found))}, indent=1) + "\n")


def _part(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is no part such as 1/2")
    return int(part), int(parts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.lead_time", description=__doc__)
    add = parser.add_argument
    add_data(parser)
    add("--side", choices=SIDES, default="reporting", help="which series; nothing is tuned on those for reporting (default: reporting)")
    add("--models", type=lambda text: text.split(","), default=[*SHOWN, *OTHERS], metavar="A,B", help="forecasts (default: all)")
    add("--processes", type=int, default=2, metavar="N", help="so many series at a time (default: 2)")
    add("--part", type=_part, default=(1, 1), metavar="K/N", help="each Nth series from the Kth on; --report puts the parts together")
    add("--quick", action="store_true", help="does it run? each sixth series, each third lead time")
    add("--json", type=Path, metavar="FILE", help="every run, written after each series; a series that is in it is not simulated again")
    add("--figure", type=Path, metavar="FILE", help="a picture")
    add("--report", type=Path, nargs="+", metavar="FILE", help="simulate nothing: tables of what --json wrote")
    return parser


if __name__ == "__main__":
    sys.exit(main())
