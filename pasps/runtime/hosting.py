"""Who lives in a worker, and how they are made: executors with their emitters, and instances bound to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from operator import methodcaller
from random import Random
from typing import Any

from pasps.api.blueprint import Blueprint, ComponentPlan, Edge
from pasps.api.bolt import Bolt
from pasps.api.component import Component
from pasps.api.context import TopologyContext
from pasps.api.function import FunctionBolt
from pasps.api.splitting import Observer
from pasps.api.spout import Spout
from pasps.clock import Clock
from pasps.config import RuntimeSettings, merged
from pasps.errors import Interrupt, InvalidError, PaspsError, UnmovableError
from pasps.groupings.registry import make_observer, make_splitter
from pasps.ids import IdSource
from pasps.metrics import GONE, ReplicaCounts
from pasps.runtime.acks import AckBox
from pasps.runtime.collector import AsyncCollector, Collector, SpoutCollector, ThreadCollector
from pasps.runtime.emitter import Emitter, Lane, Port, Report
from pasps.runtime.executor import BoltExecutor, CallAt, Executor, InlineExecutor, Schedule
from pasps.runtime.inbox import Inbox, Taker, TaskSlot
from pasps.runtime.meters import Pace, Whole
from pasps.runtime.movability import thaw, unmovable
from pasps.runtime.observing import ObservedInbox, ObservedSettler, ObservedWay
from pasps.runtime.peer import Peer, releaser
from pasps.runtime.reports import is_raised, told_of
from pasps.runtime.settler import Flags, Settler
from pasps.runtime.spout_executor import SpoutExecutor, read_position, refuse_coroutine
from pasps.runtime.target import Target
from pasps.runtime.waiting_executors import AsyncExecutor, Spawn, ThreadExecutor
from pasps.runtime.ways import Origin, make_way
from pasps.transport.codec import Trial

TellSenders = Callable[[Edge, int, bytes, int | None], None]
"""Have what the observer of an edge at a task says be heard by one sender, or by all."""

Key = tuple[str, int]
"""A component and a replica index."""


class ReplicaState(Enum):
    """What a replica may do.

    INACTIVE: placed, connected, initialized; holds no CPU and gets nothing.
    ACTIVE: senders route to it.
    DRAINING: senders stop routing to it; it works off what is queued and what is on the way, and still gets ticks.
    """

    INACTIVE = "INACTIVE"
    ACTIVE = "ACTIVE"
    DRAINING = "DRAINING"


class ReplicaPool:
    """Transitions: INACTIVE -> ACTIVE and DRAINING -> ACTIVE by a table that lists it; ACTIVE -> DRAINING by one that does not;
    DRAINING -> INACTIVE ("parked") when every live worker marked that table and nothing is left in the replica.

    A replica added while the table lists it starts ACTIVE, else INACTIVE.
    """

    def __init__(self) -> None:
        self.states: dict[Key, ReplicaState] = {}
        self._since: dict[Key, int] = {}
        self._placed: set[Key] = set()

    def apply(self, version: int, listed: set[Key], placed: set[Key]) -> tuple[list[Key], list[Key]]:
        """Take a table: `listed` are active by it, `placed` all replicas of this worker. Returns who became active, who drains.

        A replica that is not placed here any more drains if it was active; once it has parked it is `elsewhere`, until `drop`.
        """
        self._placed = placed
        activated, draining = [], []
        for key in placed:
            self.states.setdefault(key, ReplicaState.INACTIVE)
        for key, state in self.states.items():
            wanted = key in listed and key in placed
            if wanted and state is not ReplicaState.ACTIVE:
                activated.append(key)
            elif not wanted and state is ReplicaState.ACTIVE:
                draining.append(key)
                # the table that put it out, not a later one: once all have marked that, nobody sends to it
                self._since[key] = version
        for key in activated:
            self.states[key] = ReplicaState.ACTIVE
            self._since.pop(key, None)
        for key in draining:
            self.states[key] = ReplicaState.DRAINING
        return activated, draining

    def park(self, marked: int, empty: Callable[[Key], bool]) -> list[tuple[Key, int]]:
        """Park the draining replicas that may: all marks up to their table are in (`marked`), and `empty` says so.

        Returns them with the version of the table that put them out.
        """
        parked = [(key, since) for key, since in self._since.items() if since <= marked and empty(key)]
        for key, _ in parked:
            self.states[key] = ReplicaState.INACTIVE
            del self._since[key]
        return parked

    def elsewhere(self) -> list[Key]:
        """Who is at rest here although the newest table places it elsewhere."""
        return [key for key, state in self.states.items() if state is ReplicaState.INACTIVE and key not in self._placed]

    def draining(self) -> bool:
        """Whether any replica drains."""
        return bool(self._since)

    def drop(self, key: Key) -> None:
        """Forget a replica that lives elsewhere now."""
        self.states.pop(key, None)
        self._since.pop(key, None)


@dataclass
class Residents:
    """Keys are (component, replica) for `executors`, (component, task index) for `slots`, task ids for `spouts`.

    `retired` is what replicas had done here that live elsewhere now. `inboxes` are those that all replicas of a bolt share.
    """

    executors: dict[Key, BoltExecutor] = field(default_factory=dict)
    retired: dict[Key, ReplicaCounts] = field(default_factory=dict)
    inboxes: dict[str, Inbox] = field(default_factory=dict)
    slots: dict[Key, TaskSlot] = field(default_factory=dict)
    spouts: dict[int, SpoutExecutor] = field(default_factory=dict)

    def attach(self, slot: TaskSlot, executor: BoltExecutor) -> None:
        """Make `executor` the host of the task; it is listed there, and what it emits goes through there."""
        # with one executor at a time: ticks, `finish` and what is kept are counted and called by executor
        for other in self.executors.values():
            if other.plan.id == slot.component and other.slots.get(slot.task) is slot:
                del other.slots[slot.task]
        executor.slots[slot.task] = slot
        slot.host = executor
        if slot.collector is not None:
            slot.collector.emitter = executor.emitter
        self.slots[slot.component, slot.task] = slot

    def retire(self, key: Key, worker: str) -> BoltExecutor:
        """The replica lives elsewhere now: neither it nor its tasks are listed here any more. What it did stays counted."""
        executor = self.executors.pop(key)
        for slot in executor.slots.values():
            self.slots.pop((slot.component, slot.task), None)
        counts = executor.counts(worker, GONE)
        if executor.inbox.shared and not self.replicas(key[0]):  # the last of them, and nothing is in it any more
            counts.received = self.inboxes.pop(key[0]).received
        # it has parked, so what it kept has failed at its spouts (`Draining._forgot`)
        counts.kept = 0
        if key in self.retired:
            counts.add(self.retired[key])
        self.retired[key] = counts
        return executor

    def detach(self, slot: TaskSlot) -> None:
        """The task lives here no more."""
        self.slots.pop((slot.component, slot.task), None)
        for executor in self.executors.values():
            if executor.plan.id == slot.component and executor.slots.get(slot.task) is slot:
                del executor.slots[slot.task]

    def replicas(self, component: str) -> list[BoltExecutor]:
        """The replicas of a bolt that live here, in the order of their indices."""
        return [self.executors[key] for key in sorted(key for key in self.executors if key[0] == component)]

    def counts(self, worker: str, state: Callable[[Key], str]) -> list[ReplicaCounts]:
        """What all replicas of bolts have done here; an inbox that several share is counted at the first of them."""
        found = {key: executor.counts(worker, state(key)) for key, executor in self.executors.items()}
        for component, inbox in self.inboxes.items():
            first = min(key for key in found if key[0] == component)
            found[first].queued, found[first].received = inbox.count, dict(inbox.received)
        return [*found.values(), *self.retired.values()]

    def share_out(self, state: Callable[[Key], ReplicaState]) -> None:
        """Who takes from the inboxes that are shared: the active replicas that have their instance, else those that drain."""
        for component, inbox in self.inboxes.items():
            by_state: dict[ReplicaState, list[Taker]] = {each: [] for each in ReplicaState}
            for executor in self.replicas(component):
                slot = executor.slots.get(executor.replica)
                if slot is not None and slot.held is None:
                    by_state[state((component, executor.replica))].append(executor)
            # beside one that is active those that drain take no more: they would not come to rest while anything comes
            takers = by_state[ReplicaState.ACTIVE] or by_state[ReplicaState.DRAINING]
            if takers != inbox.takers:
                inbox.takers = takers
            # what came while nobody was to take has woken nobody
            if inbox.count:
                inbox.call()
            elif inbox.dry is not None and takers:
                inbox.dry()


MakeEmitter = Callable[[int, dict[str, Port], AckBox, IdSource, Executor, Report, Trial | None], Emitter]


class Hosting:
    """One for each worker: makes what lives in it, and keeps it in `residents` and `pool`. Raises what `initialize` raises.

    `restarted`: what is made from now on is made while the topology runs, in place of something that was lost.
    `awake`: spouts are to be active.
    `live`: what cannot be started is reported and tried again; until then the worker does not come up, and others go on without it.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        me: str,
        *,
        clock: Clock,
        ids: IdSource,
        acks: AckBox,
        targets: dict[str, list[Target]],
        peers: dict[str, Peer],
        schedule: Schedule,
        call_at: CallAt,
        trial: Trial | None,
        spawn: Spawn,
        notify: Callable[[BoltExecutor], None],
        emitter: MakeEmitter,
        report: Callable[[str, int, BaseException | str], None],
        flush: Callable[[], None],
        active: Callable[[str], list[int]],
        dry: Callable[[str], None] | None,
        tell: TellSenders,
        restarted: bool,
    ) -> None:
        self.blueprint, self.me, self.clock = blueprint, me, clock
        self.residents, self.pool = Residents(), ReplicaPool()
        self.restarted, self.live, self.awake = restarted, False, False
        self._ids, self._acks, self._targets, self._peers = ids, acks, targets, peers
        self._schedule, self._call_at, self._spawn, self._notify = schedule, call_at, spawn, notify
        self.trial = trial
        self._emitter_class, self._report, self._flush, self._active, self._dry = emitter, report, flush, active, dry
        self._tell_senders = tell
        self._ranks = {name: rank for rank, name in enumerate(blueprint.components)}
        self.settings = {
            name: RuntimeSettings.from_config({**blueprint.config, **plan.config}) for name, plan in blueprint.components.items()
        }
        self.shared = {name: plan.any_replica and self.settings[name].shared_queues for name, plan in blueprint.components.items()}
        """Of which bolts the replicas here take from one inbox."""
        self._random = Random(ids.edges(1)[0])

    def bolt_executor(self, plan: ComponentPlan, replica: int) -> BoltExecutor:
        """The executor of one replica, without tasks yet."""
        settings = self.settings[plan.id]
        sample = plan.make() if plan.shape == "function" else None
        seat = (plan, replica, self._ranks[plan.id], self.clock, self._schedule, self._inbox(plan))
        executor: BoltExecutor
        if plan.execution == "inline":
            # who is observed takes one tuple at a time, so that it is known what that took
            chunks = plan.max_batch == 1 and not plan.observed
            pace = Pace(settings.producer_batch_size) if chunks else Whole(plan.max_batch)
            executor = InlineExecutor(*seat, pace, settings.flush_interval_seconds, self._flush)
        elif plan.execution == "async":
            executor = AsyncExecutor(*seat, self._call_at, plan.concurrency)
            executor.bind(self._spawn)
        else:
            # one call runs, one waits for the thread, so that the thread need not wait for the loop
            executor = ThreadExecutor(*seat, self._call_at, 1, ready=1)
            executor.bind(self._notify)
        self._equip(executor, plan, sample)
        return executor

    def _inbox(self, plan: ComponentPlan) -> Inbox:
        """A new one, or that of the bolt in this worker."""
        release = releaser(self._ranks[plan.id], self.me, self._targets[plan.id], self._peers)
        if not self.shared[plan.id]:
            return ObservedInbox(release) if plan.observed else Inbox(release)
        inbox = self.residents.inboxes.get(plan.id)
        if inbox is None:
            inbox = self.residents.inboxes[plan.id] = Inbox(release, shared=True, one_at_a_time=plan.execution == "inline")
            inbox.dry = None if self._dry is None else partial(self._dry, plan.id)
        return inbox

    def _equip(self, executor: BoltExecutor, plan: ComponentPlan, sample: Any) -> None:
        def tell(task_id: int, error: BaseException) -> None:
            executor.meter.errors += 1
            self._report(plan.id, task_id, error)

        def warn(task_id: int, text: str) -> None:
            self._report(plan.id, task_id, text)

        task_id = plan.first_task + executor.replica
        executor.emitter = self._emitter(plan, task_id, executor, tell)
        origins = {edge.index: Origin(self.blueprint, edge) for edge in plan.inputs}
        settled = (executor.emitter, self._acks, self._ids, executor.meter, origins, tell)
        if not isinstance(executor.inbox, ObservedInbox):
            executor.settler = Settler(*settled)
            executor.way = make_way(plan, executor.settler.default, origins, warn, sample)
            return
        executor.settler = ObservedSettler(*settled, executor.inbox, lambda task: self.residents.slots.get((plan.id, task)))
        way = make_way(plan, executor.settler.default, origins, warn, sample)
        executor.way = ObservedWay(way, self.clock, executor.blocking if plan.execution == "inline" else None)

    def _emitter(self, plan: ComponentPlan, task_id: int, executor: Executor, report: Report) -> Emitter:
        ports = {}
        for name, stream in plan.streams.items():
            fields = tuple(stream.fields)
            lanes = [self._lane(edge.index, fields, task_id) for edge in self.blueprint.outputs(plan.id, name)]
            ports[name] = Port(plan.id, name, fields, stream.direct, lanes)
        return self._emitter_class(task_id, ports, self._acks, self._ids, executor, report, self.trial)

    def _lane(self, index: int, fields: tuple[str, ...], task_id: int) -> Lane:
        edge = self.blueprint.edges[index]
        target = self.blueprint.components[edge.target]
        band = self.settings[edge.source].locality_band_seconds
        random = Random(self._random.getrandbits(64))
        context = self.context(edge.source, 0, None)
        splitter = make_splitter(edge, fields, target.first_task, task_id, band, self.clock, random, context)
        return Lane(edge, splitter, self._targets[edge.target], target.first_task, shared=self.shared[edge.target])

    # ---- instances

    def context(self, component: str, task: int, position: Any, executor: Executor | None = None) -> TopologyContext:
        """The context of one task in this worker; `executor` counts the exceptions that it reports."""

        def report(error: BaseException | str) -> None:
            if executor is not None and is_raised(error):
                executor.meter.errors += 1
            # in words already: the exception is still its owner's, who may log it or raise it again
            self._report(component, self.blueprint.components[component].first_task + task, told_of(error))

        return TopologyContext(self.blueprint, component, task, self.me, position, self._active, report, self.restarted)

    def slot(self, plan: ComponentPlan, task: int, executor: BoltExecutor) -> TaskSlot:
        """A task without an instance yet, hosted by `executor`."""
        slot = TaskSlot(plan.id, task, plan.first_task + task, executor)
        if plan.shape != "function":
            if isinstance(executor, ThreadExecutor):
                slot.collector = ThreadCollector(plan.id, executor.emitter, executor.ask)
            else:
                slot.collector = (AsyncCollector if plan.execution == "async" else Collector)(plan.id, executor.emitter)
        slot.observers = {edge.index: observer for edge in plan.inputs if (observer := self._observer(edge, task, executor)) is not None}
        return slot

    def _observer(self, edge: Edge, task: int, executor: BoltExecutor) -> Observer | None:
        if not edge.grouping.observed:
            return None
        fields = tuple(self.blueprint.components[edge.source].streams[edge.stream].fields)
        try:
            return make_observer(edge, fields, task, partial(self._tell_senders, edge, task))
        except Interrupt:
            raise
        except BaseException as error:
            if not self.live:
                raise
            self.report(executor, error)
            return None

    def fill(self, slot: TaskSlot, executor: BoltExecutor) -> None:
        """Give the task a fresh, initialized instance."""
        plan = self.blueprint.components[slot.component]
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
        self._set_flags(executor, slot.instance)

    def report(self, executor: Executor, error: BaseException) -> None:
        """An exception of user code outside of a step."""
        executor.meter.errors += 1
        self._report(executor.plan.id, executor.plan.first_task + executor.replica, error)

    def report_start(self, plan: ComponentPlan, replica: int, error: BaseException) -> None:
        """An exception of a spout's `initialize`."""
        self._report(plan.id, plan.first_task + replica, error)

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

    # ---- states

    def state(self, key: Key) -> ReplicaState:
        """The state of a replica of this worker."""
        return self.pool.states.get(key, ReplicaState.INACTIVE)

    def lifecycle(self, key: Key, hook: str) -> None:
        """Call `activate` or `deactivate` of the instances on a replica."""
        executor = self.residents.executors[key]
        for slot in executor.slots.values():
            if slot.collector is not None and slot.instance is not None:
                self.hook(executor, slot.instance, hook)

    def started(self, key: Key) -> None:
        """The task of a replica has got its instance after all."""
        if self.state(key) is ReplicaState.ACTIVE:
            self.lifecycle(key, "activate")
        self.share_out()

    def share_out(self) -> None:
        """Have those take from the bolts' shared inboxes who are to, by the states of the replicas here."""
        self.residents.share_out(self.state)

    def _set_flags(self, executor: BoltExecutor, instance: Any) -> None:
        if not isinstance(instance, Bolt):  # a stateful function
            return
        ack = instance.auto_ack and not instance.keeps_tuples
        executor.settler.flags = Flags(anchor=instance.auto_anchor, ack=ack, fail=instance.auto_fail)

    def spout_executor(self, plan: ComponentPlan, task: int, position: bytes | None) -> SpoutExecutor:
        """A spout task with an initialized instance, asleep; it goes on at `position`, as `SpoutExecutor.position` gives it."""
        settings = self.settings[plan.id]

        def report(error: BaseException | str) -> None:
            executor.meter.errors += not isinstance(error, str)
            self._report(plan.id, executor.task_id, error)

        rank = self._ranks[plan.id]
        executor = SpoutExecutor(plan, task, rank, self.clock, self._schedule, self._ids, report, self._call_at)
        executor.emitter = self._emitter(plan, executor.task_id, executor, lambda _, error: report(error))
        executor.collector = SpoutCollector(plan.id, executor.emitter, executor.emit_now)
        executor.max_pending = settings.max_spout_pending
        executor.tracking = settings.ackers_enabled
        executor.most = settings.producer_batch_size
        executor.instance = instance = self._spout(plan, task, position, executor)
        # a hook that is only inherited need not be called
        if getattr(instance.ack, "__func__", None) is not Spout.ack:
            executor.fates.on_ack = instance.ack
        if getattr(instance.fail, "__func__", None) is not Spout.fail:
            executor.fates.on_fail = instance.fail
        if getattr(instance.due_at, "__func__", None) is not Spout.due_at:
            executor.fates.due_at = instance.due_at
        return executor

    def _spout(self, plan: ComponentPlan, task: int, position: bytes | None, executor: SpoutExecutor) -> Any:
        """An initialized instance. One whose position cannot be read must not begin at the start."""
        try:
            known = None if position is None else read_position(position)
        except Interrupt:
            raise
        except BaseException as error:
            raise InvalidError(f"component {plan.id!r}: the position that was saved last cannot be read") from error
        instance = plan.make()
        given = {name: getattr(executor.collector, name) for name in ("emit", "emit_batch", "save_position")}
        instance.put_in_place(self.context(plan.id, task, known, executor), given)
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
        return merged({**self.blueprint.config, **plan.config})


def _bind(instance: Component, collector: Collector, context: TopologyContext) -> None:
    instance.put_in_place(context, {name: getattr(collector, name) for name in ("emit", "ack", "fail")})
