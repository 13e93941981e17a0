"""The end of a step, the same for every way to run a bolt: failures are told and fail their tuples, the rest is routed and acked.

What cannot travel is found before anything of its call is routed, and makes the call a failure.
`settle` takes the outcome of a batch; columns go on as they are, calls are carried out one by one. Called by the executors on the
worker's loop; calls the emitter and the ack box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pasps.api.tuples import DEFAULT_STREAM, DONE, FAILED, PENDING, Tuple
from pasps.errors import Interrupt, WireError
from pasps.ids import IdSource
from pasps.runtime.acks import AckBox, split_edges, split_links
from pasps.runtime.batch import Batch, Links, Row
from pasps.runtime.emitter import Emitter, Port
from pasps.runtime.inbox import TaskSlot
from pasps.runtime.meters import Meter
from pasps.runtime.outcome import Call, Emission, Failure, Outcome, Records, Verdict
from pasps.runtime.ways import Origin


class Flags:
    """The switches of a bolt; `plain`: what a call emits belongs to its input, which is acked when the call returns."""

    __slots__ = ("ack", "anchor", "fail", "plain")

    def __init__(self, anchor: bool = True, ack: bool = True, fail: bool = True) -> None:
        self.anchor, self.ack, self.fail = anchor, ack, fail
        self.plain = anchor and ack and fail


TellFailure = Callable[[int, BaseException], None]
"""Report an exception of user code in a task."""


class _Owned:
    """Rows of one stream that wait for the end of the step, with the ids they own."""

    __slots__ = ("edges", "links", "many", "roots", "rows")

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.roots: list[int] = []
        self.edges: list[int] = []
        self.links: list[Links | None] = []
        self.many = False


class Settler:
    """Of one executor."""

    __slots__ = ("_acks", "_emitter", "_ids", "_meter", "_origins", "_owned", "_tell", "default", "flags")

    def __init__(self, emitter: Emitter, acks: AckBox, ids: IdSource, meter: Meter, origins: dict[int, Origin], tell: TellFailure) -> None:
        self._emitter = emitter
        self._acks = acks
        self._ids = ids
        self._meter = meter
        self._origins = origins
        self._tell = tell
        self._owned: dict[str, _Owned] = {}
        self.default: Port | None = emitter.ports.get(DEFAULT_STREAM)
        self.flags = Flags()

    def settle(self, slot: TaskSlot, batch: Batch, outcome: Outcome) -> None:
        """Carry out what became of a batch."""
        if outcome.calls is None and self.flags.plain:
            if outcome.counts is None:
                self._pass_on(batch, outcome.rows, slot)
                return
            if not (outcome.rows or outcome.failures):
                self._ack_all(batch, slot)
                return
            if batch.links is None and self._spread(batch, outcome.rows, outcome.counts, outcome.failures or {}, slot):
                return
        tups = outcome.tups if outcome.tups is not None else self._origins[batch.edge].tuples(batch)
        calls = outcome.as_calls()
        if self._emitter.trial is not None:
            self._try(tups, calls, outcome.loose, slot)
        if outcome.loose:
            for tup, call in zip(tups, calls, strict=True):
                if isinstance(call, Failure) and self.flags.fail:  # before an ack of it that the batch recorded
                    self._judge(tup, False, slot)
            self._carry_out(None, outcome.loose, slot)
        for tup, call in zip(tups, calls, strict=True):
            self._settle_call(tup, call, slot)
        self._flush(slot)

    def settle_alone(self, slot: TaskSlot, call: Call) -> None:
        """Carry out a call that had no input: a tick, a hook that may emit."""
        calls: list[Call] = [call]
        if self._emitter.trial is not None:
            self._try([None], calls, None, slot)
        self._settle_call(None, calls[0], slot)
        self._flush(slot)

    # ---- what cannot travel, found before anything of its call is sent

    def _try(self, tups: Sequence[Tuple | None], calls: list[Call], loose: Records | None, slot: TaskSlot) -> None:
        """Calls that recorded several things, among them a row that cannot travel to where it goes, become failures."""
        several: list[list[Any]] = [call for call in calls if not isinstance(call, Failure) and len(call) > 1]
        stuck = self._stuck([*several, loose] if loose else several)
        if not stuck:
            return
        for i, (tup, call) in enumerate(zip(tups, calls, strict=True)):
            if not isinstance(call, Failure) and (errors := stuck.get(id(call))):
                judged = [record.tup for record in call if isinstance(record, Verdict)]
                calls[i] = Failure(next(iter(errors.values())), judged if tup is None else [tup, *judged])
        if loose:
            self._hold_back(tups, calls, loose, stuck.get(id(loose), {}), slot)

    def _hold_back(
        self, tups: Sequence[Tuple | None], calls: list[Call], loose: Records, stuck: dict[int, WireError], slot: TaskSlot
    ) -> None:
        """What was recorded for a batch as a whole: the anchors of what is stuck fail, and with them all else that was made of them."""
        failed: set[int] = set()

        def fail(anchors: Iterable[Tuple]) -> None:
            for anchor in anchors:
                self._judge(anchor, False, slot)
                failed.add(id(anchor))

        for position, error in stuck.items():
            self._tell(slot.task_id, error)
            fail(loose[position].anchors)
        for call in calls:
            fail(call.judged if isinstance(call, Failure) else ())
        held: set[int] = set(stuck)
        while True:
            more = {
                position
                for position, record in enumerate(loose)
                if position not in held and isinstance(record, Emission) and any(id(anchor) in failed for anchor in record.anchors or ())
            }
            if not more:
                break
            held |= more
            for position in more:
                fail(loose[position].anchors)
        loose[:] = [record for position, record in enumerate(loose) if position not in held]
        for i, tup in enumerate(tups):
            if id(tup) in failed and not isinstance(calls[i], Failure):
                calls[i] = []

    def _stuck(self, lists: list[list[Any]]) -> dict[int, dict[int, WireError]]:
        """Why rows cannot travel to where they go: by the id of the list of records, and the position in it."""
        emitted: dict[Port, list[tuple[list[Any], int, Row]]] = {}
        for records in lists:
            for position, record in enumerate(records):
                if record.__class__ is tuple:
                    assert self.default is not None
                    emitted.setdefault(self.default, []).append((records, position, record))
                elif isinstance(record, Emission):
                    emitted.setdefault(record.port, []).append((records, position, record.row))
        found: dict[int, dict[int, WireError]] = {}
        for port, places in emitted.items():
            for i, error in self._emitter.tried(port, [row for _, _, row in places]).items():
                records, position, _ = places[i]
                if self._leaves(port, records, position):
                    found.setdefault(id(records), {})[position] = error
        return found

    def _leaves(self, port: Port, records: list[Any], position: int) -> bool:
        """Whether a row goes to another worker; its receivers are chosen now, and stay."""
        record = records[position]
        if not isinstance(record, Emission):
            record = records[position] = Emission(port, record, None, None, None)
        if record.deliveries is None:
            try:
                record.deliveries = self._emitter.choose(port, record.row, record.direct_task)
            except Interrupt:
                raise
            except BaseException:  # noqa: BLE001 - a grouping of the user's: told when the row is routed
                return False
        return any(self._emitter.is_elsewhere(lane.targets[task]) for lane, task, _ in record.deliveries)

    # ---- in columns

    def _pass_on(self, batch: Batch, rows: list[Row], slot: TaskSlot) -> None:
        """One output for each input: ids are handed on as they are, and the ledger need not hear of it."""
        self._meter.acked += len(rows)
        slot.open -= len(rows)
        if self.default is None:
            self._acks.ack_batch(batch)
        else:
            self._emitter.route(self.default, Batch(-1, -1, slot.task_id, rows, batch.roots, batch.edges, batch.links))

    def _ack_all(self, batch: Batch, slot: TaskSlot) -> None:
        """No output."""
        self._meter.acked += len(batch.rows)
        slot.open -= len(batch.rows)
        self._acks.ack_batch(batch)

    def _spread(self, batch: Batch, rows: list[Row], counts: list[int], failures: dict[int, Failure], slot: TaskSlot) -> bool:
        """`counts[i]` outputs for input i, if it has not failed; no row has several roots. False: nothing is done, some call is stuck."""
        roots, edges = batch.roots, batch.edges
        if rows and self.default is not None:
            each = parts = None
            if roots is not None and edges is not None:
                each = [root for root, count in zip(roots, counts, strict=True) for _ in range(count)]
                parts = split_edges(edges, counts, self._ids)
            whole = len(rows) > len(counts) - counts.count(0)  # some call has several rows
            # first of all: where it refuses, nothing of the batch may have been told, acked or failed, since it is done again by calls
            if not self._emitter.route(self.default, Batch(-1, -1, slot.task_id, rows, each, parts), whole=whole):
                return False
        for failure in failures.values():
            self._tell_once(failure, slot)
        self._meter.acked += len(counts) - len(failures)
        self._meter.failed += len(failures)
        slot.open -= len(counts)
        if roots is not None and edges is not None:
            self._acks.fail([roots[i] for i in failures])
            leaves = [i for i, count in enumerate(counts) if not count and i not in failures]
            if leaves:
                self._acks.ack([roots[i] for i in leaves], [edges[i] for i in leaves])
        return True

    # ---- call by call

    def _settle_call(self, tup: Tuple | None, call: Call, slot: TaskSlot) -> None:
        if isinstance(call, Failure):
            self._fail(tup, call, slot)
        else:
            self._carry_out(tup, call, slot)

    def _carry_out(self, tup: Tuple | None, records: list[Any], slot: TaskSlot) -> None:
        """The records of a call in order; `tup` None: they belong to no tuple."""
        own: list[tuple[Port, Row, Emission | None]] = []
        for record in records:
            if record.__class__ is tuple:
                assert self.default is not None
                own.append((self.default, record, None))
            elif isinstance(record, Verdict):
                # what was emitted before an explicit verdict must count for it, so it is settled first
                own = self._settle_own(tup, own, slot, last=False)
                self._judge(record.tup, record.good, slot)
            elif record.anchors is None:
                own.append((record.port, record.row, record))
            else:
                self._emit_anchored(record.port, record.row, record.anchors, record, slot)
        self._settle_own(tup, own, slot, last=True)

    def _settle_own(
        self, tup: Tuple | None, own: list[tuple[Port, Row, Emission | None]], slot: TaskSlot, *, last: bool
    ) -> list[tuple[Port, Row, Emission | None]]:
        flags = self.flags
        anchored = flags.anchor and tup is not None
        if not (last and flags.ack and tup is not None and tup.state == PENDING):
            for port, row, emission in own:
                self._emit_anchored(port, row, [tup] if anchored and tup is not None else [], emission, slot)
            return []
        if not anchored or not own:
            for port, row, emission in own:
                self._own(port, row, 0, 0, None, emission, slot)
            self._judge(tup, True, slot)
            return []
        tup.state = DONE
        slot.open -= 1
        self._meter.acked += 1
        # what rows anchored to it have taken is not its own outputs' to share: all its ids must XOR to `edge`
        links = None if tup.links is None else tuple((root, edge ^ tup.children) for root, edge in tup.links)
        edges = split_edges([tup.edge ^ tup.children], [len(own)], self._ids) if tup.root else [0] * len(own)
        parts = [None] * len(own) if links is None else split_links(links, len(own), self._ids)
        for (port, row, emission), edge, part in zip(own, edges, parts, strict=True):
            self._own(port, row, tup.root, edge, part, emission, slot)
        return []

    def _emit_anchored(self, port: Port, row: Row, anchors: list[Tuple], emission: Emission | None, slot: TaskSlot) -> None:
        pairs: dict[int, int] = {}
        for anchor, fresh in zip(anchors, self._ids.edges(len(anchors)), strict=True):
            # one that was judged has sent off its ack: an id added now would never be taken out of its tree again
            if anchor.state == PENDING:
                anchor.children ^= fresh
                for root, _ in anchor.links if anchor.links is not None else ((anchor.root, 0),):
                    if root:
                        pairs[root] = pairs.get(root, 0) ^ fresh
        if len(pairs) > 1:
            self._own(port, row, 0, 0, tuple(pairs.items()), emission, slot)
            return
        root, edge = next(iter(pairs.items())) if pairs else (0, 0)
        self._own(port, row, root, edge, None, emission, slot)

    def _own(self, port: Port, row: Row, root: int, edge: int, links: Links | None, emission: Emission | None, slot: TaskSlot) -> None:
        chosen = None if emission is None else emission.deliveries
        if chosen is not None:  # during the call, which may have lasted longer than their replicas were active
            try:
                chosen = self._emitter.confirm(chosen, row)
            except Interrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - a grouping of the user's: costs the tuple that it concerns
                self._emitter.fail(_alone(row, root, edge, links, slot), error)
                return
        elif emission is not None and emission.direct_task is not None:
            chosen = self._emitter.choose(port, row, emission.direct_task)
        if chosen is not None:
            # what was emitted on this stream before waits there, and goes first
            self._flush_stream(port.stream, slot)
            port.emitted += 1
            self._emitter.deliver(port, chosen, _alone(row, root, edge, links, slot))
            return
        owned = self._owned.get(port.stream)
        if owned is None:
            owned = self._owned[port.stream] = _Owned()
        owned.rows.append(row)
        owned.roots.append(root)
        owned.edges.append(edge)
        owned.links.append(links)
        owned.many = owned.many or links is not None

    def _fail(self, tup: Tuple | None, failure: Failure, slot: TaskSlot) -> None:
        self._tell_once(failure, slot)
        for judged in failure.judged:  # what the call made of them was dropped with it, so an ack of theirs must not count
            self._judge(judged, False, slot)
        if tup is None or tup.state != PENDING:
            return
        if self.flags.fail:
            self._judge(tup, False, slot)
        elif self.flags.ack:  # auto_fail off: nobody will judge it any more, and it times out at its spout
            tup.state = FAILED
            slot.open -= 1
            self._meter.failed += 1

    def _tell_once(self, failure: Failure, slot: TaskSlot) -> None:
        if failure.told:
            self._tell(slot.task_id, failure.error)

    def _judge(self, tup: Tuple, good: bool, slot: TaskSlot) -> None:
        """Ack or fail one tuple, once."""
        # a second ack would XOR the first one away, and its tree would only time out
        if tup.state != PENDING:
            return
        tup.state = DONE if good else FAILED
        slot.open -= 1
        links = tup.links if tup.links is not None else ((tup.root, tup.edge),)
        if good:
            self._meter.acked += 1
            for root, edge in links:
                if root:
                    self._acks.ack_one(root, edge ^ tup.children)
        else:
            self._meter.failed += 1
            self._acks.fail([root for root, _ in links])

    def _flush(self, slot: TaskSlot) -> None:
        """Route everything that was collected call by call."""
        for stream in list(self._owned):
            self._flush_stream(stream, slot)

    def _flush_stream(self, stream: str, slot: TaskSlot) -> None:
        owned = self._owned.pop(stream, None)
        if owned is None:
            return
        tracked = owned.many or any(owned.roots)
        roots, edges, links = owned.roots if tracked else None, owned.edges if tracked else None, owned.links if owned.many else None
        self._emitter.route(self._emitter.ports[stream], Batch(-1, -1, slot.task_id, owned.rows, roots, edges, links))


def _alone(row: Row, root: int, edge: int, links: Links | None, slot: TaskSlot) -> Batch:
    """A batch of one row, to be routed."""
    return Batch(-1, -1, slot.task_id, [row], [root] if root or links else None, [edge], None if links is None else [links])
