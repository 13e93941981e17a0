"""A checked topology: what both DSLs produce and everything else reads. Immutable; made only by `api.validate`.

Task ids are Storm's: one number space over the whole topology, from 1: those of the spouts, then those of the bolts, both in
topological order. So they do not ascend in the order of `components`, and bolts with other pools leave the spouts' as they are.
Inside a component a task has an *index* from 0; `first_task + index` is its id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pasps.api.groupings import GroupingSpec, Kind
from pasps.api.tuples import Stream
from pasps.errors import InvalidError

Execution = Literal["inline", "async", "thread"]
Shape = Literal["spout", "bolt", "batch_bolt", "function", "stateful_function"]


@dataclass(frozen=True)
class Edge:
    """One subscription; `index` numbers all edges of the topology, the same in every process."""

    index: int
    source: str
    stream: str
    target: str
    grouping: GroupingSpec


@dataclass(frozen=True)
class ComponentPlan:
    """One component: `make()` returns a fresh instance (or the function bolt itself), in the worker that hosts it.

    `max_batch` is the most tuples of one call where it takes batches, else 1. `kind` is its class. `finishes`: it defines `finish`.
    """

    id: str
    shape: Shape
    make: Callable[[], Any]
    streams: Mapping[str, Stream]
    inputs: tuple[Edge, ...]
    par: int
    pool: int
    first_task: int
    config: Mapping[str, Any] = field(default_factory=dict)
    execution: Execution = "inline"
    concurrency: int = 1
    max_batch: int = 1
    kind: type = object
    finishes: bool = False

    @property
    def is_spout(self) -> bool:
        """Whether it is a source."""
        return self.shape == "spout"

    @property
    def keyed(self) -> bool:
        """Whether its instances belong to tasks (hosted on the active replicas), not to replicas."""
        return any(edge.grouping.keyed for edge in self.inputs)

    @property
    def any_replica(self) -> bool:
        """Whether any active replica will do for every tuple, as far as its senders are concerned."""
        return not self.is_spout and all(edge.grouping.free for edge in self.inputs)

    @property
    def pinned(self) -> bool:
        """Whether replica 0 must stay active, because a global grouping names it."""
        return any(edge.grouping.kind is Kind.GLOBAL for edge in self.inputs)

    @property
    def observed(self) -> bool:
        """Whether a grouping looks at what its tuples take, one by one."""
        return any(edge.grouping.observed for edge in self.inputs)

    @property
    def tasks(self) -> range:
        """Its task ids."""
        return range(self.first_task, self.first_task + self.pool)

    def check_active(self, count: object, where: str) -> None:
        """Whether so many of its replicas may work: wherever somebody says it by hand, this is asked.

        Raises:
            InvalidError: not 1 to its pool; begins with `where`.
        """
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= self.pool:
            raise InvalidError(f"{where}: expected 1 to {self.pool} replicas of {self.id!r} (its pool), got {count!r}")


@dataclass(frozen=True)
class Blueprint:
    """A topology that can run: components in topological order, edges by index, configuration with the topology's own keys."""

    name: str
    components: Mapping[str, ComponentPlan]
    edges: tuple[Edge, ...]
    config: Mapping[str, Any]

    def outputs(self, component: str, stream: str) -> tuple[Edge, ...]:
        """The edges that carry `stream` of `component`."""
        return tuple(e for e in self.edges if e.source == component and e.stream == stream)

    def component_of(self, task: int) -> ComponentPlan:
        """The component that owns task id `task`."""
        for plan in self.components.values():
            if task in plan.tasks:
                return plan
        raise KeyError(task)
