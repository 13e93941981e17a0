"""`python -m benchmarks.bgelasor`: BGElasor's six predictors trained on its two public loads, and its Table 1 beside ours.

Each training is kept as JSON, so that what was interrupted goes on. Hyper-parameters are compared on the validation part alone.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from tempfile import gettempdir

from benchmarks.data_folder import NO_FOLDER, add_data
from benchmarks.machine import machine
from benchmarks.report import markdown
from predictor_service.trained.learning import Course
from predictor_service.trained.manifest import MODELS, Metrics
from predictor_service.trained.training import Plan, train

NETWORKS = MODELS[2:]
TRAINING_DAYS, VALIDATION_DAYS = 40, 10

PAPER: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "periodic": {
        "arima": (1.252, 0.888),
        "svr": (0.789, 0.589),
        "lstm": (0.541, 0.397),
        "gru": (0.531, 0.381),
        "bilstm": (0.529, 0.385),
        "bigru": (0.490, 0.341),
    },
    "fluctuating": {
        "arima": (1.001, 0.713),
        "svr": (0.720, 0.504),
        "lstm": (0.639, 0.433),
        "gru": (0.637, 0.434),
        "bilstm": (0.624, 0.426),
        "bigru": (0.581, 0.401),
    },
}
"""RMSE and MAE of BGElasor's Table 1 (Mu et al., NPC 2019), means of 10 repetitions. Its stable load is not public."""

USUAL = Plan("bigru", window=48, horizon=12, units=32, layers=2, course=Course(epochs=60, batch=128, learning_rate=0.003, patience=10))
"""What the paper leaves open. Chosen by `--tune`, on the validation part."""
TRIED_UNITS, TRIED_LAYERS, TRIED_RATES = (32, 64), (1, 2), (0.001, 0.003)


class LoadError(Exception):
    """A load cannot be had; says which and why."""


@dataclass(frozen=True, slots=True)
class Load:
    """The rows of one load, and how many of them are learned from, validate and test: 40, 10 and the last days."""

    name: str
    rows: tuple[float, ...]
    step_seconds: float
    parts: tuple[int, int, int]
    deviation: float
    """Of all rows: the paper does not say which z-scores it has."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One training; errors as in a manifest."""

    load: str
    model: str
    seed: int
    validation: Mapping[str, float]
    test: Mapping[str, float]
    naive: Mapping[str, float]
    whole: float
    """What a z-score of the training part is in z-scores of the whole load."""
    epochs: int | None
    seconds: float
    cpu_seconds: float


def read(folder: Path, name: str) -> Load:
    """The load of that name, from the authors' file.

    Raises:
        LoadError: it is not there, or is another file.
    """
    path = folder / f"bgelasor_{ {'periodic': 'periodic', 'fluctuating': 'fluctuate'}[name] }.csv"
    try:
        with path.open(newline="") as file:
            cells = list(csv.reader(file))[1:]
        times, rows = [datetime.fromisoformat(one[0]) for one in cells], tuple(float(one[1]) for one in cells)
        start, step = times[0], (times[1] - times[0]).total_seconds()
    except (OSError, ValueError, IndexError) as error:
        raise LoadError(f"{path}: expected the load {name!r} as datetime,statistics: {error}; give its folder with --data") from error
    first, second = (start + timedelta(days=days) for days in (TRAINING_DAYS, TRAINING_DAYS + VALIDATION_DAYS))
    training = sum(time < first for time in times)
    validation = sum(time < second for time in times) - training
    mean = fmean(rows)
    deviation = fmean((row - mean) ** 2 for row in rows) ** 0.5
    return Load(name, rows, step, (training, validation, len(rows) - training - validation), deviation)


def trained(load: Load, plan: Plan) -> Outcome:
    """Train, and what came of it. Blocks for minutes."""
    began, worked = time.perf_counter(), time.process_time()
    training, validation, test = load.parts
    plan = replace(plan, shares=(float(training), float(validation), float(test)))
    manifest = train(load.rows, load.step_seconds, load.name, plan, lambda text: None).manifest
    metrics = manifest.metrics
    return Outcome(
        load.name,
        plan.model,
        plan.seed,
        errors_of(metrics.validation),
        errors_of(metrics.test),
        errors_of(metrics.naive_test),
        manifest.scaler.deviation / load.deviation,
        manifest.learning.epochs,
        time.perf_counter() - began,
        time.process_time() - worked,
    )


