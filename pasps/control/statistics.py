"""From the counters of all workers to what users read. Pure.

Counters are summed over every incarnation of every worker; what a dead one had queued is gone, its counts are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pasps.activation import ActivationTable
from pasps.api.blueprint import Blueprint, ComponentPlan
from pasps.metrics import (
    GONE,
    ComponentStats,
    EdgeStats,
    Histogram,
    Latency,
    ReplicaCounts,
    ReplicaStats,
    Stats,
    WorkerCounts,
)


def stats_of(
    blueprint: Blueprint,
    table: ActivationTable,
    living: Mapping[str, WorkerCounts],
    dead: Iterable[WorkerCounts],
    uptime_seconds: float,
    earlier: Histogram | None = None,
) -> Stats:
    """One snapshot; complete when every live worker is in `living` with its present incarnation, and one is alive.

    `earlier` are all latencies as they were when what counts as recent began; None: all are recent.
    """
    past = list(dead)
    latency = latencies((*living.values(), *past))
    by_component: dict[str, list[tuple[ReplicaCounts, bool]]] = {name: [] for name in blueprint.components}
    for counts, alive in [*((c, True) for c in living.values()), *((c, False) for c in past)]:
        for replica in counts.replicas:
            by_component[replica.component].append((replica, alive))
    on_way = on_the_way(living)
    components = {name: _component(plan, table, by_component[name], on_way) for name, plan in blueprint.components.items()}
    spouts = [replica for name, plan in blueprint.components.items() if plan.is_spout for replica, _ in by_component[name]]
    emitted = sum(sum(replica.emitted.values()) for replica in spouts)
    replayed = sum(replica.replayed for replica in spouts)
    return Stats(
        components=components,
        complete_latency=Latency.of(latency),
        emitted_first=emitted - replayed,
        replayed=replayed,
        acked=sum(replica.acked for replica in spouts),
        failed=sum(replica.failed for replica in spouts),
        pending=sum(replica.pending for counts in living.values() for replica in counts.replicas),
        table_version=table.version,
        complete=bool(table.workers)
        and all(worker in living and living[worker].incarnation == incarnation for worker, incarnation in table.workers.items()),
        uptime_seconds=uptime_seconds,
        due=sum(component.due for component in components.values()),
        latency=latency,
        recent_latency=Latency.of(latency if earlier is None else latency.since(earlier)),
        cpu_seconds={name: counts.cpu_seconds for name, counts in living.items() if counts.cpu_seconds is not None},
    )


def latencies(counts: Iterable[WorkerCounts]) -> Histogram:
    """Those of several workers together."""
    merged = Histogram()
    for each in counts:
        merged.merge(Histogram(each.latency, each.latency_total))
    return merged


def on_the_way(living: Mapping[str, WorkerCounts]) -> dict[int, int]:
    """Tuples by edge that were emitted and are in no inbox yet: without credit, buffered, or between two workers."""
    counts: dict[int, int] = {}

    def add(edges: Mapping[int, int], sign: int = 1) -> None:
        for edge, count in edges.items():
            counts[edge] = counts.get(edge, 0) + sign * count

    for worker in living.values():
        add(worker.parked)
        for link in worker.links:
            add(link.waiting)
            peer = living.get(link.peer)
            back = next((b for b in peer.links if b.peer == worker.worker), None) if peer is not None else None
            if peer is None or back is None or peer.incarnation != link.incarnation or back.incarnation != worker.incarnation:
                continue
            # the two cuts are not of the same instant: what arrived after the sender's cut is not on the way
            add({edge: max(0, sent - back.got.get(edge, 0)) for edge, sent in link.sent.items()})
    return counts


def _component(
    plan: ComponentPlan,
    table: ActivationTable,
    replicas: list[tuple[ReplicaCounts, bool]],
    on_way: Mapping[int, int],
) -> ComponentStats:
    routing = table.components[plan.id]
    emitted = executed = acked = failed = errors = queued = kept = unfinished = finishing = 0
    seconds, blocks = 0.0, False
    backlog: int | None = None
    received_by: dict[int, int] = {}
    executed_by: dict[int, int] = {}
    for r, alive in replicas:  # one pass: this is done several times a second, for every replica of every bolt
        emitted += sum(r.emitted.values())
        seconds += r.seconds
        acked += r.acked
        failed += r.failed
        errors += r.errors
        for edge, count in r.received.items():
            received_by[edge] = received_by.get(edge, 0) + count
        for edge, count in r.executed.items():
            executed_by[edge] = executed_by.get(edge, 0) + count
            executed += count
        if alive:
            queued += r.queued + r.busy
            kept += r.kept
            unfinished += r.unfinished
            finishing += r.finishing
            blocks = blocks or (r.blocks and r.state != GONE)
            if r.backlog is not None:
                backlog = r.backlog + (backlog or 0)
    return ComponentStats(
        component=plan.id,
        emitted=emitted,
        executed=executed,
        acked=acked,
        failed=failed,
        queued=queued + sum(on_way.get(edge.index, 0) for edge in plan.inputs),
        active=len(routing.active),
        pool=plan.pool,
        execute_seconds=seconds / executed if executed else 0.0,
        errors=errors,
        replicas=_replicas(replicas),
        edges=tuple(
            EdgeStats(edge.source, edge.stream, received_by.get(edge.index, 0), executed_by.get(edge.index, 0)) for edge in plan.inputs
        ),
        backlog=backlog,
        kept=kept,
        unfinished=unfinished,
        finishing=finishing,
        blocks=blocks,
        **(_input(plan, replicas) if plan.is_spout else {}),
    )


def _input(plan: ComponentPlan, tasks: list[tuple[ReplicaCounts, bool]]) -> dict[str, Any]:
    """What only a spout's counters say."""
    replayed = sum(r.replayed for r, _ in tasks)
    first = sum(sum(r.emitted.values()) for r, _ in tasks) - replayed
    living = [r for r, alive in tasks if alive]
    told = {r.replica for r in living if r.backlog is not None}
    return {
        "emitted_first": first,
        "replayed": replayed,
        "due": first + sum(r.queued + (r.backlog or 0) for r in living),
        "knows_backlog": len(told) == plan.pool,
        "restarts": sum(r.lives for r, _ in tasks) - len({r.replica for r, _ in tasks}),
        "held_back": sum(r.held_back for r, _ in tasks),
    }


