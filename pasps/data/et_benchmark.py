"""The whole benchmark: bolt by bolt in topological order, each with what the ones before it handed on. Knows nothing of Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import cloudpickle

from pasps.api.blueprint import Blueprint, ComponentPlan
from pasps.api.source import source_hash
from pasps.control.et_file import OperatorTimes
from pasps.data.et_deliveries import Input, Output, input_of
from pasps.data.et_pass import Pace, PassRequest, PassResult
from pasps.data.et_sample import Sample
from pasps.data.et_statistics import FEWEST, Summary, summary, without_warm_up

RunPass = Callable[[PassRequest], PassResult]
"""Runs one pass somewhere, alone, in a process of its own."""
_LEAST_SECONDS = 1e-9
"""A clock may be too coarse for a bolt that does nothing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to measure: at most `most` tuples of each bolt, `repeat` passes, of which the first `warm_up` tuples do not count."""

    most: int
    repeat: int
    warm_up: int
    pace: Pace
    skip: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Measured:
    """What became of one bolt. `summary` None: there is no entry, and `reason` says why.

    `costs` are all seconds that count. `failed` tuples of the `given` ones, and `error`, the first of user code, are of the first
    pass, in which every tuple is met for the first time. `notes` say what limits what was found.
    """

    bolt: str
    given: int
    summary: Summary | None = None
    reason: str = ""
    costs: tuple[float, ...] = ()
    selectivity: Mapping[str, float] | None = None
    failed: int = 0
    error: str | None = None
    notes: tuple[str, ...] = ()
    skipped: bool = False
    python: str = ""
    cores: int = 0

    def entry(self, plan: ComponentPlan) -> OperatorTimes | None:
        """Its entry in the file; None when there is none."""
        found = self.summary
        if found is None:
            return None
        return OperatorTimes(
            et_seconds=max(found.et, _LEAST_SECONDS),
            execution=plan.execution,
            source=source_hash(plan),
            samples=found.samples,
            mean_seconds=found.mean,
            standard_deviation_seconds=found.standard_deviation,
            p50_seconds=found.p50,
            p95_seconds=found.p95,
            p99_seconds=found.p99,
            varies=found.varies,
            selectivity=self.selectivity or {},
        )


class Watcher:
    """Hears how far it is. Does nothing by itself."""

    def begins(self, plan: ComponentPlan, tuples: int) -> None:
        """The bolt is measured now."""

    def passed(self, plan: ComponentPlan, number: int) -> None:
        """So many passes over it are done."""

    def done(self, plan: ComponentPlan, measured: Measured) -> None:
        """This is what was found, or why nothing was."""


def benchmark(blueprint: Blueprint, sample: Sample, plan: Plan, run: RunPass, watcher: Watcher) -> list[Measured]:
    """Every bolt that is not skipped, one after the other: nothing of the benchmark runs beside a measurement."""
    outputs: dict[str, Output] = dict(sample.outputs)
    pickled = cloudpickle.dumps(blueprint)
    found: list[Measured] = []
    for name, component in blueprint.components.items():
        if component.is_spout:
            continue
        given = input_of(blueprint, name, outputs, plan.most)
        if name in plan.skip:
            measured, output = Measured(name, given.tuples, reason="it was left out (--skip)", skipped=True), None
        elif not given.arrivals:
            measured, output = Measured(name, 0, reason=_nothing_came(given, plan.skip)), Output(until=given.until)
        else:
            watcher.begins(component, given.tuples)
            requests = _requests(pickled, name, given, plan)
            results: list[PassResult] = []
            for request in requests:
                results.append(run(request))
                watcher.passed(component, len(results))
                if results[-1].failure is not None or results[-1].stuck:
                    break
            measured, output = _measured(name, given, results, plan)
        watcher.done(component, measured)
        found.append(measured)
        if output is not None:
            outputs[name] = output
    return found


def _requests(blueprint: bytes, bolt: str, given: Input, plan: Plan) -> list[PassRequest]:
    """What it hands on is taken from the first pass."""
    keep = [plan.most, *(0 for _ in range(plan.repeat - 1))]
    return [PassRequest(blueprint, bolt, given.arrivals, plan.pace, most) for most in keep]


def _nothing_came(given: Input, skip: Collection[str]) -> str:
    missing = [f"{name} was left out" if name in skip else f"{name} failed" for name in given.missing]
    missing += [f"what {name} emitted cannot be pickled" for name in given.refused]
    return "no tuple came to it" + (f", since {', '.join(missing)}" if missing else " in the sample")


def _measured(bolt: str, given: Input, results: list[PassResult], plan: Plan) -> tuple[Measured, Output | None]:
    """What was found, and what it handed on; None when that is nothing to go by."""
    first = results[0]
    failure = next((result.failure for result in results if result.failure is not None), None)
    executed = len(first.costs)
    if failure is not None and not executed:
        return Measured(bolt, given.tuples, reason="it could not be run", error=failure), None
    if not executed:
        reason = "its first call was never over, and was given up" if first.stuck else "it executed nothing"
        return Measured(bolt, given.tuples, reason=reason, error=first.error), None
    if max(first.failed, first.errors) >= executed:
        return Measured(bolt, given.tuples, reason=f"it failed on all {executed:,} tuples", failed=executed, error=first.error), None
    passes = without_warm_up([result.costs for result in results], plan.warm_up)
    found = summary(passes)
    output = first.output
    if given.until is not None:
        output = replace(output, until=given.until if output.until is None else min(output.until, given.until))
    measured = Measured(
        bolt,
        given.tuples,
        found,
        costs=tuple(cost for costs in passes for cost in costs),
        selectivity={stream: count / executed for stream, count in first.emitted.items()},
        failed=max(first.failed, first.errors),
        error=first.error or failure,
        notes=(*_notes(given, results, plan), *_scarcity(found.samples)),
        python=first.python,
        cores=first.cores,
    )
    return measured, output


def _notes(given: Input, results: list[PassResult], plan: Plan) -> list[str]:
    notes = [
        f"without what comes from {name}, which {'was left out' if name in plan.skip else 'has no measurement'}" for name in given.missing
    ]
    whole = [result for result in results if result.failure is None]
    shortest = min(len(result.costs) for result in whole)
    if any(result.stuck for result in whole):
        notes.append("a call was never over, and was given up")
    elif shortest < given.tuples:
        notes.append(f"only {shortest:,} of {given.tuples:,} tuples in the {plan.pace.limit_seconds:g} s of a pass")
    if len(whole) < len(results):
        notes.append(f"only {len(whole)} of {plan.repeat} passes, since one could not be run")
    if (problem := results[0].output.problem) is not None:
        notes.append(f"tuples that it emitted were left out, for a value of theirs cannot be pickled: {problem}")
    return notes


def _scarcity(samples: int) -> list[str]:
    if samples >= FEWEST:
        return []
    tuples = "1 tuple" if samples == 1 else f"{samples} tuples"
    return [f"only {tuples} counted, so et is a guess; more events say more"]
