"""Several workers in one process, stepped: one fake clock, seeded ids, links that move when told. Nothing here sleeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Self

from pasps.activation import ActivationTable, first_table, with_active
from pasps.api.blueprint import Blueprint
from pasps.api.topology import blueprint_of
from pasps.assignment import Need, place
from pasps.control.statistics import left_over, next_to_finish, stats_of
from pasps.errors import DrainTimeoutError, InvalidError
from pasps.metrics import Stats
from pasps.runtime.batch import Row
from pasps.runtime.snapshot import take_counts
from pasps.testing.clock import FakeClock
from pasps.testing.controller import StepController
from pasps.testing.crew import Crew
from pasps.testing.interrupts import Interrupted, let_interrupts_through
from pasps.testing.marks import WorkerDies
from pasps.testing.stand_ins import Inputs, with_stand_ins
from pasps.testing.tally import ComponentCounts, left_in


@dataclass(frozen=True)
class StepOptions:
    """How a step run behaves.

    `tracked`, `replays`: see `complete_topology`. `seed` fixes all randomness. `delays`: links move some frames at a time and
    workers apply tables at different times, as `seed` has it, so that races happen. `creep`: see `FakeClock`.
    `check_wire`: see `complete_topology`.
    """

    tracked: bool = True
    replays: int = 0
    seed: int = 0
    delays: bool = False
    creep: float = 0.0
    check_wire: bool = False


class StepRun:
    """A running topology that moves only when it is told to. Use it as a context manager: it ends threads and coroutines.

    The public parts (`clock`, `workers`, `journal`, `controller`, `net`) are there to look at, and to build races with.
    """

    def __init__(
        self,
        topology: Any,
        workers: int = 2,
        *,
        inputs: Inputs | None = None,
        config: Mapping[str, Any] | None = None,
        options: StepOptions | None = None,
    ) -> None:
        self.options = options or StepOptions()
        plain = blueprint_of(topology, None, config)
        self.blueprint, self.scripts, self.verdicts = with_stand_ins(plain, inputs or {}, self.options.tracked, self.options.replays)
        self.clock = FakeClock(creep=self.options.creep)
        self._random = Random(self.options.seed)
        self._crew = Crew(self.blueprint, workers, self.clock, self._random, self.options.check_wire)
        self.workers, self.journal, self.net = self._crew.workers, self._crew.journal, self._crew.net
        self.wait_outside, self.break_link = self._crew.wait_outside, self.net.break_link
        self.steps = 0
        self.held: set[str] = set()
        """Workers that apply no table until they are taken out of this set, or `controller.deliver` is called."""
        self.positions: dict[int, bytes] = {}
        """What spout tasks saved last, as it is kept outside of their workers."""
        table = _first_table(self.blueprint, [f"w{i}" for i in range(workers)])
        self.controller = StepController(table, self.workers, self.journal, lambda: dict(self.positions))
        for worker in [self._crew.make(name) for name in table.workers]:
            worker.apply(table, {})
        if workers > 1:  # as a worker tries it before it says that it is there, with the hooks that this calls
            self.controller.note_unmovable()
        for worker in self.workers.values():
            worker.activate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # ---- stepping

    def step(self) -> bool:
        """One step of every worker and one pump of every link; True when there is more to do at once."""
        try:
            with let_interrupts_through():
                return self._step_all()
        except Interrupted as interrupted:
            raise interrupted.error from None

    def _step_all(self) -> bool:
        self.steps += 1
        self._crew.bell.answer()
        self._crew.coroutines.step()
        names = list(self.workers)
        if self.options.delays:
            self._random.shuffle(names)
        for name in names:
            if name in self.workers:
                self._step(name)
        self.net.pump(self._random if self.options.delays else None)
        self.controller.advance()
        if self.controller.repaired:
            self._excuse(False)
        for name in names:
            late = self.options.delays and self._random.random() < 0.7
            if name in self.workers and name not in self.held and not late:
                self.controller.deliver(name)
        return self._has_work()

    def _step(self, name: str) -> None:
        try:
            self.workers[name].step()
        except WorkerDies:
            self.kill(name)
            self.restart(name)
            return
        for task, spout in self.workers[name].residents.spouts.items():
            position = spout.position()
            if position is not None:
                self.positions[task] = position

    def busy(self) -> bool:
        """Whether another step would do something, or may: a coroutine or thread is under way."""
        return self._has_work() or self._crew.waits()

    def _has_work(self) -> bool:
        tables = any(mail for name, mail in self.controller.mail.items() if name not in self.held)
        changing = not self.held and not self.controller.settled() and not self._crew.waits()
        return tables or changing or self._crew.has_work()

    def run_until_idle(self, most_steps: int = 100_000) -> None:
        """Step until nothing can happen before time passes; waits for calls on threads, in real time.

        Raises:
            DrainTimeoutError: there was still something to do after `most_steps`.
        """
        start, idle = self.clock.peek(), 0
        for _ in range(most_steps):
            # one step more than it seems to need: a message may have arrived in the last one
            idle = 0 if self.step() else idle + 1
            if idle < 2:
                continue
            if not self.wait_outside():
                self._count()
                return
            idle = 0
        raise DrainTimeoutError(self.clock.peek() - start, self.left())

    def _count(self) -> None:
        """Ask the workers for their counters, as is done each second of a run: user code is asked for its backlog."""
        for name, worker in self.workers.items():
            take_counts(worker, self._crew.incarnations[name])

    def advance(self, seconds: float) -> None:
        """Let time pass, from one moment at which something is due to the next, and do what is due."""
        end = self.clock.peek() + seconds
        self.run_until_idle()
        while (due := self._crew.next_at()) is not None and due < end:
            self.clock.advance_to(due)
            self.run_until_idle()
        self.clock.advance_to(end)
        self.run_until_idle()

    def run_to_end(self, most_seconds: float = 600.0, most_steps: int = 100_000) -> None:
        """Until every spout has ended, everything tracked is acked or failed, nothing is queued, and every bolt has finished.

        Time jumps where nothing else is left.

        Raises:
            DrainTimeoutError: that did not come to pass in `most_seconds` of the fake clock; says what was left.
        """
        self._run_to(self.left, most_seconds, most_steps)

    def drain(self, most_seconds: float = 600.0, most_steps: int = 100_000) -> None:
        """The same for good, whether or not the spouts have ended: they are not asked any more, as before a topology is killed.

        Raises:
            DrainTimeoutError: something was left after `most_seconds` of the fake clock; says what.
        """
        for worker in self.workers.values():
            worker.deactivate()
        self._run_to(lambda: left_over(self._stats()), most_seconds, most_steps)

    def _run_to(self, left: Callable[[], dict[str, int]], most_seconds: float, most_steps: int) -> None:
        start = self.clock.peek()
        while True:
            self.run_until_idle(most_steps)
            if self._finish_next():
                continue
            if not left() and not self._has_work():
                return
            due = self._crew.next_at()
            if due is None or due - start > most_seconds:
                raise DrainTimeoutError(most_seconds, left())
            self.clock.advance_to(due)

    def _finish_next(self) -> bool:
        """Have the next bolt finish that has to, when no more can come of the spouts; False when there is none."""
        if not any(plan.finishes for plan in self.blueprint.components.values()):
            return False
        if any(spout.awake and not spout.finished for worker in self.workers.values() for spout in worker.residents.spouts.values()):
            return False
        name = next_to_finish(self._stats()) if self.controller.settled() else None
        if name is None:
            return False
        for worker in self.workers.values():
            worker.finish(name)
        return True

    def _stats(self) -> Stats:
        living = {name: take_counts(worker, self._crew.incarnations[name]) for name, worker in self.workers.items()}
        return stats_of(self.blueprint, self.controller.table, living, [], self.clock.peek())

    def finished(self) -> bool:
        """Whether nothing is left; see `left`."""
        return not self.left() and not self._has_work()

    def left(self) -> dict[str, int]:
        """What is not done, by component: tuples pending or queued or under way; a spout that has not ended counts one more."""
        left = left_in(worker.residents for worker in self.workers.values())
        here = {task for worker in self.workers.values() for task in worker.residents.spouts}
        for name, plan in self.blueprint.components.items():
            missing = len({*plan.tasks} - here) if plan.is_spout else 0  # died with its worker, or could not be started again yet
            if missing:
                left[name] = left.get(name, 0) + missing
        return left

    # ---- changes

    def set_active(self, component: str, count: int, *, wait: bool = True) -> None:
        """Have `count` active replicas; with `wait`, steps until every worker routes by the new table and every task has arrived.

        Raises:
            InvalidError: there is no such bolt, or the count is not from 1 to its pool.
            UnmovableError: (`wait`) an instance that would have to move cannot: known from the start, and nothing was changed, or found
                when it was to move, and it was left where it was.
        """
        plan = self.blueprint.components.get(component)
        if plan is None or plan.is_spout:
            raise InvalidError(f"expected the name of a bolt of topology {self.blueprint.name!r}, got {component!r}")
        plan.check_active(count, f"set_active({component!r})")
        request = self.controller.request(lambda table: with_active(table, component, count))
        if wait:
            self.settle()
            if request.error is not None:
                raise request.error

    def settle(self, most_steps: int = 100_000) -> None:
        """Step until every change that was asked for has been carried out.

        Raises:
            DrainTimeoutError: it was not after `most_steps`.
        """
        for _ in range(most_steps):
            if self.controller.settled():
                return
            if not self.step():
                self.wait_outside()
        raise DrainTimeoutError(0.0, self.left())

    def kill(self, worker: str) -> None:
        """The worker dies with everything in it; the others are told and the controller repairs."""
        self._crew.kill(worker)
        self._excuse(True)
        self.controller.lost(worker)

    def mend_link(self, one: str, other: str) -> None:
        """Connect them again, as a controller does that hears of it."""
        self._crew.join(one, other)
        self.controller.refresh()

    def _excuse(self, excusing: bool) -> None:
        """While a worker is missing, rows of list spouts fail through no fault of their own."""
        for scripts in self.scripts.values():
            for script in scripts:
                script.excusing = excusing

    def restart(self, worker: str) -> None:
        """The worker comes back, one incarnation later, with nothing of what it had."""
        made = self._crew.make(worker)
        made.apply(self.controller.table, dict(self.positions))  # as it is told when it is launched: what the table leaves it is made
        self.controller.came(worker, self._crew.incarnations[worker])
        made.activate()

    # ---- looking

    @property
    def emitted(self) -> dict[str, dict[str, list[Row]]]:
        """What every component emitted, by component and stream, in order."""
        return self._crew.recorder.emitted

    def counts(self) -> dict[str, ComponentCounts]:
        """What every component has done so far, dead workers included."""
        return self._crew.counts()

    def close(self) -> None:
        """Call the `close` of everything, end threads and coroutines. More calls do nothing."""
        self._crew.close()


def _first_table(blueprint: Blueprint, workers: list[str]) -> ActivationTable:
    needs = {name: Need(plan.pool, plan.par, plan.keyed, plan.pinned) for name, plan in blueprint.components.items()}
    return first_table(place(needs, workers), dict.fromkeys(workers, 1))
