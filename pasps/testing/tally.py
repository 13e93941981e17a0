"""What the components of a run did, all lives of their workers together; used by `StepRun`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pasps.runtime.hosting import Residents


@dataclass(frozen=True, slots=True)
class ComponentCounts:
    """One component: tuples `emitted` and `executed` (ticks apart), inputs `acked` and `failed`, and `errors` of user code.

    Of a spout, `acked` and `failed` are its own tuples, and `replayed` of the emitted ones were emitted before.
    """

    emitted: int = 0
    executed: int = 0
    acked: int = 0
    failed: int = 0
    errors: int = 0
    replayed: int = 0

    def __add__(self, other: ComponentCounts) -> ComponentCounts:
        return ComponentCounts(
            self.emitted + other.emitted,
            self.executed + other.executed,
            self.acked + other.acked,
            self.failed + other.failed,
            self.errors + other.errors,
            self.replayed + other.replayed,
        )


def counts_of(residents: Residents) -> dict[str, ComponentCounts]:
    """The counts of everything in one worker, by component."""
    counts: dict[str, ComponentCounts] = {}
    for executor in (*residents.executors.values(), *residents.spouts.values()):
        meter = executor.meter
        one = ComponentCounts(
            sum(port.emitted for port in executor.emitter.ports.values()),
            sum(meter.executed.values()),
            meter.acked,
            meter.failed,
            meter.errors,
            meter.replayed,
        )
        counts[executor.plan.id] = counts.get(executor.plan.id, ComponentCounts()) + one
    for gone in residents.retired.values():
        one = ComponentCounts(sum(gone.emitted.values()), sum(gone.executed.values()), gone.acked, gone.failed, gone.errors, gone.replayed)
        counts[gone.component] = counts.get(gone.component, ComponentCounts()) + one
    return counts


def merged(parts: Iterable[dict[str, ComponentCounts]]) -> dict[str, ComponentCounts]:
    """Several workers' counts in one."""
    total: dict[str, ComponentCounts] = {}
    for part in parts:
        for component, counts in part.items():
            total[component] = total.get(component, ComponentCounts()) + counts
    return total


def left_in(residents: Iterable[Residents]) -> dict[str, int]:
    """What is not done, by component: tuples pending, queued or under way; a spout that has not ended counts one more."""
    left: dict[str, int] = {}
    for one in residents:
        for spout in one.spouts.values():
            waiting = spout.collector.count + _rows(batch for _, batch in spout.emitter.parked)
            count = len(spout.fates.ledger) + (not spout.finished) + waiting
            left[spout.plan.id] = left.get(spout.plan.id, 0) + count
        for executor in one.executors.values():
            running = sum(slot.running for slot in executor.slots.values())
            held = _rows(batch for slot in executor.slots.values() for batch in slot.held or ())
            queued = 0 if executor.inbox.shared else executor.inbox.count
            count = queued + _rows(batch for _, batch in executor.emitter.parked) + running + held
            count += executor.finishing()
            left[executor.plan.id] = left.get(executor.plan.id, 0) + count
        for component, inbox in one.inboxes.items():
            left[component] = left.get(component, 0) + inbox.count
    return {component: count for component, count in left.items() if count}


def _rows(batches: Iterable[Any]) -> int:
    return sum(len(batch.rows) for batch in batches)