def errors_of(metrics: Metrics) -> dict[str, float]:
    """Those of all steps."""
    return {name: getattr(metrics, name) for name in ("rmse", "mae", "z_rmse", "z_mae")}


def kept(cache: Path, folder: Path, work: tuple[str, Plan]) -> Outcome:
    """As `trained`, or as it was when this was trained before."""
    name, plan = work
    settings = json.dumps(asdict(plan), sort_keys=True)
    file = cache / f"{name}-{plan.model}-{plan.seed}-{hashlib.sha256(settings.encode()).hexdigest()[:12]}.json"
    try:
        return Outcome(**json.loads(file.read_text())["outcome"])
    except (FileNotFoundError, ValueError):
        pass
    outcome = trained(read(folder, name), plan)
    half = file.with_suffix(f".{os.getpid()}")
    half.write_text(json.dumps({"plan": asdict(plan), "outcome": asdict(outcome)}))
    half.rename(file)
    return outcome


def plans(models: Sequence[str], seeds: int, usual: Plan) -> list[Plan]:
    """One for each seed, but one for models that have nothing random; seed by seed, so that what is there early is balanced."""
    return [replace(usual, model=model, seed=seed) for seed in range(1, seeds + 1) for model in models if seed == 1 or model in NETWORKS]


def tuned(usual: Plan, seeds: int) -> list[Plan]:
    """What is compared on the validation part, for each of the networks alike."""
    found = []
    for units, layers, rate in product(TRIED_UNITS, TRIED_LAYERS, TRIED_RATES):
        course = replace(usual.course, learning_rate=rate)
        found += plans(NETWORKS, seeds, replace(usual, units=units, layers=layers, course=course))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and print; exit code 2 when a load cannot be had."""
    wanted = _parser().parse_args(arguments)
    if wanted.data is None:
        print(NO_FOLDER, file=sys.stderr)
        return 2
    usual = replace(USUAL, window=wanted.window, horizon=wanted.horizon)
    asked = tuned(usual, wanted.seeds) if wanted.tune else plans(wanted.models, wanted.seeds, usual)
    work = [(load, plan) for plan in asked for load in wanted.loads]
    try:
        for load in wanted.loads:
            read(wanted.data, load)
    except LoadError as error:
        print(error, file=sys.stderr)
        return 2
    wanted.cache.mkdir(parents=True, exist_ok=True)
    # the processes are the parallelism
    with multiprocessing.get_context("spawn").Pool(wanted.processes) as pool:
        outcomes = _said(pool.imap(partial(kept, wanted.cache, wanted.data), work), work)
    if wanted.json:
        content = {"machine": machine(), "window": usual.window, "horizon": usual.horizon, "outcomes": list(map(asdict, outcomes))}
        wanted.json.write_text(json.dumps(content, indent=1) + "\n")
    if wanted.tune:
        print(tuning_table(asked, work, outcomes))
    else:
        print("\n\n".join([*(table_one(load, outcomes) for load in wanted.loads), verdict(outcomes)]))
    return 0


def _said(found: Iterable[Outcome], work: Sequence[tuple[str, Plan]]) -> list[Outcome]:
    began, outcomes = time.perf_counter(), []
    for one, (load, plan) in zip(found, work, strict=True):
        outcomes.append(one)
        where = f"{len(outcomes)} of {len(work)}: {load}, {plan.model}, seed {plan.seed}"
        sys.stderr.write(f"{time.perf_counter() - began:6.0f} s  {where}: validation {one.validation['z_rmse']:.4f}\n")
    return outcomes


HEAD = [
    "model",
    "paper RMSE",
    "paper MAE",
    "RMSE",
    "MAE",
    "RMSE, whole",
    "MAE, whole",
    "min-max RMSE",
    "min-max MAE",
    "validation RMSE",
    "CPU s",
]


def table_one(load: str, outcomes: Sequence[Outcome]) -> str:
    """Table 1 of one load: the paper's errors, and ours as z-scores of the training part, of the whole load, and min-max scaled."""
    lines = []
    for model in MODELS:
        if found := [one for one in outcomes if (one.load, one.model) == (load, model)]:
            paper = [f"{value:.3f}" for value in PAPER[load][model]]
            errors = _errors([one.test for one in found], found[0].whole)
            more = [f"{fmean(one.validation['z_rmse'] for one in found):.3f}", f"{fmean(one.cpu_seconds for one in found):.0f}"]
            lines.append([f"`{model}`", *paper, *errors, *more])
    if found := [one for one in outcomes if one.load == load]:
        lines.append(["as now", "", "", *_errors([found[0].naive], found[0].whole), "", ""])
    return f"**The {load} load**\n\n{markdown(HEAD, lines)}"


