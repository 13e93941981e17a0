"""What workers tell each other of what waits before their bolts, and what follows from it: an inbox that has run dry is given some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, inf, isfinite

from pasps.activation import Routing
from pasps.config import RuntimeSettings
from pasps.groupings.load import REPORT_SECONDS, LoadTable
from pasps.runtime.batch import Batch
from pasps.runtime.executor import BoltExecutor, CallAt, Executor
from pasps.runtime.hosting import Hosting, ReplicaState
from pasps.runtime.inbox import Inbox
from pasps.runtime.peer import Peer
from pasps.runtime.tables import TableKeeper, queues_of
from pasps.runtime.target import Target
from pasps.runtime.waiting_executors import WaitingExecutor
from pasps.transport.messages import Ask, Gave, Load


@dataclass
class _Told:
    """What was last said of an inbox; `whole` is what had been done of it when the last whole second ended.

    `replicas` take from it. `again`: a timer is set to say it once more. `waiting` is how long it took to work it off, and from
    `calm_until` on it may be told again that this grows.
    """

    replicas: list[BoltExecutor]
    executed: int = 0
    seconds: float = 0.0
    queued: int = 0
    each: float = 0.0
    whole: int = 0
    rate: int = 0
    again: bool = False
    waiting: float = 0.0
    calm_until: float = 0.0


_NEAR_SECONDS = 0.005
"""How often a worker looks at its own queues of replicas that wait, for the senders in it: their locality band is as long."""


PRESSED_SECONDS = 0.1
"""What takes longer to work off than this, and longer than a report ago, is told to the controller."""
_CALM_SECONDS = 0.25
"""And not again so soon, whatever becomes of it."""


class LoadReports:
    """Feeds the load tables of this worker, and those of its peers.

    What is queued goes out every interval; how many tuples were done goes out for whole seconds, as the paper has it. What is still
    queued when it should be done is said again, although nobody had a turn: whoever takes it hangs, or finds no room.
    """

    def __init__(
        self,
        hosting: Hosting,
        keeper: TableKeeper,
        peers: dict[str, Peer],
        stepped: set[Executor],
        call_at: CallAt,
        pressed: Callable[[str], None],
    ) -> None:
        """`pressed` is told a bolt to which more comes than its replicas here take, at most four times a second."""
        self._clock = hosting.clock
        self._interval = RuntimeSettings.from_config(hosting.blueprint.config).load_report_seconds
        self._index = {name: index for index, name in enumerate(hosting.blueprint.components)}
        self._hosting = hosting
        self._stepped = stepped
        self._keeper = keeper
        self._peers = peers
        self._due = self._second_due = self._near_due = 0.0
        self._residents = hosting.residents
        self._told: dict[Inbox, _Told] = {}
        self._call_at = call_at
        self._pressed = pressed

    def send_due(self) -> None:
        """Report if the interval is over; called after every pass, so an idle worker reports nothing."""
        if not self._stepped:
            return
        now = self._clock.now()
        if now >= self._near_due:
            self._near_due = now + _NEAR_SECONDS
            self._look_near(now)
        if now < self._due:
            return
        self._due = now + self._interval
        for executor in self._stepped:
            if isinstance(executor, BoltExecutor):
                inbox = executor.inbox
                replicas = self._residents.replicas(executor.plan.id) if inbox.shared else [executor]
                if replicas:  # they may all live elsewhere by now
                    self._told.setdefault(inbox, _Told([])).replicas = replicas
        self._stepped.clear()
        whole = now >= self._second_due
        if whole:
            self._second_due = now + REPORT_SECONDS
        for inbox, told in list(self._told.items()):
            self._tell(inbox, told, now, whole=whole)

    def _look_near(self, now: float) -> None:
        """What waits in this worker its own senders need not wait to be told: of replicas that wait, some of them slow perhaps."""
        table = self._keeper.table
        bolts = {executor.plan.id for executor in self._stepped if isinstance(executor, WaitingExecutor) and executor.inbox.shared}
        if table is None:
            return
        for component in bolts:
            inbox, places = self._residents.inboxes.get(component), table.components[component].places
            if inbox is None or self._hosting.me not in places:
                continue
            takers = [taker for taker in inbox.takers if isinstance(taker, WaitingExecutor)]
            a_second = sum(taker.at_a_time / pace for taker in takers if 0.0 < (pace := taker.pace(now)) < inf)
            if a_second:
                waiting = inbox.count + sum(taker.in_hand for taker in takers)
                self._keeper.loads[component].finish[places.index(self._hosting.me)] = now + waiting / a_second

    def _tell(self, inbox: Inbox, told: _Told, now: float, *, whole: bool) -> None:
        executed = sum(sum(executor.meter.executed.values()) for executor in told.replicas)
        seconds, queued = sum(executor.meter.seconds for executor in told.replicas), inbox.count
        done = executed - told.executed
        if done:
            told.each = (seconds - told.seconds) / done
        changed = done or queued != told.queued
        rate = executed - told.whole if whole else None
        if rate is not None:
            changed = changed or rate != told.rate
            told.rate, told.whole = rate, executed
            if not changed and not rate and not queued:
                del self._told[inbox]  # until something is taken from it again
                return
        told.executed, told.seconds, told.queued = executed, seconds, queued
        if changed:
            self._report(inbox, told, rate, now)

    def _report(self, inbox: Inbox, told: _Told, done: int | None, now: float) -> None:
        component, table = told.replicas[0].plan.id, self._keeper.table
        if inbox.shared:
            places = () if table is None else table.components[component].places
            if self._residents.inboxes.get(component) is not inbox or self._hosting.me not in places:
                return  # what is left of a bolt that is to live elsewhere: the name of its inbox is another worker's by now
            index = places.index(self._hosting.me)
        else:
            index = told.replicas[0].replica
            if self._hosting.state((component, index)) is not ReplicaState.ACTIVE:
                return
        waiting = inbox.count + sum(executor.in_hand for executor in told.replicas)
        at_a_time = 1 if inbox.one_at_a_time else max(1, len(inbox.takers))
        known = self._keeper.loads[component].each[index]
        # a call that is not over has taken so long already, whatever was known of calls before
        paces = [executor.pace(now) for executor in told.replicas if isinstance(executor, WaitingExecutor)]
        each = max(told.each or known, min((pace for pace in paces if isfinite(pace)), default=0.0))
        load = Load(self._index[component], index, waiting * each / at_a_time, told.each, done)
        self.take(component, load, now)
        for peer in self._peers.values():
            peer.load(load)
        if load.waiting > max(PRESSED_SECONDS, told.waiting) and now >= told.calm_until:
            told.calm_until = now + _CALM_SECONDS
            self._pressed(component)
        told.waiting = load.waiting
        if inbox.count and not told.again:
            told.again = True
            self._call_at(now + max(self._interval, load.waiting), partial(self._say_again, inbox, told))

    def _say_again(self, inbox: Inbox, told: _Told) -> None:
        told.again = False
        if inbox.count:
            told.queued = -1
            self._stepped.update(told.replicas)

    def take(self, component: str, load: Load, now: float | None = None) -> None:
        """A report, of a replica here or at a peer."""
        when = self._clock.now() if now is None else now
        self._keeper.loads[component].report(load.replica, load.waiting, load.seconds_each, load.done, when)


LEAST_SECONDS = 0.002
"""An inbox with less work than this is not asked, and gives nothing: to send it on takes half as long."""


_MOST_LOOKS = 256
"""Rows that are looked at in vain for some that can travel."""


class Lending:
    """Of one worker. One question for each bolt is under way at a time; whoever had nothing to give is asked again when it has news."""

    def __init__(self, hosting: Hosting, keeper: TableKeeper, peers: dict[str, Peer], targets: dict[str, list[Target]]) -> None:
        self._me = hosting.me
        self._index = {name: index for index, name in enumerate(hosting.blueprint.components)}
        self._inboxes = hosting.residents.inboxes
        self._peers = peers
        self._targets = targets
        self._clock = hosting.clock
        self._trial = hosting.trial
        self._keeper = keeper
        self._asked: dict[str, str] = {}  # by component: the peer whose answer is missing
        self._in_vain: dict[str, tuple[int, int]] = {}  # by component: versions of table and loads that promise nothing
        self._empty: dict[str, set[str]] = {name: set() for name in hosting.blueprint.components}  # peers: all they have is in hand

    def dry(self, component: str) -> None:
        """Nothing waits in the component's inbox here, and somebody could take it: ask a peer for what waits there, if any does."""
        table = self._keeper.table
        if table is None or component in self._asked:
            return
        loads = self._keeper.loads[component]
        news = (table.version, loads.version)
        # whoever is idle comes by at every turn: without news it would get the same answer
        if self._in_vain.get(component) == news:
            return
        peer = self._most_loaded(table.components[component], table.version, loads, self._empty[component])
        if peer is None or not peer.send(Ask(self._index[component])):
            self._in_vain[component] = news
            return
        self._asked[component] = peer.id

    def _most_loaded(self, routing: Routing, version: int, loads: LoadTable, empty: set[str]) -> Peer | None:
        least, found = self._clock.now() + LEAST_SECONDS, None
        if not any(routing.places[replica] == self._me for replica in routing.active):
            return None
        for index, worker in enumerate(routing.places):
            peer = self._peers.get(worker)
            # whoever has not gone over to this table may not send here what it sends to others
            if peer is not None and peer.marked >= version and worker not in empty and loads.finish[index] > least:
                least, found = loads.finish[index], peer
        return found

    def news(self, component: str, peer: str = "") -> None:
        """There is something new about loads, which that peer has told, or it has answered."""
        self._empty[component].discard(peer)
        inbox = self._inboxes.get(component)
        if inbox is not None and not inbox.count and any(taker.may_take() for taker in inbox.takers):
            self.dry(component)

    def news_of_all(self) -> None:
        """A peer has gone over to the newest table: there may be something to have of every bolt."""
        for component in self._inboxes:
            self._in_vain.pop(component, None)
            self._empty[component].clear()
            self.news(component)

    def asked(self, peer: Peer, component: str) -> None:
        """Give the peer what is its share of what waits here, and say how much that is."""
        count = self._give(peer, component)
        # before the answer, by which its receiver takes all for come
        peer.flush()
        peer.send(Gave(self._index[component], count))

    def _give(self, peer: Peer, component: str) -> int:
        inbox, table = self._inboxes.get(component), self._keeper.table
        if inbox is None or table is None or not inbox.count:
            return 0
        routing, loads = table.components[component], self._keeper.loads[component]
        there = [index for index in queues_of(routing) if routing.places[index] == peer.id]
        own = routing.places.index(self._me) if self._me in routing.places else None
        now = self._clock.now()
        if not there or (own is not None and max(inbox.count * loads.each[own], loads.waiting(own, now)) < LEAST_SECONDS):
            return 0
        target = self._targets[component][there[0]]
        mine, theirs = (self._speed(inbox, routing, loads, worker) for worker in (self._me, peer.id))
        share = min(ceil(inbox.count * theirs / (mine + theirs)), target.room())  # rounded up: who asks has nothing to do
        return self._send_on(inbox, target, share)

    @staticmethod
    def _speed(inbox: Inbox, routing: Routing, loads: LoadTable, worker: str) -> float:
        """Tuples that the active replicas of a worker do in a second; those that compute, together as many as one."""
        active = sum(routing.places[replica] == worker for replica in routing.active)
        return (min(active, 1) if inbox.one_at_a_time else active) / loads.each[routing.places.index(worker)] if active else 0.0

    def _send_on(self, inbox: Inbox, target: Target, share: int) -> int:
        """Send so many of the oldest rows there; what cannot travel stays, and is not looked at for long."""
        sent, looks, stays = 0, share + _MOST_LOOKS, list[Batch]()
        while sent < share and looks > 0 and inbox.count:
            batch = inbox.take(min(share - sent, looks))
            looks -= len(batch.rows)
            stuck = self._trial.errors(batch.rows) if self._trial is not None else {}
            if stuck:  # by reference, where it is, it is as good as any other
                stays.append(batch.select(list(stuck)))
                batch = batch.without(stuck)
            if batch.rows:
                # its sender had its credit back when it was taken: from here on it holds this worker's
                batch.origin = ""
                rest = target.send(batch.to(batch.edge, target.task))
                went = len(batch.rows) - (0 if rest is None else len(rest.rows))
                inbox.sent_on(batch.edge, went)
                sent += went
                if rest is not None:  # many bytes
                    stays.append(rest)
                    break
        for batch in reversed(stays):
            inbox.take_back(batch)
        return sent

    def gave(self, peer: Peer, component: str, count: int) -> None:
        """The answer: what it gave has come before it."""
        if self._asked.get(component) != peer.id:
            return
        del self._asked[component]
        if not count:
            self._empty[component].add(peer.id)
        self.news(component)

    def link_lost(self, peer: str) -> None:
        """No answer will come from there."""
        self._asked = {component: worker for component, worker in self._asked.items() if worker != peer}
