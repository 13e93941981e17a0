"""`python -m benchmarks.predictor`: the predictor service beside a plain Flask one and beside the bare fit, in one run."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from benchmarks.machine import machine
from benchmarks.predictor_subjects.clients import Group, drive
from benchmarks.predictor_subjects.running import COMMANDS, Service, bare_fit_seconds, running, wait_until_quiet
from benchmarks.report import table
from benchmarks.scenarios.row import Row, at_least, at_most

MODELS = {"basic": "basic", "lr": "linear_regression", "fft": "fft", "ann": "ann", "rf": "random_forest"}
"""Each model and its path in both services."""

CHEAP = ("basic", "lr", "fft")
CLIENTS = (1, 8)
LONG_FIT_SECONDS = 0.01
"""Below this the time of a request is HTTP, not the fit, and no ratio to the fit says anything."""

_WARM_UP_SECONDS = 0.3
_MEASURES = ("requests_per_second", "p50_ms", "p99_ms", "cpu_ms", "bare_cpu_ms", "idle_before")


@dataclass(frozen=True, slots=True)
class Run:
    """One subject asked for one model, once or as the median of the rounds; `training`: 8 other clients had it train forests meanwhile."""

    subject: str
    model: str
    clients: int
    requests_per_second: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    bare_cpu_ms: float
    failed: int
    idle_before: float
    training: bool = False


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 1 when an aim was missed or a request failed."""
    wanted = _parser().parse_args(arguments)
    if unknown := [name for name in wanted.models if name not in MODELS]:
        print(f"no model {unknown[0]!r}; there are {', '.join(MODELS)}", file=sys.stderr)
        return 2
    with contextlib.ExitStack() as stack:
        services = {name: stack.enter_context(running(name)) for name in COMMANDS}
        runs: list[Run] = []
        for turn in range(wanted.repeat):
            _say(f"round {turn + 1} of {wanted.repeat}")
            for name in wanted.models:
                runs += _asked(services, name, wanted)
            for name in CHEAP:
                runs += _asked_while_training(services, name, wanted)
    cells = _medians(runs)
    aims = _aims(cells)
    print(_tables(cells, aims))
    if wanted.json:
        content = {"machine": machine(), "runs": [asdict(run) for run in runs], "aims": [asdict(row) for row in aims]}
        wanted.json.write_text(json.dumps(content, indent=1) + "\n")
    return 1 if any(row.reached is False for row in aims) or any(run.failed for run in runs) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.predictor", description=__doc__)
    parser.add_argument(
        "--models", type=lambda text: text.split(","), default=list(MODELS), help=f"some of {','.join(MODELS)} (default: all)"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one run (default: 2; a round takes about 40 times that)")
    parser.add_argument("--repeat", type=int, default=3, help="rounds; tables show medians (default: 3)")
    parser.add_argument("--quiet-wait", type=float, default=20.0, help="wait so long for an idle machine before each run (default: 20)")
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    return parser


def _medians(runs: Sequence[Run]) -> list[Run]:
    """One run for the rounds of each cell, in the order in which they were first seen; failures are added up."""
    cells: dict[tuple[str, str, int, bool], list[Run]] = {}
    for run in runs:
        cells.setdefault((run.model, run.subject, run.clients, run.training), []).append(run)
    return [
        replace(
            found[0],
            failed=sum(run.failed for run in found),
            **{name: median(getattr(run, name) for run in found) for name in _MEASURES},
        )
        for found in cells.values()
    ]


def _asked(services: Mapping[str, Service], model: str, wanted: argparse.Namespace) -> list[Run]:
    """Both subjects one after the other for each number of clients, and the bare fit beside them."""
    runs = []
    for clients in CLIENTS:
        idle = wait_until_quiet(wanted.quiet_wait)
        bare = bare_fit_seconds(MODELS[model], wanted.seconds / 3, min(clients, os.cpu_count() or 1))
        for subject, service in services.items():
            _say(f"{model}, {clients} clients, {subject}")
            drive(service.port, [Group(MODELS[model], clients)], _WARM_UP_SECONDS)
            group = Group(MODELS[model], clients)
            before = service.cpu_seconds()
            took = drive(service.port, [group], wanted.seconds)
            runs.append(_run(subject, model, group, took, idle, cpu=service.cpu_seconds() - before, bare=bare))
    return runs


def _asked_while_training(services: Mapping[str, Service], model: str, wanted: argparse.Namespace) -> list[Run]:
    runs = []
    for subject, service in services.items():
        _say(f"{model} while 8 clients train forests, {subject}")
        idle = wait_until_quiet(wanted.quiet_wait)
        group = Group(MODELS[model], 1)
        took = drive(service.port, [Group(MODELS["rf"], 8), group], 2 * wanted.seconds)
        runs.append(_run(subject, model, group, took, idle))
    return runs


def _run(subject: str, model: str, group: Group, took: float, idle: float, *, cpu: float | None = None, bare: float = 0.0) -> Run:
    answers = max(len(group.seconds), 1)
    return Run(
        subject=subject,
        model=model,
        clients=group.clients,
        requests_per_second=len(group.seconds) / took,
        p50_ms=group.percentile_ms(0.5),
        p99_ms=group.percentile_ms(0.99),
        cpu_ms=1e3 * (cpu or 0.0) / answers,
        bare_cpu_ms=1e3 * bare,
        failed=group.failed,
        idle_before=idle,
        training=cpu is None,
    )


def _say(what: str) -> None:
    print(f"running {what}", file=sys.stderr, flush=True)


def _tables(runs: Sequence[Run], aims: Sequence[Row]) -> str:
    asked = [
        [
            run.model,
            str(run.clients),
            run.subject,
            f"{run.requests_per_second:,.1f}",
            f"{run.p50_ms:,.1f}",
            f"{run.p99_ms:,.1f}",
            f"{run.cpu_ms:,.2f}",
            f"{run.bare_cpu_ms:,.2f}",
            str(run.failed),
        ]
        for run in runs
        if not run.training
    ]
    training = [[run.model, run.subject, f"{run.p50_ms:,.1f}", f"{run.p99_ms:,.1f}"] for run in runs if run.training]
    heads = ["model", "clients", "service", "requests/s", "p50 ms", "p99 ms", "CPU ms a request", "CPU ms a bare fit", "failed"]
    parts = [
        table("100 samples, 30 steps", heads, asked),
        table("One client while 8 others train forests", ["model", "service", "p50 ms", "p99 ms"], training),
        table(
            "Aims", ["aim", "measured", "wanted", "reached"], [[row.what, f"{row.measured:,.2f}", row.wanted, row.verdict] for row in aims]
        ),
    ]
    return "\n\n".join(part for part in parts if part)


def _aims(runs: Sequence[Run]) -> list[Row]:
    ours = [run for run in runs if run.subject == "pasps"]
    flask = {(run.model, run.clients): run for run in runs if run.subject == "flask" and not run.training}
    rows = [
        at_most(f"{run.model}, {run.clients} clients: CPU of a request over the bare fit", run.cpu_ms / run.bare_cpu_ms, 1.15, "times")
        for run in ours
        if not run.training and run.bare_cpu_ms >= 1e3 * LONG_FIT_SECONDS
    ]
    rows += [
        at_least(
            f"{run.model}, 8 clients: throughput over Flask",
            run.requests_per_second / max(flask[run.model, 8].requests_per_second, 1e-9),
            2.0,
            "times",
        )
        for run in ours
        if not run.training and run.clients == CLIENTS[-1]
    ]
    return rows + [at_most(f"{run.model} while 8 clients train rf: p99", run.p99_ms, 50.0, "ms") for run in ours if run.training]


if __name__ == "__main__":
    sys.exit(main())
