"""The activation table: one immutable, versioned value that says which replicas work and where every task lives.

The controller makes version n+1 from version n with the functions below; workers apply the newest they see. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pasps.errors import BrokenError


@dataclass(frozen=True, slots=True)
class Routing:
    """One component: its active replicas, the worker each replica is placed on, and, for keyed bolts, each task's replica.

    `hosts` None: task i is replica i. A spout's tasks are all active and never change replica.
    """

    active: tuple[int, ...]
    places: tuple[str, ...]
    hosts: tuple[int, ...] | None = None
    pinned: bool = False

    @property
    def pool(self) -> int:
        """How many replicas there are."""
        return len(self.places)

    def replica_of(self, task: int) -> int:
        """The replica that hosts the task."""
        return task if self.hosts is None else self.hosts[task]

    def worker_of(self, task: int) -> str:
        """The worker where the task lives."""
        return self.places[self.replica_of(task)]


@dataclass(frozen=True, slots=True)
class ActivationTable:
    """Version n of the truth. `workers` maps the live workers to their incarnations."""

    version: int
    components: Mapping[str, Routing]
    workers: Mapping[str, int]

    def following(self, **routings: Routing) -> ActivationTable:
        """Version n+1 with some components' routing replaced."""
        return replace(self, version=self.version + 1, components={**self.components, **routings})


@dataclass(frozen=True, slots=True)
class Move:
    """A keyed task that changes worker between two tables; `source` None: no live worker has its state."""

    component: str
    task: int
    source: str | None
    target: str


def first_table(components: Mapping[str, Routing], workers: Mapping[str, int]) -> ActivationTable:
    """Version 1."""
    return ActivationTable(1, components, workers)


