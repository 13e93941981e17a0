"""What a run came to: the numbers of one table row, made of its files, and kept in its `result.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from scipy.stats import t as student_t

from benchmarks.elasticity.id_counts import IdCounts, count_ids, read_ids
from benchmarks.elasticity.one_run import Ending
from pasps.cli import exit_codes
from pasps.control.run_log import Sample
from pasps.errors import InvalidError
from pasps.report.measures import Measures, measures_of
from pasps.report.run_files import RunFiles

RESULT_NAME = "result.json"
SCHEMA = "pasps.elastic/1"


@dataclass(frozen=True, slots=True)
class Numbers:
    """One row of the table; None where there is nothing to tell. Latencies in seconds, the rest as docs/elastic-results.md says."""

    saved: float | None
    degradation: float | None
    processed: float
    events: float
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    input_error: float | None
    replica_error: float | None
    lost: float
    duplicated: float
    replayed: float
    activations: float
    deactivations: float
    replica_seconds: float
    cores_used: float


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run. `parameters` are all that it depends on; `problem` says why it cannot be used, if so."""

    name: str
    policy: str
    parameters: Mapping[str, object]
    machine: Mapping[str, object]
    date: str
    seconds: float
    exit_code: int | None
    numbers: Numbers | None
    problem: str = ""
    minutes: tuple[float, ...] = ()
    """p95 of the latency in each whole minute of the trace; NaN where nothing was done."""


def numbers_of(run_directory: Path, ids: Path, events: int, interval_seconds: float, cores_used: float, *, tracked: bool = True) -> Numbers:
    """From a run's files. Of a run that was not `tracked` no latency is known.

    Raises:
        InvalidError: it left no samples.
    """
    files = RunFiles(run_directory)
    counts = count_ids(read_ids(ids), events)
    samples = list(files.samples)
    if not samples:
        raise InvalidError(f"{run_directory}: there is no sample in it")
    measures = measures_of(samples, files.records, interval_seconds, lost_of(samples[-1], counts, tracked=tracked), counts.again)
    return _numbers(measures, counts, cores_used)


def lost_of(last: Sample, counts: IdCounts, *, tracked: bool = True) -> int:
    """Events that were acked and did not come to the end; one that is still under way is unfinished, and not lost.

    Where nothing is `tracked`: that were emitted, did not come to the end, and wait nowhere.
    """
    gone = last.acked if tracked else last.emitted - sum(bolt.queued for bolt in last.bolts.values())
    return max(0, min(gone, counts.events) - counts.seen)


def _numbers(measures: Measures, counts: IdCounts, cores_used: float) -> Numbers:
    latency, replicas = measures.latency, measures.replicas
    return Numbers(
        saved=measures.saved_resources,
        degradation=measures.throughput_degradation.value,
        processed=counts.seen / counts.events,
        events=counts.events,
        mean=latency.mean if latency else None,
        p50=latency.p50 if latency else None,
        p95=latency.p95 if latency else None,
        p99=latency.p99 if latency else None,
        input_error=measures.input_error.value,
        replica_error=measures.replica_error.value,
        lost=measures.events.lost or 0,
        duplicated=counts.again,
        replayed=measures.events.replayed,
        activations=replicas.activations_decided,
        deactivations=replicas.deactivations_decided,
        replica_seconds=replicas.seconds,
        cores_used=cores_used,
    )


def problem_of(ending: Ending, log: str, *, tracked: bool = True) -> str:
    """Why a run is no result; nothing when it ended in order, with tuples left or not. What was not `tracked` may have been lost too."""
    tail = " | ".join(log.strip().splitlines()[-3:])
    if ending.problem:
        return f"{ending.problem}: {tail}"
    usable = (exit_codes.OK, exit_codes.LEFT_OVER) if tracked else (exit_codes.OK, exit_codes.LEFT_OVER, exit_codes.FAILED)
    return "" if ending.exit_code in usable else f"exit code {ending.exit_code}: {tail}"


def mean_numbers(several: Sequence[Numbers]) -> Numbers:
    """Of repeated runs, number by number; None where one has none."""
    found: dict[str, Any] = {}
    for field in fields(Numbers):
        values = [getattr(numbers, field.name) for numbers in several]
        found[field.name] = None if None in values else fmean(values)
    return Numbers(**found)


def margins_of(several: Sequence[Numbers]) -> dict[str, float]:
    """Half of the 95% interval of each mean, by Student's t; nothing for a single run."""
    found: dict[str, float] = {}
    if len(several) < 2:
        return found
    for field in fields(Numbers):
        values = [getattr(numbers, field.name) for numbers in several]
        if None not in values:
            found[field.name] = half_interval(values)
    return found


def half_interval(values: Sequence[float]) -> float:
    """Half of the 95% interval of the mean of several, by Student's t; 0 of one."""
    if len(values) < 2:
        return 0.0
    far = float(student_t.ppf(0.975, len(values) - 1))
    return far * stdev(values) / math.sqrt(len(values))


def write_result(result: Result, directory: Path) -> None:
    """Leave it in the run's directory, whole or not at all: it is what tells a finished run from an interrupted one."""
    partial = directory / f"{RESULT_NAME}.partial"
    partial.write_text(json.dumps({"schema": SCHEMA, **asdict(result)}, indent=1) + "\n")
    partial.replace(directory / RESULT_NAME)


def read_result(directory: Path) -> Result | None:
    """What an earlier call left there; None: nothing, or nothing that can be used."""
    try:
        found = json.loads((directory / RESULT_NAME).read_text())
        if found.pop("schema") != SCHEMA:
            return None
        numbers = found.pop("numbers")
        minutes = tuple(found.pop("minutes", ()))
        return Result(**found, numbers=None if numbers is None else Numbers(**numbers), minutes=minutes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def finished(directory: Path, parameters: Mapping[str, object]) -> Result | None:
    """The result in a directory, if it is one of a run with just these parameters."""
    result = read_result(directory)
    usable = result is not None and not result.problem and dict(result.parameters) == dict(parameters)
    return result if usable else None
