"""Between workers, what is queued follows the replicas too: a bolt's inbox that has run dry asks the one with the most work for some.

Only for inboxes that all replicas of a bolt in a worker share. Whoever gives gives its senders their credit back and sends the rows
on with credit of its own, as any sender does; so all that holds for what is sent holds for what is given.
"""

from __future__ import annotations

from pasps.activation import Routing
from pasps.groupings.load import LoadTable
from pasps.runtime.parts import Parts
from pasps.runtime.peer import Peer
from pasps.runtime.table_keeper import TableKeeper, queues_of
from pasps.transport.messages import Ask, Gave

LEAST_SECONDS = 0.002
"""An inbox with less work than this is not asked, and gives nothing: to send it on takes half as long."""


class Lending:
    """Of one worker. One question for each bolt is under way at a time; after one in vain the next waits for news of loads."""

    def __init__(self, parts: Parts, keeper: TableKeeper) -> None:
        self._me = parts.me
        self._index = {name: index for index, name in enumerate(parts.blueprint.components)}
        self._inboxes = parts.residents.inboxes
        self._peers = parts.peers
        self._targets = parts.targets
        self._clock = parts.clock
        self._keeper = keeper
        self._asked: dict[str, str] = {}  # by component: the peer whose answer is missing
        self._in_vain: dict[str, tuple[int, int]] = {}  # by component: versions of table and loads that promise nothing

    def dry(self, component: str) -> None:
        """Nothing waits in the component's inbox here, and somebody could take it: ask a peer for what waits there, if any does."""
        table = self._keeper.table
        if table is None or component in self._asked:
            return
        loads = self._keeper.loads[component]
        news = (table.version, loads.version)
        if self._in_vain.get(component) == news:
            return
        peer = self._most_loaded(table.components[component], table.version, loads)
        if peer is None or not peer.send(Ask(self._index[component])):
            self._in_vain[component] = news
            return
        self._asked[component] = peer.id

    def _most_loaded(self, routing: Routing, version: int, loads: LoadTable) -> Peer | None:
        least, found = self._clock.now() + LEAST_SECONDS, None
        if not any(routing.places[replica] == self._me for replica in routing.active):
            return None
        for index, worker in enumerate(routing.places):
            peer = self._peers.get(worker)
            # whoever has not gone over to this table may not send here what it sends to others
            if peer is not None and peer.marked >= version and loads.finish[index] > least:
                least, found = loads.finish[index], peer
        return found

    def news(self, component: str) -> None:
        """There is something new about loads, or a peer has gone over to the newest table."""
        inbox = self._inboxes.get(component)
        if inbox is not None and not inbox.count and any(taker.may_take() for taker in inbox.takers):
            self.dry(component)

    def news_of_all(self) -> None:
        """The same for every bolt."""
        for component in self._inboxes:
            self._in_vain.pop(component, None)
            self.news(component)

    def asked(self, peer: Peer, component: str) -> None:
        """Give the peer what is its share of what waits here, and say how much that is."""
        count = self._give(peer, component)
        peer.flush()
        peer.send(Gave(self._index[component], count))

    def _give(self, peer: Peer, component: str) -> int:
        inbox, table = self._inboxes.get(component), self._keeper.table
        if inbox is None or table is None or not inbox.count:
            return 0
        routing, loads = table.components[component], self._keeper.loads[component]
        there = [index for index in queues_of(routing) if routing.places[index] == peer.id]
        own = routing.places.index(self._me) if self._me in routing.places else None
        if not there or (own is not None and inbox.count * loads.each[own] < LEAST_SECONDS):
            return 0
        target = self._targets[component][there[0]]
        mine, theirs = (sum(routing.places[replica] == worker for replica in routing.active) for worker in (self._me, peer.id))
        before = inbox.count
        for batch in inbox.give(min(before * theirs // (mine + theirs), target.room())):
            batch.task, batch.origin = target.task, ""
            rest = target.send(batch)
            if rest is not None:  # many bytes
                inbox.take_back(rest)
        return before - inbox.count

    def gave(self, peer: Peer, component: str, count: int) -> None:
        """The answer: what it gave has come before it."""
        table = self._keeper.table
        if self._asked.get(component) != peer.id:
            return
        del self._asked[component]
        if not count and table is not None:
            self._in_vain[component] = (table.version, self._keeper.loads[component].version)
        else:
            self.news(component)

    def link_lost(self, peer: str) -> None:
        """No answer will come from there."""
        self._asked = {component: worker for component, worker in self._asked.items() if worker != peer}