def host_tasks(active: tuple[int, ...], before: tuple[int, ...] | None, pool: int) -> tuple[int, ...]:
    """Hosts for `pool` tasks on the active replicas: home replica first, then balanced, moving as few as it can."""
    chosen = set(active)
    hosts = [task if task in chosen else -1 for task in range(pool)]
    most = -(-pool // len(active))
    loads = Counter(host for host in hosts if host >= 0)
    for task in range(pool):
        stay = before[task] if before is not None else -1
        if hosts[task] < 0 and stay in chosen and loads[stay] < most:
            hosts[task] = stay
            loads[stay] += 1
    for task in range(pool):
        if hosts[task] < 0:
            hosts[task] = min(active, key=lambda replica: (loads[replica], replica))
            loads[hosts[task]] += 1
    _level(hosts, active, loads)
    return tuple(hosts)


def _level(hosts: list[int], active: tuple[int, ...], loads: Counter[int]) -> None:
    """Move guests (never a task on its home replica) from the fullest replica to the emptiest until they differ by one."""
    while True:
        fullest = max(active, key=lambda replica: (loads[replica], -replica))
        emptiest = min(active, key=lambda replica: (loads[replica], replica))
        guests = [task for task, host in enumerate(hosts) if host == fullest and task != fullest]
        if loads[fullest] - loads[emptiest] <= 1 or not guests:
            return
        hosts[guests[-1]] = emptiest
        loads[fullest] -= 1
        loads[emptiest] += 1


def with_active(table: ActivationTable, component: str, count: int) -> ActivationTable:
    """Version n+1 with `count` active replicas of `component`: as few changes as possible, spread over the live workers.

    Replicas whose worker is gone are taken last, and placed on the live worker that has the fewest.

    Raises:
        BrokenError: no worker is alive.
    """
    routing = table.components[component]
    live = table.workers
    active = [replica for replica in routing.active if routing.places[replica] in live]
    places = list(routing.places)
    while len(active) > count:
        active.remove(_least_wanted(active, places, routing.pinned))
    while len(active) < count:
        active.append(_most_wanted(active, places, live))
    return table.following(**{component: _settled(routing, tuple(sorted(active)), tuple(places))})


def _settled(routing: Routing, active: tuple[int, ...], places: tuple[str, ...]) -> Routing:
    hosts = None if routing.hosts is None else host_tasks(active, routing.hosts, routing.pool)
    return replace(routing, active=active, places=places, hosts=hosts)


def _least_wanted(active: list[int], places: list[str], pinned: bool) -> int:
    crowd = Counter(places[replica] for replica in active)
    return max((r for r in active if not (pinned and r == 0)), key=lambda replica: (crowd[places[replica]], replica))


def _most_wanted(active: list[int], places: list[str], live: Mapping[str, int]) -> int:
    crowd = Counter(places[replica] for replica in active)
    if not live:
        raise BrokenError("no worker is alive, so no replica can be placed; try again when one is back")
    free = [replica for replica in range(len(places)) if replica not in active]
    placed = [replica for replica in free if places[replica] in live]
    if placed:
        return min(placed, key=lambda replica: (crowd[places[replica]], replica))
    places[free[0]] = min(live, key=lambda worker: (crowd[worker], worker))
    return free[0]


Unconfirmed = Mapping[tuple[str, int], str]
"""Keyed tasks on the move whose arrival nobody has confirmed, and the workers that they left, which have their state until then.

A worker, not a replica: the replica that hosted the task may have been placed elsewhere by the table that moves it.
"""


def without_worker(table: ActivationTable, dead: str, unconfirmed: Unconfirmed | None = None) -> ActivationTable:
    """Version n+1 after `dead` was lost: every bolt keeps as many active replicas as it had, every spout task moves.

    An inactive replica on a live worker takes over where there is one; else the lost replica is placed anew.
    A task that was on its way to the dead worker goes back to the worker that still has its state, if one has, even if that takes
    a replica more than there were.
    With no live worker left the table stays as it is, but for the dead one.
    """
    unconfirmed = unconfirmed or {}
    live = {worker: inc for worker, inc in table.workers.items() if worker != dead}
    shrunk = replace(table, version=table.version + 1, workers=live)
    if not live:
        return shrunk
    crowd = Counter(r.places[replica] for r in table.components.values() for replica in r.active)
    repaired = {}
    for name, routing in table.components.items():
        stranded = {task: source for (of, task), source in unconfirmed.items() if of == name and routing.worker_of(task) == dead}
        # whoever sent it may have died before
        back = {task: source for task, source in stranded.items() if source in live}
        repaired[name] = _repaired(routing, live, crowd, back)
    return replace(shrunk, components=repaired)


def _repaired(routing: Routing, live: Mapping[str, int], crowd: Counter[str], back: Mapping[int, str]) -> Routing:
    lost = [replica for replica in routing.active if routing.places[replica] not in live]
    if not lost:
        return routing
    places, active = list(routing.places), [replica for replica in routing.active if replica not in lost]
    stands_in = {}
    for replica in lost:
        standby = [r for r in range(routing.pool) if r not in routing.active and r not in active and places[r] in live]
        if standby and not (routing.pinned and replica == 0):
            chosen = min(standby, key=lambda r: (places[r] not in back.values(), crowd[places[r]], r))
        else:
            chosen = replica
            places[replica] = min(live, key=lambda worker: (crowd[worker], worker))
        crowd[places[chosen]] += 1
        active.append(chosen)
        stands_in[replica] = chosen
    repaired = replace(routing, active=tuple(sorted(active)), places=tuple(places))
    if routing.hosts is None:
        return repaired
    # only what was lost moves: a task that is on its way between two live workers must not be sent on meanwhile
    repaired = replace(repaired, hosts=tuple(stands_in.get(host, host) for host in routing.hosts))
    for task, source in back.items():
        repaired = _back_on(repaired, task, source)
    return repaired


def _back_on(routing: Routing, task: int, worker: str) -> Routing:
    """The task on that worker: on an active replica there, the one with the fewest tasks; else one is activated, or placed there."""
    assert routing.hosts is not None
    loads = Counter(host for other, host in enumerate(routing.hosts) if other != task)
    here = [replica for replica in range(routing.pool) if routing.places[replica] == worker]
    if here:
        chosen = min(here, key=lambda r: (r not in routing.active, loads[r], r != task, r))
    else:
        # its replicas were placed elsewhere; some replica hosts no other task, as there are as many replicas as tasks
        chosen = min((r for r in range(routing.pool) if not loads[r]), key=lambda r: (r in routing.active, r))
    places, hosts = list(routing.places), list(routing.hosts)
    places[chosen], hosts[task] = worker, chosen
    return replace(routing, active=tuple(sorted({*routing.active, chosen})), places=tuple(places), hosts=tuple(hosts))


def left_where_it_was(table: ActivationTable, component: str, task: int, worker: str) -> ActivationTable:
    """Version n+1 with a task that could not move on the worker that still runs it, where a replica is activated if need be."""
    return table.following(**{component: _back_on(table.components[component], task, worker)})


def with_worker(table: ActivationTable, worker: str, incarnation: int) -> ActivationTable:
    """Version n+1 in which `worker` is alive (again).

    Nothing is taken from others for it; but when all workers had died, what none of the living has is placed on the living.
    """
    live = {**table.workers, worker: incarnation}
    crowd = Counter(r.places[replica] for r in table.components.values() for replica in r.active)
    components = {name: _repaired(routing, live, crowd, {}) for name, routing in table.components.items()}
    return replace(table, version=table.version + 1, components=components, workers=live)


def brought_home(table: ActivationTable, home: Mapping[str, Routing], component: str) -> ActivationTable | None:
    """Version n+1 with a bolt's replicas where they were placed at first, as many active as now; None: they are there.

    A pinned replica stays where it is: it has what it has in memory, and no sibling shares its work.
    """
    routing, first = table.components[component], home[component]
    places = tuple(
        want if want in table.workers and not (routing.pinned and replica == 0) else now
        for replica, (want, now) in enumerate(zip(first.places, routing.places, strict=True))
    )
    wanted = replace(routing, active=routing.active[:1] if routing.pinned else (), places=places)
    blank = replace(table, components={**table.components, component: wanted})
    spread = with_active(blank, component, len(routing.active)).components[component]
    settled = _settled(routing, spread.active, places)
    return None if settled == routing else table.following(**{component: settled})


def moves(old: ActivationTable, new: ActivationTable) -> list[Move]:
    """The keyed tasks that change worker, in a fixed order."""
    found = []
    for name, routing in new.components.items():
        before = old.components[name]
        if routing.hosts is None:
            continue
        for task in range(routing.pool):
            source, target = before.worker_of(task), routing.worker_of(task)
            # a later incarnation of the same name has nothing of what the one before had
            alive = source in new.workers and new.workers[source] == old.workers.get(source)
            if source != target or not alive:
                found.append(Move(name, task, source if alive else None, target))
    return found