def _replicas(replicas: list[tuple[ReplicaCounts, bool]]) -> dict[int, ReplicaStats]:
    found: dict[int, ReplicaStats] = {}
    by_index: dict[int, list[tuple[ReplicaCounts, bool]]] = {}
    for each in replicas:
        by_index.setdefault(each[0].replica, []).append(each)
    for index in sorted(by_index):
        all_of = by_index[index]
        if len(all_of) == 1 and all_of[0][1] and all_of[0][0].state != GONE:  # as nearly always: one that lives in one place
            found[index] = _only(all_of[0][0])
            continue
        living = [r for r, alive in all_of if alive and r.state != GONE]
        # the one that is not parked speaks for the replica, where it lives in two places for a moment
        speaker = max(living, key=lambda r: (r.state == "ACTIVE", r.state == "DRAINING"), default=all_of[-1][0])
        executed = sum(sum(r.executed.values()) for r, _ in all_of)
        seconds = sum(r.seconds for r, _ in all_of)
        found[index] = ReplicaStats(
            replica=index,
            worker=speaker.worker,
            state=speaker.state if living else "LOST",
            emitted=sum(sum(r.emitted.values()) for r, _ in all_of),
            executed=executed,
            acked=sum(r.acked for r, _ in all_of),
            failed=sum(r.failed for r, _ in all_of),
            queued=sum(r.queued + r.busy for r in living),
            execute_seconds=seconds / executed if executed else 0.0,
            kept=sum(r.kept for r in living),
        )
    return found


def _only(counts: ReplicaCounts) -> ReplicaStats:
    executed = sum(counts.executed.values())
    return ReplicaStats(
        counts.replica,
        counts.worker,
        counts.state,
        sum(counts.emitted.values()),
        executed,
        counts.acked,
        counts.failed,
        counts.queued + counts.busy,
        counts.seconds / executed if executed else 0.0,
        counts.kept,
    )


IN_FLIGHT = "tracked tuples in flight"


def left_over(stats: Stats) -> dict[str, int]:
    """What a drain still has to wait for, by component; empty when nothing queues, nothing is in flight and no `finish` runs.

    What a bolt keeps is waited for as long as it is in flight: tracked, and not timed out.
    """
    left = {name: component.queued for name, component in stats.components.items() if component.queued}
    left |= {finish_of(name): component.finishing for name, component in stats.components.items() if component.finishing}
    if stats.pending:
        left[IN_FLIGHT] = stats.pending
        left |= _kept(stats)
    return left


def finish_of(component: str) -> str:
    """How what is left is named when a bolt's `finish` is waited for."""
    return f"{component}.finish()"


def _kept(stats: Stats) -> dict[str, int]:
    return {f"kept by {name} for a later ack": component.kept for name, component in stats.components.items() if component.kept}


def next_to_finish(stats: Stats, *, patient: bool = True) -> str | None:
    """Of a topology whose spouts emit no more: the bolt whose `finish` is due, in topological order; None: it is too early, or all is said.

    Too early is while anything queues, or is in flight. But what a bolt keeps may wait for its own `finish`, so that is not waited
    for; nor, unless `patient`, what others keep.
    """
    if set(left_over(stats)) - {IN_FLIGHT, *_kept(stats)}:
        return None
    waiting = [name for name, component in stats.components.items() if component.unfinished]
    keepers = {name for name, component in stats.components.items() if component.kept}
    if stats.pending and not (keepers and keepers <= set(waiting)) and patient:
        return None
    return next(iter(waiting), None)
