"""`python -m benchmarks.forecasts`: how good forecasts are, from rolling origins over recorded traces, and which differences are real."""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import fmean

from benchmarks.data_folder import NO_FOLDER, add_data
from benchmarks.forecasting.rolling import HORIZONS, WINDOW, WITHIN, Forecaster, Outcome, fitted, learning, outcomes, replayed
from benchmarks.forecasting.series import SIDES, SeriesError, read, split
from benchmarks.forecasting.significance import ranking, unlike
from benchmarks.machine import machine
from benchmarks.report import markdown
from predictor_service.conformal import Track
from predictor_service.model import Model
from predictor_service.registry import builtin_models

AUTO, BASE = "auto", "naive"
REPLAYED = "auto-600"
"""The tournament as the service plays it, over the 600 samples of a request."""
USUAL = (AUTO, REPLAYED, BASE, "ses", "holt", "theta", "kalman", "ensemble", "ar", "gbm", "basic", "lr", "fft", "ann", "rf")
"""The new models and the five of the paper; those that are left out are a straight line by other means, or take very long."""
AIM_MASE, AIM_BEHIND, AIM_COVERED = 0.95, 1.05, (0.75, 0.85)
_LATE = (5, 30, 60)

Result = tuple[list[Outcome], dict[str, float]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 2 when a series cannot be had or there is no such model."""
    wanted = _parser().parse_args(arguments)
    if wanted.report:
        print(report(*_read(wanted.report)))
        return 0
    names = split()[wanted.side][:: 6 if wanted.quick else 1]
    try:
        if wanted.data is None:
            raise SeriesError(NO_FOLDER)
        judged = _judged(wanted.data, names, wanted.models, wanted.every, wanted.processes)
    except (SeriesError, KeyError) as error:
        print(error.args[0], file=sys.stderr)
        return 2
    found = [one for results, _ in judged for one in results]
    taken = {name: fmean(times[name] for _, times in judged) for name in judged[0][1]}
    if wanted.json:
        content = {
            "machine": machine(),
            "side": wanted.side,
            "every": wanted.every,
            "milliseconds": taken,
            "outcomes": list(map(asdict, found)),
        }
        wanted.json.write_text(json.dumps(content, indent=1) + "\n")
    print(report(found, taken))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.forecasts", description=__doc__)
    add = parser.add_argument
    add_data(parser)
    add("--side", choices=SIDES, default="reporting", help="which series; nothing is tuned on those for reporting (default: reporting)")
    add(
        "--models",
        type=lambda text: text.split(","),
        default=[*USUAL],
        metavar="A,B",
        help=f"some of {','.join(_all())} (default: {','.join(USUAL)})",
    )
    add("--every", type=int, default=30, metavar="S", help="seconds from one origin to the next (default: 30)")
    add("--processes", type=int, default=2, metavar="N", help="series are judged in so many processes (default: 2)")
    add("--quick", action="store_true", help="does it run? each sixth series")
    add("--json", type=Path, metavar="FILE", help="every outcome")
    add("--report", type=Path, nargs="+", metavar="FILE", help="measure nothing: tables of what --json wrote, with some models each")
    return parser


def _all() -> list[str]:
    return [AUTO, REPLAYED, *(name for name in builtin_models() if name != AUTO)]


def _judged(folder: Path, names: Sequence[str], models: Sequence[str], every: int, processes: int) -> list[Result]:
    for name in models:
        if name not in _all():
            raise SeriesError(f"no model {name!r}; there are {', '.join(_all())}")
    work = partial(_one_series, folder, tuple(dict.fromkeys([BASE, *models])), every)
    # the processes are the parallelism: threads below them would fight for the same cores
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return list(_said(pool.imap(work, names), names))


def _read(files: Sequence[Path]) -> tuple[list[Outcome], dict[str, float]]:
    """What several runs over the same series found; what a model has in two of them is taken from the first."""
    cells: dict[tuple[str, str, int], Outcome] = {}
    taken: dict[str, float] = {}
    for file in files:
        content = json.loads(file.read_text())
        for one in content["outcomes"]:
            cells.setdefault((one["model"], one["series"], one["horizon"]), Outcome(**one))
        taken = content["milliseconds"] | taken
    return list(cells.values()), taken


def _said(results: Iterable[Result], names: Sequence[str]) -> list[Result]:
    began, found = time.perf_counter(), []
    for name, result in zip(names, results, strict=True):
        found.append(result)
        sys.stderr.write(f"{time.perf_counter() - began:5.0f} s  {name}\n")
    return found


def _one_series(folder: Path, models: Sequence[str], every: int, name: str) -> Result:
    samples = read(folder, name)
    origins = range(WINDOW, len(samples) - max(HORIZONS) + 1, every)
    found: list[Outcome] = []
    taken: dict[str, float] = {}
    for model in models:
        said, taken[model] = _forecaster(model, every)(samples, origins)
        found += outcomes(name, model, samples, said)
    return found, taken


def _forecaster(name: str, every: int) -> Forecaster:
    model = builtin_models()[AUTO if name == REPLAYED else name]
    if model.online is None:
        return fitted(model, every)
    return (replayed if name == REPLAYED else learning)(tracks(model))


def tracks(model: Model) -> Callable[[], Track]:
    """Makes a model that learns sample by sample, untaught, with its errors."""

    def make() -> Track:
        assert model.online is not None
        return Track(model.online(1.0, HORIZONS), HORIZONS)

    return make


def report(found: Sequence[Outcome], taken: Mapping[str, float]) -> str:
    """All tables in Markdown."""
    models = list(dict.fromkeys(one.model for one in found))
    cells = {(one.model, one.horizon, one.series): one for one in found}
    series = list(dict.fromkeys(one.series for one in found))
    parts = [f"{len(series)} series, errors as a share of those of `{BASE}` at the same horizon, geometric means over the series."]
    parts.append(_errors_table(models, series, cells, taken))
    parts.append(_coverage_table(models, series, cells))
    if len(models) > 2 and len(series) > 2:
        parts.append(_ranks_table(models, series, cells))
    if AUTO in models:
        parts += [_aims(models, series, cells), _by_series(models, series, cells)]
    return "\n\n".join(parts)


Cells = Mapping[tuple[str, int, str], Outcome]


def _ratio(cells: Cells, model: str, horizon: int, series: Sequence[str], measure: str = "error") -> float:
    """The geometric mean of a model's errors over those of BASE."""
    logs = [
        math.log((getattr(cells[model, horizon, one], measure) + 1e-12) / (getattr(cells[BASE, horizon, one], measure) + 1e-12))
        for one in series
    ]
    return math.exp(fmean(logs))


def _errors_table(models: Sequence[str], series: Sequence[str], cells: Cells, taken: Mapping[str, float]) -> str:
    heads = [
        "model",
        *(f"MASE {h} s" for h in HORIZONS),
        *(f"of the sum {h} s" for h in HORIZONS[1:]),
        *(f"WAPE {h} s" for h in HORIZONS),
        "ms",
    ]
    rows = []
    for model in sorted(models, key=lambda name: _ratio(cells, name, 30, series)):
        wapes = [fmean(cells[model, h, one].wape for one in series) for h in HORIZONS]
        rows.append(
            [
                f"`{model}`" if model != REPLAYED else model,
                *(f"{_ratio(cells, model, h, series):.3f}" for h in HORIZONS),
                *(f"{_ratio(cells, model, h, series, 'sum_error'):.3f}" for h in HORIZONS[1:]),
                *(f"{wape:.1%}" for wape in wapes),
                f"{taken[model]:.3f}",
            ]
        )
    return markdown(heads, rows)


def _coverage_table(models: Sequence[str], series: Sequence[str], cells: Cells) -> str:
    heads = ["model", *(f"{percent}% at {h} s" for h in HORIZONS for percent in WITHIN), *(f"pinball {h} s" for h in HORIZONS)]
    rows = []
    for model in models:
        covered = [f"{fmean(cells[model, h, one].covered[place] for one in series):.0%}" for h in HORIZONS for place in range(len(WITHIN))]
        losses = [f"{fmean(cells[model, h, one].pinball for one in series):.2%}" for h in HORIZONS]
        rows.append([f"`{model}`" if model != REPLAYED else model, *covered, *losses])
    return markdown(heads, rows)


def _ranks_table(models: Sequence[str], series: Sequence[str], cells: Cells) -> str:
    columns, notes = {}, []
    for h in HORIZONS:
        losses = {model: [cells[model, h, one].error for one in series] for model in models}
        ranked = ranking(losses)
        against = unlike(losses, AUTO if AUTO in models else BASE)
        columns[h] = (ranked, against)
        notes.append(f"{h} s: chance {ranked.chance:.1g}, critical difference {ranked.critical:.2f}")
    rows = [
        [
            f"`{model}`" if model != REPLAYED else model,
            *(f"{columns[h][0].ranks[model]:.1f}" for h in HORIZONS),
            *(f"{columns[h][1][model]:.1g}" if model in columns[h][1] else "" for h in HORIZONS),
        ]
        for model in sorted(models, key=lambda name: fmean(columns[h][0].ranks[name] for h in HORIZONS))
    ]
    other = AUTO if AUTO in models else BASE
    text = markdown(["model", *(f"rank {h} s" for h in HORIZONS), *(f"p against {other}, {h} s" for h in HORIZONS)], rows)
    return f"{text}\n\nFriedman and Nemenyi: {'; '.join(notes)}. p: Wilcoxon's signed ranks, corrected by Holm."


def _best_alone(models: Sequence[str], cells: Cells, horizon: int, one: str) -> tuple[float, str]:
    return min((cells[model, horizon, one].error, model) for model in models if model not in {AUTO, REPLAYED})


def _aims(models: Sequence[str], series: Sequence[str], cells: Cells) -> str:
    rows = []
    for model in [name for name in (AUTO, REPLAYED) if name in models]:
        for h in _LATE:
            mase = _ratio(cells, model, h, series)
            single, best = min((_ratio(cells, name, h, series), name) for name in models if name not in {AUTO, REPLAYED})
            behind = [(cells[model, h, one].error + 1e-12) / (_best_alone(models, cells, h, one)[0] + 1e-12) for one in series]
            covered = fmean(cells[model, h, one].covered[1] for one in series)
            rows.append(
                [
                    f"{model}, {h} s",
                    f"{mase:.3f} ({'reached' if mase < AIM_MASE else 'missed'})",
                    f"{mase / single - 1:+.1%} (`{best}`)",
                    f"{sum(ratio > AIM_BEHIND for ratio in behind)} of {len(series)}, most {max(behind) - 1:+.1%}",
                    f"{covered:.0%} ({'reached' if AIM_COVERED[0] <= covered <= AIM_COVERED[1] else 'missed'})",
                ]
            )
    heads = [
        "aims",
        f"MASE below {AIM_MASE}",
        "behind the best single model over all",
        "series where it is more than 5% behind",
        "80% covers 75 to 85%",
    ]
    return markdown(heads, rows)


def _by_series(models: Sequence[str], series: Sequence[str], cells: Cells) -> str:
    rows = []
    for one in series:
        row = [one]
        for h in HORIZONS:
            loss, best = _best_alone(models, cells, h, one)
            base = cells[BASE, h, one].error + 1e-12
            row += [f"{cells[AUTO, h, one].error / base:.3f}", f"{loss / base:.3f} `{best}`"]
        rows.append(row)
    return markdown(["series", *(head for h in HORIZONS for head in (f"auto {h} s", f"best {h} s"))], rows)


if __name__ == "__main__":
    sys.exit(main())
