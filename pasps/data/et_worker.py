"""The runtime's own worker with some of a topology's components in it, and nobody around it: what leaves is caught.

Used to sample spouts and to measure a bolt, so that both run, are fed, routed and counted as in a topology that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Never

import cloudpickle

from pasps.activation import Routing, first_table
from pasps.api.blueprint import Blueprint, ComponentPlan
from pasps.clock import Clock
from pasps.data.et_deliveries import Delivery, Output
from pasps.data.et_patience import GivenUp
from pasps.ids import IdSource
from pasps.runtime.batch import Batch, Links
from pasps.runtime.worker import Worker
from pasps.transport.values import RowWrapper
from pasps.worker.step_loop import StepLoop

_ME, _ELSEWHERE = "et", "elsewhere"
_ROOM = 1 << 40
_MOST_OF_ONE = 10
"""An event of which more tuples come than so many whole samples is not kept whole."""
_TICKS = "topology.tick.tuple.freq.secs"


class Errors:
    """`Reports` that keep the first error of user code, and nothing else."""

    def __init__(self) -> None:
        self.first: str | None = None

    def error(self, component: str, task: int, text: str) -> None:
        """See `Reports`."""
        if self.first is None:
            self.first = text

    def _ignored(self, *told: object) -> None:
        """What is for a controller, and there is none."""

    applied = parked = moved = move_failed = link_lost = pressed = finished = _ignored


class Catcher:
    """The door of every task that is elsewhere: keeps what comes, for each edge until `most` tuples are there, and whole events."""

    def __init__(self, blueprint: Blueprint, most: int) -> None:
        self.event_of: Callable[[], int] = lambda: 0
        """Which event is being worked on."""
        self.problem: str | None = None
        """Why a tuple could not be pickled, of the first such; it is left out."""
        self._keyed = {edge.index: blueprint.components[edge.target].keyed for edge in blueprint.edges}
        self._most = most
        self._counts: dict[int, tuple[int, int]] = {}
        """By edge: how many tuples are kept, and of which event the last ones are."""
        self._fresh: list[tuple[int, Batch]] = []
        self._kept: list[Delivery] = []
        self._cuts: dict[int, int] = {}

    def accept(self, batch: Batch, weight: int = 0) -> None:
        """See `Door`."""
        event = self.event_of()
        count, last = self._counts.get(batch.edge, (0, event))
        if count >= self._most and (event != last or count >= _MOST_OF_ONE * self._most):
            self._cuts.setdefault(batch.edge, last)
            return
        self._counts[batch.edge] = count + len(batch.rows), event
        self._fresh.append((event, batch))

    def settle(self) -> None:
        """Pickle what came: after the step, so that it is not counted, and before the values may change."""
        for event, batch in self._fresh:
            rows, roots = batch.rows, _roots(batch)
            problem = _refusal(rows)
            if problem is not None:
                self.problem = self.problem or problem
                good = [index for index, row in enumerate(rows) if _refusal(row) is None]
                rows, roots = [rows[index] for index in good], tuple(roots[index] for index in good)
            if rows:
                # every replica of a bolt that is not keyed is as good as the first
                task = batch.task if self._keyed[batch.edge] else 0
                self._kept.append(Delivery(event, batch.edge, task, batch.source, roots, cloudpickle.dumps(rows)))
        self._fresh.clear()

    def output(self, until: int | None) -> Output:
        """What came; `until` is the last event that was worked on, None: all were."""
        return Output(tuple(self._kept), until, dict(self._cuts), self.problem)


def _refusal(value: object) -> str | None:
    try:
        cloudpickle.dumps(value)
    except Exception as error:  # noqa: BLE001 - a value of the user's; it is reported and left out
        return f"{type(error).__name__}: {error}"
    return None


def _roots(batch: Batch) -> tuple[int, ...]:
    links: list[Links | None] = batch.links or [None] * len(batch.rows)
    roots = batch.roots or [0] * len(batch.rows)
    return tuple(len(pairs) if pairs else int(root != 0) for root, pairs in zip(roots, links, strict=True))


class LoneWorker(Worker):
    """A worker that hosts the first replica of the components in `here`, all tasks of keyed ones there; of spouts all tasks.

    Everything else is elsewhere, with the replicas active that are so at the start. Ticks are off. `after_step` is called after
    each step. When a call in a step is given up, nothing is stepped any more.
    """

    def __init__(self, blueprint: Blueprint, here: Collection[str], catcher: Catcher, clock: Clock, steps: StepLoop | None = None) -> None:
        """Makes and initializes instances; raises what that raises. Without `steps` nobody may call a thread or an async bolt."""
        self.errors = Errors()
        self.stepping = self._given_up = False
        self.after_step: Callable[[], None] = lambda: None
        super().__init__(
            _without_ticks(blueprint),
            _ME,
            1,
            clock=clock,
            ids=IdSource(),
            reports=self.errors,
            rows=RowWrapper(False),
            spawn=_refuse if steps is None else steps.spawn,
            notify=_refuse if steps is None else steps.notify,
        )
        routes = {name: _routing(plan, name in here) for name, plan in blueprint.components.items()}
        self.apply(first_table(routes, {_ME: 1, _ELSEWHERE: 1}), {})
        for targets in self.targets.values():
            for target in targets:
                if target.door is None:
                    target.door, target.limit, target.most_bytes = catcher, _ROOM, _ROOM * _ROOM

    def step(self) -> bool:
        """See `Worker.step`."""
        if self._given_up:
            return False
        self.stepping = True
        try:
            more = super().step()
        except GivenUp:
            self._given_up = True
            return False
        finally:
            self.stepping = False
        self.after_step()
        return more


def _refuse(_: object) -> Never:
    raise RuntimeError("a worker without steps was asked to wait for a call")


def _routing(plan: ComponentPlan, here: bool) -> Routing:
    if not here:
        active, places = tuple(range(plan.par)), (_ELSEWHERE,) * plan.pool
    elif plan.is_spout:
        active, places = tuple(range(plan.pool)), (_ME,) * plan.pool
    else:
        active, places = (0,), (_ME, *((_ELSEWHERE,) * (plan.pool - 1)))
    hosts = tuple(active[task % len(active)] for task in range(plan.pool)) if plan.keyed else None
    return Routing(active, places, hosts, plan.pinned)


def _without_ticks(blueprint: Blueprint) -> Blueprint:
    """A tick is no event, and what it costs must not be counted as if it were."""
    plans = {name: replace(plan, config={**plan.config, _TICKS: None}) for name, plan in blueprint.components.items()}
    return replace(blueprint, components=plans, config={**blueprint.config, _TICKS: None})
