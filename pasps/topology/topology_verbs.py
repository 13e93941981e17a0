"""What each of a topology's verbs does: status, scale, activate, deactivate, kill, errors. All on its controller's event loop.

Whoever sets bolts in another way sets `scale`. `explain`, which reads the run's decisions, is added where they are kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol

from pasps.api.blueprint import Blueprint
from pasps.control import decision_log
from pasps.control.decision_log import Record
from pasps.control.explain import explained
from pasps.errors import InvalidError, PaspsError
from pasps.report.run_files import Log
from pasps.topology.controller import ErrorReport, TopologyController
from pasps.topology.run_record import RunState
from pasps.topology.status import Status, elastic_view, shapes
from pasps.topology.verbs import Activate, Activity, Deactivate, Explain, GetErrors, GetStatus, Kill, Scale, Scaled, ScaleDone, Verbs

_ERRORS_IN_STATUS = 10


class Standing(Protocol):
    """Where a run is; a run directory is one."""

    @property
    def state(self) -> RunState:
        """The state now."""

    def enter(self, state: RunState) -> None:
        """The next state."""


class TopologyVerbs(Verbs):
    """See the module; `kill` is given, because ending is more than the topology: it drains for at most so many seconds (None:
    as it was started), and returns the summary. `comes_back` says of one that does not run now whether it will, and then does what
    was wanted meanwhile."""

    def __init__(
        self,
        controller: TopologyController,
        standing: Standing,
        kill: Callable[[float | None], Awaitable[Mapping[str, Any]]],
        comes_back: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__()
        self._controller = controller
        self._standing = standing
        self._kill_run = kill
        self._comes_back = comes_back
        self._workers = len(controller.workforce.ids)
        self.add(GetStatus, self._status)
        self.add(Scale, self._scale)
        self.add(Activate, self._activate)
        self.add(Deactivate, self._deactivate)
        self.add(Kill, self._kill)
        self.add(GetErrors, self._errors)

    async def _status(self, _: GetStatus) -> Status:
        stats = await self._controller.stats()
        return Status(
            name=self._controller.blueprint.name,
            state=self._standing.state,
            uptime_seconds=stats.uptime_seconds,
            workers=tuple(self._controller.workers()),
            workers_wanted=self._workers,
            components=shapes(self._controller.blueprint),
            stats=stats,
            errors=tuple(self._controller.errors)[-_ERRORS_IN_STATUS:],
            elastic=elastic_view(self._controller),
            troubles=tuple(self._controller.troubles()),
            lost=self._controller.lost,
            losses=tuple(self._controller.losses)[-_ERRORS_IN_STATUS:],
            restarting=self._controller.restarts.under_way,
            restarts=self._controller.restarts.so_far,
        )

    async def _scale(self, asked: Scale) -> ScaleDone:
        """All are checked before the first is changed; one that is refused then does not stop the others."""
        wanted = {name: None if count == "auto" else count for name, count in asked.bolts.items()}
        if not wanted:
            raise InvalidError("expected at least one bolt, for example count=4")
        for name, count in wanted.items():
            check_scale(self._controller.blueprint, name, count, f"{name}={asked.bolts[name]}")
        done = await self._set_active(wanted)
        return ScaleDone(self._controller.publisher.table.version, done)

    async def _activate(self, _: Activate) -> Activity:
        return self._awaken(True)

    async def _deactivate(self, _: Deactivate) -> Activity:
        return self._awaken(False)

    async def _kill(self, asked: Kill) -> Mapping[str, Any]:
        return await self._kill_run(asked.wait)

    async def _errors(self, asked: GetErrors) -> dict[str, list[ErrorReport]]:
        component = asked.component
        if component is not None and component not in self._controller.blueprint.components:
            raise InvalidError(_no_component(self._controller.blueprint, component, self._controller.blueprint.components))
        # who died of its own accord is in both
        told = dict.fromkeys([*self._controller.errors, *self._controller.losses])
        kept = [error for error in told if component in (None, error.component)]
        return {"errors": sorted(kept, key=lambda error: error.time)[-asked.limit :]}

    def _awaken(self, awake: bool) -> Activity:
        if self._standing.state not in (RunState.RUNNING, RunState.INACTIVE):
            if self._comes_back():
                return Activity(str(self._standing.state), "active" if awake else "inactive")
            raise InvalidError(f"topology {self._controller.blueprint.name!r} is {self._standing.state}, so its spouts stay as they are")
        self._controller.set_awake(awake)
        self._standing.enter(RunState.RUNNING if awake else RunState.INACTIVE)
        return Activity(str(self._standing.state))

    async def _set_active(self, wanted: Mapping[str, int | None]) -> dict[str, Scaled]:
        """The default of `scale`: the controller lets whoever decides know what was set by hand."""
        for name, count in wanted.items():
            if count is None and (self._controller.elastic is None or self._controller.elastic.view().policy == "static"):
                raise InvalidError(f"{name}=auto: the topology is not elastic, pasps.policy is static; give a number")
        return {name: await self._set_one(name, count) for name, count in wanted.items()}

    async def _set_one(self, name: str, count: int | None) -> Scaled:
        before, error = self._active(name), None
        try:
            if count is not None:
                await self._controller.set_active(name, count)
            elif self._controller.elastic is not None:
                self._controller.elastic.release(name)
        except PaspsError as refused:
            error = type(refused).__name__, str(refused)
        return Scaled(before, count, self._active(name), error)

    def _active(self, name: str) -> int:
        return len(self._controller.publisher.table.components[name].active)


def add_explain(verbs: Verbs, directory: Path) -> None:
    """Add `explain`: why bolts have their replicas, by the decisions that are kept in this directory."""

    async def explain(asked: Explain) -> str:
        records: Log[Record] = Log(directory, "decisions", decision_log.read)
        return await asyncio.to_thread(explained, records, asked.bolt, asked.at)

    verbs.add(Explain, explain)


def check_scale(blueprint: Blueprint, name: str, count: object, where: str) -> None:
    """Whether that bolt can have so many active replicas; None means that somebody else decides.

    Raises:
        InvalidError: no such bolt, or a number outside of 1 to its pool; begins with `where`.
    """
    bolts = {id_: plan for id_, plan in blueprint.components.items() if not plan.is_spout}
    plan = bolts.get(name)
    if plan is None:
        raise InvalidError(f"{where}: {_no_component(blueprint, name, bolts, 'bolt')}")
    if count is not None:
        plan.check_active(count, where)


def _no_component(blueprint: Blueprint, name: str, known: Mapping[str, Any], what: str = "component") -> str:
    near = get_close_matches(name, known, n=1)
    hint = "it is a spout; " if name in blueprint.components else f"did you mean {near[0]!r}? " if near else ""
    return f"there is no {what} {name!r} in topology {blueprint.name!r}; {hint}it has {', '.join(known)}"
