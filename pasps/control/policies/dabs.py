"""DABS-Storm's AUTOSCALE+: replicas for what regressions and parents say comes, by the CPU that replicas can have (its Eq. 3 to 13).

From Kotto-Kombi, Lumineau, Lamarre, Rivetti, Busnel: DABS-Storm, a data-aware approach for elastic stream processing (2018).
Where the printed equations cannot be meant, and what here stands for a thread, a core and a reservation, is in docs/policies.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pasps.control.plan import BoltPlan, Plan, Reason
from pasps.control.policies.observed import active_now, changed_since, waiting_before
from pasps.control.policies.options import HOW_CHANGED, option
from pasps.control.policies.policy import Needs, Policy
from pasps.control.policies.reasoned import granted, kept, unknown, whole
from pasps.control.policies.regression import KINDS, MOST, Fit, best_fit
from pasps.control.quantities import count, seconds_text
from pasps.control.situation import BoltShape, Situation

MOST_WINDOW = 60
_REST = Reason("needs", "replicas have changed since the last decision: this window is not looked at")


@dataclass(frozen=True, slots=True)
class Options:
    """Its parameters, with the paper's values."""

    variant: Literal["autoscale+", "autoscale"] = option("autoscale+", "`autoscale`: no CPU, no working interval, lines alone")
    window_seconds: int = option(10, "Measurements, one a second, for the regressions", unit="seconds", least=2, most=MOST_WINDOW)
    combine: Literal["max", "min"] = option("max", "Of the regression and what parents are to send: the larger or the smaller")
    weight: float = option(0.3, "lambda of Eq. 7: how much counts what a replica uses or has reserved", least=0, most=1)
    beta: float = option(0.8, "beta of Eq. 11: fewer only below this part of the active replicas", above=0, most=1)
    alpha: float = option(1.0, "alpha of Eq. 13: the part of a reservation that is counted on", above=0, most=1)
    reserved: float = option(1.0, "What a replica that computes is taken to have reserved", unit="cores", above=0, most=1)
    reconfigure: Literal["pool", "restart"] = option("pool", HOW_CHANGED)


def plan(situation: Situation, options: Options) -> Plan:
    """One decision for the next window, operator by operator in topological order."""
    memory = {"active": active_now(situation)}
    if changed_since(situation):
        return Plan({name: kept(active, _REST) for name, active in memory["active"].items()}, memory=memory)
    inputs: dict[str, float] = {}
    waiting = waiting_before(situation)
    usable = {} if options.variant == "autoscale" else usable_cpu(situation, options)
    bolts = {}
    for bolt in situation.shape.bolts:
        inputs[bolt.id], came = _input(situation, options, bolt, inputs, waiting[bolt.id])
        bolts[bolt.id] = _decided(situation, options, bolt, inputs[bolt.id], came, usable)
    return Plan(bolts, memory=memory, reconfigure=options.reconfigure)


def _input(situation: Situation, options: Options, bolt: BoltShape, inputs: dict[str, float], waiting: float) -> tuple[float, Reason]:
    """EstimInput, Eq. 3 to 5; `inputs` are those of the operators before it, of which EstimOutput is made."""
    interval, theta, span = situation.interval, situation.estimates.selectivity[bolt.id], situation.settings.interval_seconds
    fit = _fit(situation, options, bolt)
    own = 0.0 if fit is None else fit.ahead(span)
    said = "nothing measured yet" if fit is None else f"{count(own)} by the {fit.kind} regression of {fit.seen} s"
    parents = [name for name in bolt.sources if name in inputs]
    combined = own
    if parents:
        # a spout is no operator, and nothing is estimated for it: what comes of it straight away goes on as it came
        straight = sum(n for name, n in interval.bolts[bolt.id].received.items() if name not in inputs) * span / interval.seconds
        sent = min(MOST, sum(inputs[name] * theta[name] for name in parents) + straight)
        combined = max(own, sent) if options.combine == "max" else min(own, sent)
        said = f"{options.combine} of {said} and {count(sent)} by its parents"
    total = min(MOST, combined + waiting)
    return total, Reason("input", f"{count(total)} in the next {seconds_text(span)}: {said}, + {count(waiting)} pending", "Eq. 3 to 5")


def _fit(situation: Situation, options: Options, bolt: BoltShape) -> Fit | None:
    """f of Eq. 3, by the seconds of the window as far as there are any."""
    seconds = situation.history[-options.window_seconds :]
    rates = [second.bolts[bolt.id].received / second.seconds for second in seconds]
    kinds = KINDS[:1] if options.variant == "autoscale" else KINDS
    return best_fit(rates, kinds) if rates else None


