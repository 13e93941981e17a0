"""Execute: makes a plan true by one activation table for all bolts. The loop's way to the publisher."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace

from pasps.activation import ActivationTable, moves, with_active
from pasps.control.decision_log import Act, Outcome, Restarted
from pasps.control.publisher import CONFIRM_SECONDS, TablePublisher
from pasps.errors import BusyError, TimeoutExpiredError, UnmovableError

Restarting = Callable[[Mapping[str, int], Collection[str]], Awaitable[tuple[dict[str, Act], int, Restarted | None]]]
"""Starts all workers anew with other numbers of active replicas, but for those of bolts that somebody set by hand: see `Restart`."""


class TableActuator:
    """See `pasps.control.loop.Actuator`."""

    def __init__(self, publisher: TablePublisher, restart: Restarting, confirm_seconds: float = CONFIRM_SECONDS) -> None:
        self._publisher = publisher
        self._restart = restart
        self._confirm_seconds = confirm_seconds
        self.held: Mapping[str, int] = {}
        """Bolts that somebody set by hand, and may have while a plan waited for its turn."""

    @property
    def table(self) -> ActivationTable:
        """The newest."""
        return self._publisher.table

    async def set_replicas(self, wanted: Mapping[str, int], stay: frozenset[str]) -> tuple[dict[str, Act], int]:
        """Publish; back when every live worker routes by it and all tasks have arrived, or when the time for that is over.

        A bolt that cannot change does not keep the others from it.
        """
        acts: dict[str, Act] = {}
        errors: dict[str, str] = {}
        try:
            await self._publisher.change(lambda table: self._make(table, wanted, stay, acts), self._confirm_seconds)
        except UnmovableError as error:
            errors = {error.component: str(error)}
        except TimeoutExpiredError as error:
            errors = dict.fromkeys(acts, str(error))
        table = self._publisher.table
        for name, act in acts.items():
            if act.outcome is Outcome.DONE:
                after, outcome = len(table.components[name].active), Outcome.FAILED if name in errors else Outcome.DONE
                acts[name] = replace(act, after=after, outcome=outcome, error=errors.get(name, ""))
        return acts, table.version

    async def restart(self, wanted: Mapping[str, int]) -> tuple[dict[str, Act], int, Restarted | None]:
        """See `Restart.carry_out`."""
        return await self._restart(wanted, self.held)

    def _make(
        self, table: ActivationTable, wanted: Mapping[str, int], stay: frozenset[str], acts: dict[str, Act]
    ) -> ActivationTable | None:
        """Version n+1 with all changes that can be made, and in `acts` what becomes of each."""
        changed = table
        for name, count in wanted.items():
            before = len(table.components[name].active)
            if before == count:
                continue
            if name in self.held:
                acts[name] = Act(before, count, before, Outcome.HELD)
                continue
            if not table.workers:
                acts[name] = Act(before, count, before, Outcome.FAILED, "no worker is alive")
                continue
            following = with_active(changed, name, count)
            try:
                self._publisher.refuse(following)
            except (UnmovableError, BusyError) as error:
                acts[name] = Act(before, count, before, Outcome.FAILED, str(error))
                continue
            if name in stay and any(move.component == name for move in moves(table, following)):
                acts[name] = Act(before, count, before, Outcome.POSTPONED)
                continue
            changed = following
            acts[name] = Act(before, count, count, Outcome.DONE)
        return None if changed is table else replace(changed, version=table.version + 1)
