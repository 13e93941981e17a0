"""Where a topology's replicas are at home: placed when it is known which worker runs on which host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from pasps.activation import ActivationTable, Routing, first_table, without_worker
from pasps.api.blueprint import Blueprint
from pasps.assignment import Need, place, spread
from pasps.topology.keeper import Resume


class Housed(Protocol):
    """A worker that has a place: see `WorkerLink`."""

    worker: str
    incarnation: int
    where: tuple[str, ...]


class Homes:
    """`routings` is empty until the workers have their places."""

    def __init__(self, blueprint: Blueprint, resume: Resume) -> None:
        self.routings: dict[str, Routing] = {}
        self._blueprint = blueprint
        self._resume = resume
        self._where: dict[str, tuple[str, ...]] = {}

    def before(self, workers: Sequence[str]) -> ActivationTable:
        """A table in which nobody lives yet."""
        return first_table(self._placed(workers, self._resume.active), {})

    def settle(self, links: Iterable[Housed]) -> ActivationTable:
        """The first table, neighbours on different hosts; if the topology ran before, with as many active replicas as then."""
        return replace(self.settle_anew(links, self._resume.active), version=self._resume.version + 1)

    def settle_anew(self, links: Iterable[Housed], active: Mapping[str, int]) -> ActivationTable:
        """A table with so many active replicas, placed as at first, in which the workers of `links` live, wherever they are now.

        Who had a place before and is not among them keeps it for when it is back; until then what is at home there is with others.
        """
        came = {link.worker: link for link in links}
        self._where.update({worker: link.where for worker, link in came.items()})
        self.routings.update(self._placed(spread(self._where), active))
        table = first_table(dict(self.routings), {worker: link.incarnation for worker, link in came.items()})
        for worker in sorted(self._where.keys() - came.keys()):
            table = without_worker(table, worker)
        return table

    def _placed(self, workers: Sequence[str], active: Mapping[str, int]) -> dict[str, Routing]:
        needs = {
            name: Need(plan.pool, max(1, min(plan.pool, active.get(name, plan.par))), plan.keyed, plan.pinned)
            for name, plan in self._blueprint.components.items()
        }
        return place(needs, workers)