def _decided(situation: Situation, options: Options, bolt: BoltShape, total: float, came: Reason, usable: Mapping[str, float]) -> BoltPlan:
    """Eq. 6 to 13 of one operator."""
    active, time = situation.interval.bolts[bolt.id].active, situation.estimates.execution[bolt.id].seconds
    if not time:
        return unknown(active)
    span = situation.settings.interval_seconds
    alone = span * bolt.concurrency / time  # Eq. 6
    cpu = usable.get(bolt.id, 1.0)
    capacity = alone * cpu  # Eq. 9
    ideal = total / capacity if capacity > 0 else math.inf if total else 0.0  # Eq. 10
    least = active if options.variant == "autoscale" else options.beta * active  # Eq. 11
    guaranteed = alone * (options.reserved if bolt.id in usable else 1.0) * (1.0 if options.variant == "autoscale" else options.alpha)
    following = whole(total / guaranteed)  # Eq. 12 and 13
    asked, word = active, "stays"
    if ideal > active:
        asked, word = max(following, active + 1), "scale-out"
    elif ideal < least:
        # never fewer than this very window's numbers ask for
        asked = max(min(following, active - 1), whole(ideal))
        word = "scale-in" if asked < active else "below it, but none can be spared"
    k = "without end" if math.isinf(ideal) else count(ideal)
    reasons = [Reason("needs", f"idealK {k}, working interval {count(least)} to {active}: {word}", "Eq. 10, 11")]
    if asked != active:
        counted = f" x {options.alpha:g}" if options.alpha < 1 and options.variant == "autoscale+" else ""
        on = f" on what each has reserved{counted}" if bolt.id in usable or counted else ""
        reasons.append(Reason("needs", f"k' = {count(following)}{on}", "Eq. 12, 13"))
    at_once = f" x {bolt.concurrency} at a time" if bolt.concurrency > 1 else ""
    share = f" x {cpu:.2f} usable CPU" if bolt.id in usable else ""
    alone_text = f"{seconds_text(span)} / {seconds_text(time)}{at_once}{share}"
    reasons += [came, Reason("capacity", f"{alone_text} = {count(capacity)} a replica", "Eq. 6 to 9")]
    return granted(bolt, active, asked, *reasons)


def usable_cpu(situation: Situation, options: Options) -> dict[str, float]:
    """Eq. 7 and 8: of each bolt that computes the CPU that the worst off of its replicas can have, as a share of a core.

    A thread is an active replica that computes; its core is its worker's loop, which handles one event at a time. A bolt that waits,
    on a thread, for an await or in a call, is held up by nobody and is left out, as is one of whose replicas nothing is known.
    """
    interval = situation.interval
    computing = [bolt.id for bolt in situation.shape.bolts if not bolt.waits and not interval.bolts[bolt.id].blocks]
    threads: dict[str, list[tuple[str, float]]] = {}
    for name in computing:
        for replica in situation.replicas.get(name, {}).values():
            if replica.state == "ACTIVE":
                threads.setdefault(replica.worker, []).append((name, (replica.cpu or 0.0) / interval.seconds))
    found: dict[str, float] = {}
    for worker, uses in threads.items():
        core, process = _core(situation, worker), situation.workers.get(worker)
        # what the process does besides, such as sending and receiving, is nobody's thread, but uses the core
        everything = 0.0 if process is None or process.cpu is None else process.cpu / interval.seconds
        everything = max(everything, sum(own for _, own in uses))
        for name, own in uses:
            free = max(0.0, core - (everything - own))
            usable = min(core, options.weight * max(own, options.reserved) + free / len(uses))
            found[name] = min(found.get(name, usable), usable)
    return found


def _core(situation: Situation, worker: str) -> float:
    """What a worker's loop can have: a core, or its part where more workers than cores share a host."""
    place = situation.workers.get(worker)
    if place is not None and place.host is not None and place.cores:
        return min(1.0, place.cores / sum(other.host == place.host for other in situation.workers.values()))
    return min(1.0, situation.interval.cores / max(1, situation.interval.workers))


POLICY = Policy(
    "dabs",
    "DABS-Storm: AUTOSCALE+, by regressions of each bolt's input, what its parents are to send, and the CPU that it can have",
    plan,
    Options,
    Needs(history_seconds=MOST_WINDOW, replicas=True, interval_seconds=10.0),
)