def _errors(found: Sequence[Mapping[str, float]], whole: float) -> list[str]:
    mean = {name: fmean(one[name] for one in found) for name in ("rmse", "mae", "z_rmse", "z_mae")}
    spread = f" ± {stdev(one['z_rmse'] for one in found):.3f}" if len(found) > 1 else ""
    z_scores = [f"{mean['z_rmse']:.3f}{spread}", f"{mean['z_mae']:.3f}", f"{mean['z_rmse'] * whole:.3f}", f"{mean['z_mae'] * whole:.3f}"]
    return [*z_scores, f"{mean['rmse']:.4f}", f"{mean['mae']:.4f}"]


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Whether the order is the paper's: BiGRU before GRU and LSTM on each load, by the mean over the seeds."""
    lines = []
    for load in PAPER:
        means = {
            model: fmean(found)
            for model in MODELS
            if (found := [one.test["z_rmse"] for one in outcomes if (one.load, one.model) == (load, model)])
        }
        if not {"bigru", "gru", "lstm"} <= means.keys():
            continue
        reached = means["bigru"] < min(means["gru"], means["lstm"])
        against = ", ".join(f"{means['bigru'] / means[model] - 1:+.1%} against {model}" for model in means if model != "bigru")
        lines.append(f"- {load}: BiGRU better than GRU and LSTM: {'reached' if reached else 'missed'} ({against})")
    return "\n".join(lines)


def tuning_table(asked: Sequence[Plan], work: Sequence[tuple[str, Plan]], outcomes: Sequence[Outcome]) -> str:
    """Errors on the validation part alone, by load and network; the test part is not looked at."""
    cells: dict[tuple[int, int, float], dict[tuple[str, str], list[float]]] = {}
    for (load, plan), one in zip(work, outcomes, strict=True):
        key = plan.units, plan.layers, plan.course.learning_rate
        cells.setdefault(key, {}).setdefault((load, plan.model), []).append(one.validation["z_rmse"])
    columns = list(dict.fromkeys((load, plan.model) for load, plan in work))
    lines = [
        [f"{units}", f"{layers}", f"{rate:g}", *(f"{fmean(found[column]):.4f}" for column in columns)]
        for (units, layers, rate), found in cells.items()
    ]
    return markdown(["units", "layers", "learning rate", *(f"{load}, {model}" for load, model in columns)], lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.bgelasor", description=__doc__)
    add = parser.add_argument
    add_data(parser, "folder of the loads")
    add("--models", type=_some(MODELS), default=list(MODELS), metavar="A,B", help=f"some of {','.join(MODELS)} (default: all)")
    add("--loads", type=_some(tuple(PAPER)), default=list(PAPER), metavar="A,B", help=f"some of {','.join(PAPER)} (default: both)")
    add("--seeds", type=int, default=5, metavar="N", help="repetitions of what is random (default: 5)")
    add("--window", type=int, default=USUAL.window, metavar="N", help=f"samples that are known (default: {USUAL.window})")
    add("--horizon", type=int, default=USUAL.horizon, metavar="N", help=f"steps that are forecast (default: {USUAL.horizon})")
    add("--tune", action="store_true", help="compare hyper-parameters of the networks on the validation part instead")
    add("--processes", type=int, default=2, metavar="N", help="so many trainings at once, each of one thread (default: 2)")
    cache = Path(gettempdir()) / "pasps-bgelasor"
    add("--cache", type=Path, default=cache, metavar="DIR", help=f"where each training is kept as JSON (default: {cache})")
    add("--json", type=Path, metavar="FILE", help="every outcome")
    return parser


def _some(known: Sequence[str]) -> Callable[[str], list[str]]:
    def read_names(text: str) -> list[str]:
        found = text.split(",")
        if unknown := [name for name in found if name not in known]:
            raise argparse.ArgumentTypeError(f"expected some of {','.join(known)}, got {unknown[0]!r}")
        return found

    return read_names


if __name__ == "__main__":
    sys.exit(main())
