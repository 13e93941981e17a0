"""Where a topology's replicas are at home: placed when it is known which worker runs on which host."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pasps.activation import ActivationTable, Routing, first_table
from pasps.api.blueprint import Blueprint
from pasps.assignment import Need, place, spread
from pasps.daemons.keeper import Resume
from pasps.daemons.worker_link import WorkerLink


class Homes:
    """`routings` is empty until the workers have their places."""

    def __init__(self, blueprint: Blueprint, resume: Resume) -> None:
        self.routings: dict[str, Routing] = {}
        self._blueprint = blueprint
        self._resume = resume

    def before(self, workers: Sequence[str]) -> ActivationTable:
        """A table in which nobody lives yet."""
        return first_table(self._placed(workers), {})

    def settle(self, links: Iterable[WorkerLink]) -> ActivationTable:
        """The first table, neighbours on different hosts; if the topology ran before, with as many active replicas as then."""
        self.routings.update(self._placed(spread({link.worker: link.where for link in links})))
        table = first_table(self.routings, {link.worker: link.incarnation for link in links})
        return replace(table, version=self._resume.version + 1)

    def _placed(self, workers: Sequence[str]) -> dict[str, Routing]:
        active = self._resume.active
        needs = {
            name: Need(plan.pool, max(1, min(plan.pool, active.get(name, plan.par))), plan.keyed, plan.pinned)
            for name, plan in self._blueprint.components.items()
        }
        return place(needs, workers)
