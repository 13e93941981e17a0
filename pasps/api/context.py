"""What a running instance may know of the topology around it; made by the runtime, read by users."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from pasps.api.blueprint import Blueprint, ComponentPlan, Edge
from pasps.errors import InvalidError, shown


class TopologyContext:
    """Read-only view for one task; handed to `initialize` and kept as `self.ctx`.

    It belongs to the place where it was made: when an instance moves, the runtime gives it the new worker's.
    """

    __slots__ = ("_active", "_blueprint", "_plan", "_position", "_report", "_restarted", "_task_index", "_worker_id")

    def __init__(
        self,
        blueprint: Blueprint,
        component_id: str,
        task_index: int,
        worker_id: str,
        position: Any,
        active: Callable[[str], list[int]],
        report: Callable[[BaseException | str], None],
        restarted: bool = False,
    ) -> None:
        """`active` gives the active task ids of a component as of now; `report` takes an error to the topology's errors."""
        self._blueprint = blueprint
        self._plan = blueprint.components[component_id]
        self._task_index = task_index
        self._worker_id = worker_id
        self._position = position
        self._active = active
        self._report = report
        self._restarted = restarted

    def __repr__(self) -> str:
        return f"TopologyContext({self.topology_name!r}, {self.component_id!r}, task {self.task_id}, worker {self.worker_id!r})"

    @property
    def topology_name(self) -> str:
        """The name the topology was submitted under."""
        return self._blueprint.name

    @property
    def component_id(self) -> str:
        """The component this is an instance of."""
        return self._plan.id

    @property
    def task_id(self) -> int:
        """This task's number in the whole topology, from 1; the same after a restart."""
        return self._plan.first_task + self._task_index

    @property
    def task_index(self) -> int:
        """This task's number in its component, from 0."""
        return self._task_index

    @property
    def worker_id(self) -> str:
        """The worker that hosts it now."""
        return self._worker_id

    @property
    def position(self) -> Any:
        """What this spout task gave to `save_position` last; None when it never did."""
        return self._position

    @property
    def restarted(self) -> bool:
        """False at the start of the topology, which may be refused; True when it runs, and a worker that was lost is made up for."""
        return self._restarted

    @property
    def sources(self) -> list[Edge]:
        """The subscriptions of this component."""
        return list(self._plan.inputs)

    @property
    def targets(self) -> list[Edge]:
        """The subscriptions to this component."""
        return [edge for edge in self._blueprint.edges if edge.source == self._plan.id]

    def fields(self, component: str, stream: str = "default") -> tuple[str, ...]:
        """The fields of a stream, in order.

        Raises:
            InvalidError: there is no such component or stream.
        """
        streams = self._of(component).streams
        if stream not in streams:
            raise InvalidError(f"component {component!r} has no stream {stream!r}; it has {', '.join(streams) or 'none'}")
        return tuple(streams[stream].fields)

    def component_tasks(self, component: str) -> list[int]:
        """All task ids of a component, active or not: the same for as long as the topology lives."""
        return list(self._of(component).tasks)

    def active_tasks(self, component: str) -> list[int]:
        """The task ids that are active now, as this worker knows it; ask again rather than keep it."""
        return self._active(self._of(component).id)

    def report_error(self, error: BaseException | str) -> None:
        """Show an error, or a text, among the topology's errors and go on. Never blocks; may drop what exceeds the configured rate.

        An exception counts among the component's errors, and its traceback is shown; a text does neither.
        """
        self._report(error if isinstance(error, (BaseException, str)) else shown(error))

    def _of(self, component: str) -> ComponentPlan:
        plan = self._blueprint.components.get(component)
        if plan is None:
            near = get_close_matches(str(component), self._blueprint.components, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(self._blueprint.components)}"
            raise InvalidError(f"topology {self.topology_name!r} has no component {component!r}; {hint}")
        return plan
