"""What all parts of one worker share, in one frozen record: registers, queues and surroundings; no behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field

from pasps.api.blueprint import Blueprint
from pasps.clock import Clock
from pasps.config import Settings
from pasps.runtime.ack_box import AckBox
from pasps.runtime.peer import Peer
from pasps.runtime.replica_pool import ReplicaPool
from pasps.runtime.reports import Reports
from pasps.runtime.residents import Residents
from pasps.runtime.target import Target
from pasps.transport.values import RowWrapper


@dataclass(frozen=True)
class Parts:
    """`me` is this worker, `workers` how many the topology has; `targets` are all tasks of all bolts, by component and index."""

    me: str
    workers: int
    blueprint: Blueprint
    settings: Settings
    clock: Clock
    reports: Reports
    rows: RowWrapper
    acks: AckBox
    targets: dict[str, list[Target]]
    residents: Residents = field(default_factory=Residents)
    pool: ReplicaPool = field(default_factory=ReplicaPool)
    peers: dict[str, Peer] = field(default_factory=dict)


def ack_box_for(blueprint: Blueprint) -> AckBox:
    """A box that need not look at each root where there is but one spout task."""
    spouts = [task for plan in blueprint.components.values() if plan.is_spout for task in plan.tasks]
    return AckBox(spouts[0] if len(spouts) == 1 else 0)


def targets_of(blueprint: Blueprint) -> dict[str, list[Target]]:
    """A target for every task; where they are, the first table says."""
    return {name: [Target(name, task, 1) for task in range(plan.pool)] for name, plan in blueprint.components.items()}
