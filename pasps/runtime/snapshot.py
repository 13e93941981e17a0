"""Takes all counters of a worker at once, between two steps: its answer to "cut k"."""

from __future__ import annotations

from typing import Any

from pasps.metrics import Histogram, LinkCounts, ReplicaCounts, WorkerCounts
from pasps.runtime.executor import Executor
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.runtime.worker import Worker


def take_counts(worker: Worker, incarnation: int) -> WorkerCounts:
    """Everything the worker counts. Cheap enough for once a second: it copies numbers, no tuple."""
    residents, table = worker.residents, worker.keeper.table
    latency = Histogram()
    for spout in residents.spouts.values():
        latency.merge(spout.fates.histogram)
    replicas = residents.counts(worker.id, lambda key: worker.hosting.state(key).value)
    replicas += [_spout_counts(worker, spout) for spout in residents.spouts.values()]
    executors: list[Executor] = [*residents.executors.values(), *residents.spouts.values()]
    # what is handed over is counted until the new host has said that it has it: for a moment twice, rather than not at all
    moving = [batch for departure in worker.moves.departures.values() for batch in departure.queue]
    moving += [batch for arrival in worker.moves.arrivals.values() if not arrival.spare for batch in arrival.before]
    moving += [batch for slot in residents.slots.values() for batch in slot.held or ()]
    # the link has them in `got`, so they are not on the way any more, and no inbox has them yet
    moving += [batch for peer in worker.peers.values() for _, batch in peer.early]
    parked = [batch for executor in executors for _, batch in executor.emitter.parked]
    return WorkerCounts(
        worker.id,
        incarnation,
        0 if table is None else table.version,
        replicas,
        [LinkCounts(peer.id, peer.incarnation, dict(peer.sent), dict(peer.got), peer.waiting()) for peer in worker.peers.values()],
        _by_edge([*parked, *moving]),
        positions_of(worker),
        latency.buckets,
        latency.total,
        int(bool(worker.acks)),
    )


def positions_of(worker: Worker) -> dict[int, bytes]:
    """What the spout tasks here saved last, packed, by task id."""
    return {task: position for task, spout in worker.residents.spouts.items() if (position := spout.position()) is not None}


def activity(worker: Worker) -> tuple[int, ...]:
    """Numbers that change whenever any counter does: much cheaper than to take them all, for a worker that is idle.

    What grows while another falls is no part of one sum with it.
    """
    table, residents = worker.keeper.table, worker.residents
    bolts, spouts, links = residents.executors.values(), residents.spouts.values(), worker.peers.values()
    return (
        0 if table is None else table.version,
        sum(sum(bolt.inbox.received.values()) for bolt in bolts),
        sum(bolt.inbox.count for bolt in bolts),
        sum(bolt.in_hand for bolt in bolts),
        sum(sum(bolt.meter.executed.values()) for bolt in bolts),
        sum(bolt.meter.acked + bolt.meter.failed + bolt.meter.errors for bolt in bolts),
        sum(sum(link.got.values()) for link in links),
        sum(sum(link.sent.values()) for link in links),
        sum(spout.collector.sent + spout.collector.count for spout in spouts),
        sum(spout.meter.acked + spout.meter.failed + spout.meter.errors for spout in spouts),
        sum(spout.collector.saves for spout in spouts),
        sum(spout.reopened for spout in spouts),
    )


def _by_edge(batches: list[Any]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for batch in batches:
        counts[batch.edge] = counts.get(batch.edge, 0) + len(batch.rows)
    return counts


def _spout_counts(worker: Worker, spout: SpoutExecutor) -> ReplicaCounts:
    counts = spout.counts(worker.id, "ACTIVE" if spout.awake else "INACTIVE")
    # the end of the topology must not be seen between a failure and what the spout makes of it
    counts.queued = spout.collector.count + (spout.awake and spout.reopened)
    counts.pending = len(spout.fates.ledger)
    if spout.awake and not spout.finished:
        spout.note_held_back()
    counts.held_back = spout.meter.held_back
    counts.backlog = spout.backlog()
    return counts
