"""Builds what a worker hosts: executors with their emitters, and instances bound to them. Called when a table places them here."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from random import Random
from typing import Any

from pasps.api.blueprint import Blueprint, ComponentPlan
from pasps.api.bolt import Bolt
from pasps.api.context import TopologyContext
from pasps.api.function import FunctionBolt
from pasps.api.spout import Spout
from pasps.clock import Clock
from pasps.config import Settings, merged
from pasps.errors import Interrupt, InvalidError, PaspsError, UnmovableError
from pasps.groupings.registry import make_splitter
from pasps.ids import IdSource
from pasps.runtime.ack_box import AckBox
from pasps.runtime.ack_ledger import ReplayTracker
from pasps.runtime.batch import Batch
from pasps.runtime.collector import AsyncCollector, Collector, ThreadCollector
from pasps.runtime.emitter import Emitter, Lane, Port, Report
from pasps.runtime.executor import BoltExecutor, Executor, Seat
from pasps.runtime.fates import refuse_coroutine
from pasps.runtime.inbox import Inbox
from pasps.runtime.inline_executor import InlineExecutor
from pasps.runtime.movability import thaw, unmovable
from pasps.runtime.origin import Origin
from pasps.runtime.pace import Pace, Whole
from pasps.runtime.reports import is_raised, told_of
from pasps.runtime.settler import Flags, Settler
from pasps.runtime.spout_collector import SpoutCollector
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.runtime.target import Target
from pasps.runtime.task_slot import TaskSlot
from pasps.runtime.waiting_executors import AsyncExecutor, Spawn, ThreadExecutor
from pasps.runtime.ways import make_way

MakeEmitter = Callable[[int, dict[str, Port], AckBox, IdSource, Executor, Report], Emitter]


@dataclass(frozen=True)
class Services:
    """What a worker gives to everything it hosts."""

    worker: str
    clock: Clock
    ids: IdSource
    acks: AckBox
    schedule: Callable[[Executor], None]
    release: Callable[[str], Callable[[Batch, int], None]]
    release_output: Callable[[], None]
    targets: Callable[[str], list[Target]]
    active: Callable[[str], list[int]]
    report: Callable[[str, int, BaseException | str], None]
    spawn: Spawn
    notify: Callable[[BoltExecutor], None]
    call_at: Callable[[float, Callable[[], None]], None]
    inboxes: dict[str, Inbox]
    dry: Callable[[str], None] | None = None
    emitter: MakeEmitter = Emitter
    restarted: bool = False


@dataclass(frozen=True)
class SpoutStart:
    """Where a spout task goes on: what it saved, and what it had emitted after that (see `ReplayTracker`)."""

    position: Any = None
    debt: int = 0
    until: Any = None
    unreadable: BaseException | None = None
    """What the saved position raised when it was read: the task cannot begin, and must not begin at the start."""

    @classmethod
    def unpickled(cls, position: bytes | None, debt: int, until: bytes | None) -> SpoutStart:
        """As it was kept outside of the worker. Never raises for what is in it."""
        try:
            mark = None if until is None else pickle.loads(until)
        except Interrupt:
            raise
        except BaseException:  # noqa: BLE001 - a class of the user's: without the mark, the debt says how much comes again
            mark = None
        try:
            return cls(None if position is None else pickle.loads(position), debt, mark)
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a class of the user's: told when the task is to begin
            return cls(None, debt, mark, error)


class Hosting:
    """One for each worker. Raises what `initialize` raises."""

    def __init__(self, blueprint: Blueprint, services: Services) -> None:
        self._blueprint = blueprint
        self._services = services
        self._ranks = {name: rank for rank, name in enumerate(blueprint.components)}
        self.settings = {name: Settings.from_config({**blueprint.config, **plan.config}) for name, plan in blueprint.components.items()}
        self._random = Random(services.ids.edges(1)[0])
        self.restarted = services.restarted
        """Whether what is made from now on is made while the topology runs, in place of something that was lost."""

    def bolt_executor(self, plan: ComponentPlan, replica: int) -> BoltExecutor:
        """The executor of one replica, without tasks yet."""
        services, settings = self._services, self.settings[plan.id]
        sample = plan.make() if plan.shape == "function" else None
        seat = Seat(plan, replica, self._ranks[plan.id], services.clock, services.schedule, self._inbox(plan))
        executor: BoltExecutor
        if plan.execution == "inline":
            pace = Pace(settings.producer_batch_size) if plan.max_batch == 1 else Whole(plan.max_batch)
            executor = InlineExecutor(seat, settings.flush_interval_seconds, services.release_output, pace)
        elif plan.execution == "async":
            executor = AsyncExecutor(seat, plan.max_batch, plan.concurrency)
            executor.bind(services.spawn)
        else:
            # one call runs, one waits for the thread, so that the thread need not wait for the loop
            executor = ThreadExecutor(seat, plan.max_batch, 2)
            executor.bind(services.notify)
        self._equip(executor, plan, sample)
        return executor

    def _inbox(self, plan: ComponentPlan) -> Inbox:
        """A new one, or that of the bolt in this worker."""
        services = self._services
        if not plan.shared:
            return Inbox(services.release(plan.id))
        inbox = services.inboxes.get(plan.id)
        if inbox is None:
            inbox = services.inboxes[plan.id] = Inbox(services.release(plan.id), shared=True, one_at_a_time=plan.execution == "inline")
            if services.dry is not None:
                inbox.dry = partial(services.dry, plan.id)
        return inbox

    def _equip(self, executor: BoltExecutor, plan: ComponentPlan, sample: Any) -> None:
        services = self._services

        def tell(task_id: int, error: BaseException) -> None:
            executor.meter.errors += 1
            services.report(plan.id, task_id, error)

        def warn(task_id: int, text: str) -> None:
            services.report(plan.id, task_id, text)

        task_id = plan.first_task + executor.replica
        executor.emitter = self._emitter(plan, task_id, executor, partial(tell, task_id))
        origins = {edge.index: Origin(self._blueprint, edge) for edge in plan.inputs}
        executor.settler = Settler(executor.emitter, services.acks, services.ids, executor.meter, origins, tell)
        executor.way = make_way(plan, executor.settler.default, origins, warn, sample)

    def _emitter(self, plan: ComponentPlan, task_id: int, executor: Executor, report: Report) -> Emitter:
        ports = {}
        for name, stream in plan.streams.items():
            fields = tuple(stream.fields)
            lanes = [self._lane(edge.index, fields, task_id) for edge in self._blueprint.outputs(plan.id, name)]
            ports[name] = Port(plan.id, name, fields, stream.direct, lanes)
        return self._services.emitter(task_id, ports, self._services.acks, self._services.ids, executor, report)

    def _lane(self, index: int, fields: tuple[str, ...], task_id: int) -> Lane:
        edge, services = self._blueprint.edges[index], self._services
        target = self._blueprint.components[edge.target]
        band = self.settings[edge.source].locality_band_seconds
        random = Random(self._random.getrandbits(64))
        context = self.context(edge.source, 0, None)
        splitter = make_splitter(edge, fields, target.first_task, task_id, band, services.clock, random, context)
        return Lane(edge, splitter, services.targets(edge.target), target.first_task, shared=target.shared)

    # ---- instances

    def context(self, component: str, task: int, position: Any, executor: Executor | None = None) -> TopologyContext:
        """The context of one task in this worker; `executor` counts the exceptions that it reports."""
        services = self._services

        def report(error: BaseException | str) -> None:
            if executor is not None and is_raised(error):
                executor.meter.errors += 1
            # in words already: the exception is still its owner's, who may log it or raise it again
            services.report(component, self._blueprint.components[component].first_task + task, told_of(error))

        return TopologyContext(self._blueprint, component, task, services.worker, position, services.active, report, self.restarted)

    def slot(self, plan: ComponentPlan, task: int, executor: BoltExecutor) -> TaskSlot:
        """A task without an instance yet, hosted by `executor`."""
        slot = TaskSlot(plan.id, task, plan.first_task + task, executor)
        if plan.shape != "function":
            if isinstance(executor, ThreadExecutor):
                slot.collector = ThreadCollector(plan.id, executor.emitter, executor.ask)
            else:
                slot.collector = (AsyncCollector if plan.execution == "async" else Collector)(plan.id, executor.emitter)
        return slot

    def fill(self, slot: TaskSlot, executor: BoltExecutor) -> None:
        """Give the task a fresh, initialized instance."""
        plan = self._blueprint.components[slot.component]
        made = plan.make()
        if isinstance(made, FunctionBolt):
            slot.instance = made.function
            return
        context = self.context(plan.id, slot.task, None, executor)
        slot.instance = made
        slot.finished = self.restarted  # it has nothing to say of what a lost one was given
        _bind(made, slot.collector, context)
        executor.call(partial(self._initialize, plan, made, context))
        self._set_flags(executor, made)

    def revive(self, slot: TaskSlot, executor: BoltExecutor, state: bytes, finished: bool) -> None:
        """Give the task the instance that another worker sent; `finished` as its slot had it there."""
        context = self.context(slot.component, slot.task, None, executor)
        instance = thaw(state, context, slot.collector)
        slot.instance = instance
        slot.finished = finished
        _bind(instance, slot.collector, context)
        executor.call(lambda: instance.on_move_in(context))
        self._set_flags(executor, instance)

    def unmovable(self, slot: TaskSlot) -> UnmovableError | None:
        """Try whether the task's instance could move, with its hooks where its user code runs; None when it can."""
        executor = slot.host
        if slot.collector is None or slot.instance is None or not isinstance(executor, BoltExecutor):
            return None
        context, found = self.context(slot.component, slot.task, None, executor), list[UnmovableError | None]()
        executor.call(lambda: found.append(unmovable(slot.instance, slot.component, slot.task, context)))
        return found[0]

    def adopt(self, slot: TaskSlot, executor: BoltExecutor) -> None:
        """`executor` runs an instance from now on that another executor of this worker ran before."""
        if isinstance(slot.instance, Bolt):
            self._set_flags(executor, slot.instance)

    def report(self, executor: Executor, error: BaseException) -> None:
        """An exception of user code outside of a step."""
        executor.meter.errors += 1
        self._services.report(executor.plan.id, executor.plan.first_task + executor.replica, error)

    def report_start(self, plan: ComponentPlan, replica: int, error: BaseException) -> None:
        """An exception of a spout's `initialize`."""
        self._services.report(plan.id, plan.first_task + replica, error)

    def close_all(self, executor: BoltExecutor) -> None:
        """Call `close` of every instance that a replica has."""
        for slot in executor.slots.values():
            if slot.collector is not None and slot.instance is not None:
                self.close(executor, slot.instance)

    def close(self, executor: Executor, instance: Any) -> None:
        """Call an instance's `close` where its user code runs; what it raises is reported."""
        self.hook(executor, instance, "close")

    def hook(self, executor: Executor, instance: Any, name: str) -> None:
        """Call a hook of an instance that nobody waits for, where its user code runs; what it raises is reported."""
        executor.hook(partial(methodcaller(name), instance), partial(self.told, executor))

    def told(self, executor: Executor, error: BaseException | None) -> None:
        """What became of a hook that nobody waits for: an exception is reported, and the others run all the same."""
        if error is not None:
            self.report(executor, error)

    def _set_flags(self, executor: BoltExecutor, instance: Bolt) -> None:
        ack = instance.auto_ack and not instance.keeps_tuples
        executor.settler.flags = Flags(anchor=instance.auto_anchor, ack=ack, fail=instance.auto_fail)

    def spout_executor(self, plan: ComponentPlan, task: int, start: SpoutStart) -> SpoutExecutor:
        """A spout task with an initialized instance, asleep."""
        services, settings = self._services, self.settings[plan.id]

        def report(error: BaseException | str) -> None:
            executor.meter.errors += not isinstance(error, str)
            services.report(plan.id, executor.task_id, error)

        rank = self._ranks[plan.id]
        executor = SpoutExecutor(plan, task, rank, services.clock, services.schedule, services.ids, report, services.call_at)
        executor.emitter = self._emitter(plan, executor.task_id, executor, report)
        executor.collector = SpoutCollector(plan.id, executor.emitter, executor.emit_now, executor.settled_first)
        executor.max_pending = settings.max_spout_pending
        executor.tracking = settings.ackers_enabled
        executor.most = settings.producer_batch_size
        executor.fates.replays = ReplayTracker(start.debt, start.until)
        executor.collector.owed = start.debt
        executor.instance = instance = self._spout(plan, task, start, executor)
        # a hook that is only inherited need not be called
        if getattr(instance.ack, "__func__", None) is not Spout.ack:
            executor.fates.on_ack = instance.ack
        if getattr(instance.fail, "__func__", None) is not Spout.fail:
            executor.fates.on_fail = instance.fail
        if getattr(instance.due_at, "__func__", None) is not Spout.due_at:
            executor.fates.due_at = instance.due_at
        return executor

    def _spout(self, plan: ComponentPlan, task: int, start: SpoutStart, executor: SpoutExecutor) -> Any:
        """An initialized instance."""
        if start.unreadable is not None:
            raise InvalidError(f"component {plan.id!r}: the position that was saved last cannot be read") from start.unreadable
        instance = plan.make()
        given = {name: getattr(executor.collector, name) for name in ("emit", "emit_batch", "save_position")}
        instance.put_in_place(self.context(plan.id, task, start.position, executor), given)
        self._initialize(plan, instance, instance.ctx)
        return instance

    def _initialize(self, plan: ComponentPlan, instance: Any, context: TopologyContext) -> None:
        """Whatever it raises is an Exception: `sys.exit` and its like are no way out of the worker."""
        try:
            refuse_coroutine(plan.id, "initialize", instance.initialize(self._conf(plan), context))
        except Interrupt:
            raise
        except Exception as error:
            if not (self.restarted or isinstance(error, PaspsError)):  # its report names the component, and so do ours
                error.add_note(f"component {plan.id!r}: initialize raised this")
            raise
        except BaseException as error:
            raise RuntimeError(f"component {plan.id!r}: initialize was left by {type(error).__name__}") from error

    def _conf(self, plan: ComponentPlan) -> dict[str, Any]:
        return merged({**self._blueprint.config, **plan.config})


def _bind(instance: Bolt, collector: Collector, context: TopologyContext) -> None:
    instance.put_in_place(context, {name: getattr(collector, name) for name in ("emit", "ack", "fail")})
