"""From what a component emitted to batches on their way: ids, grouping, credit. One emitter for each executor.

Called by the executors; calls the groupings and `Target.send`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from pasps.api.blueprint import Edge
from pasps.api.groupings import Kind
from pasps.api.splitting import Carrying, Pick, Splitter, TargetView
from pasps.errors import Interrupt, WireError
from pasps.ids import IdSource
from pasps.runtime.acks import AckBox, split_links
from pasps.runtime.batch import Batch, Links, Payload, Row, pick_rows
from pasps.runtime.target import Target, Waiter
from pasps.transport.codec import Trial


class Lane:
    """One subscription as this sender serves it: its grouping, and the targets by task index; `leaves`: some are in other workers.

    `shared`: a target is the inbox of all replicas in a worker, and what finds no room there may go to any other.
    `observed`: rows may carry payloads. `heard` takes what observers tell, None when the splitter does not listen.
    """

    __slots__ = (
        "by_task", "direct", "edge", "first_task", "heard", "leaves", "observed", "open", "shared", "simple", "splitter", "targets",
        "waiting",
    )  # fmt: skip

    def __init__(self, edge: Edge, splitter: Splitter, targets: list[Target], first_task: int, *, shared: bool = False) -> None:
        self.edge = edge.index
        self.splitter = splitter
        self.targets = targets
        self.first_task = first_task
        self.direct = edge.grouping.kind is Kind.DIRECT
        self.by_task = edge.grouping.keyed
        self.shared = shared
        self.open: list[Target] = []  # those that take, by the newest table
        self.observed = edge.grouping.observed
        self.heard: Callable[[int, bytes], None] | None = getattr(splitter, "heard", None)
        self.simple = splitter.fan == 1 and not (self.direct or self.observed)
        self.leaves = False


class Port:
    """One output stream of this sender: its width, its subscriptions, and how much was emitted."""

    __slots__ = ("component", "direct", "emitted", "fields", "lanes", "only", "stream", "width")

    def __init__(self, component: str, stream: str, fields: tuple[str, ...], direct: bool, lanes: list[Lane]) -> None:
        self.component = component
        self.stream = stream
        self.fields = fields
        self.width = len(fields)
        self.direct = direct
        self.lanes = lanes
        self.only = lanes[0] if len(lanes) == 1 and lanes[0].simple else None
        self.emitted = 0


Report = Callable[[int, BaseException], None]
"""Tell of an exception of user code in a task."""

Delivery = tuple[Lane, int, Pick]


class Emitter:
    """Routes rows; what has no credit yet is parked in order, and while anything is parked the executor must not run."""

    __slots__ = ("_acks", "_ids", "_report", "_wake", "copies", "parked", "ports", "source", "trial")

    def __init__(
        self,
        source: int,
        ports: dict[str, Port],
        acks: AckBox,
        ids: IdSource,
        waiter: Waiter,
        report: Report,
        trial: Trial | None = None,
    ) -> None:
        """`trial` None: there is no other worker."""
        self._report = report
        self.trial = trial
        self.source = source
        self.ports = ports
        self.copies = 0
        """What was handed over so far: of each row as many as it has receivers."""
        self.parked: deque[tuple[Lane, Batch]] = deque()
        self._acks = acks
        self._ids = ids
        self._wake = waiter

    def route(self, port: Port, batch: Batch, *, whole: bool = False) -> bool:
        """Hand rows over. Row i owns `edges[i]` for root `roots[i]`: its copies' ids will XOR to it; no copy: it is acked.

        With `whole` False comes back, and nothing is handed over, when one of them cannot travel to where it goes.
        """
        only, rows = port.only, batch.rows
        try:
            if only is not None:
                parts = only.splitter.split(rows)
            else:
                lanes = [lane for lane in port.lanes if not lane.direct]
                deliveries = [(lane, task, pick) for lane in lanes for task, pick in lane.splitter.split(rows)]
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a key or a grouping of the user's: costs the tuples that it concerns
            self._route_each(port, batch, error)
            return True
        if only is not None:
            if whole and self.trial is not None and self._stuck(port, [(only, task, pick) for task, pick in parts], rows):
                return False
            port.emitted += len(rows)
            self.copies += len(rows)
            for task, pick in parts:
                part = batch if pick is None else batch.select(pick)
                part.edge, part.task = only.edge, task
                self._offer(only, part)
            return True
        if whole and self.trial is not None and self._stuck(port, deliveries, rows):
            return False
        port.emitted += len(rows)
        self.deliver(port, deliveries, batch)
        return True

    def _route_each(self, port: Port, batch: Batch, error: BaseException) -> None:
        """Some row cannot be routed: the others are, one by one; it fails and is reported."""
        if len(batch.rows) > 1:
            for i in range(len(batch.rows)):
                self.route(port, batch.part(i, i + 1))
            return
        self.fail(batch, error)

    def fail(self, batch: Batch, error: BaseException) -> None:
        """Report why these rows get nowhere, and fail them."""
        self._report(batch.source, error)
        self._acks.fail_batch(batch)

    def choose(self, port: Port, row: Row, direct_task: int | None) -> list[Delivery]:
        """Choose the receivers of one row now, because its emitter wants to know them or named one."""
        if direct_task is None:
            lanes = [lane for lane in port.lanes if not lane.direct]
            return [(lane, task, pick if lane.observed else None) for lane in lanes for task, pick in lane.splitter.split([row])]
        found: list[Delivery] = []
        for lane in port.lanes:
            index = direct_task - lane.first_task
            if lane.direct and 0 <= index < len(lane.targets):
                found.append((lane, index, None))
        return found

    def confirm(self, deliveries: list[Delivery], row: Row) -> list[Delivery]:
        """Receivers of one row that were chosen a while ago: in place of one that takes nothing any more, another.

        Raises:
            BaseException: what a grouping of the user's raised that had to choose another.
        """
        found: list[Delivery] = []
        for lane, task, pick in deliveries:
            if lane.targets[task] not in lane.open:
                task, pick = lane.splitter.split([row])[0]
            found.append((lane, task, pick if lane.observed else None))
        return found

    def deliver(self, port: Port, deliveries: list[Delivery], batch: Batch) -> None:
        """Hand rows to receivers that are chosen already: any number of copies of each row.

        No receiver gets a row that cannot travel to another one.
        """
        if self.trial is not None and len(deliveries) > 1 and (stuck := self._stuck(port, deliveries, batch.rows)):
            for i, error in stuck.items():
                self.fail(batch.part(i, i + 1), error)
            place = {old: new for new, old in enumerate(i for i in range(len(batch.rows)) if i not in stuck)}
            picked = [(lane, task, _kept(pick, len(batch.rows), place)) for lane, task, pick in deliveries]
            deliveries = [(lane, task, pick) for lane, task, pick in picked if pick]
            batch = batch.without(stuck)
        if batch.roots is None or batch.edges is None:
            for lane, task, pick in deliveries:
                copy = Batch(lane.edge, task, batch.source, pick_rows(batch.rows, pick))
                self.copies += len(copy.rows)
                if lane.observed:
                    self._offer_picked(lane, pick, copy)
                else:
                    self._offer(lane, copy)
            return
        left = [0] * len(batch.rows)
        positions = [_positions(pick, len(left)) for _, _, pick in deliveries]
        for chosen in positions:
            for i in chosen:
                left[i] += 1
        # what nobody receives is done; without an ack its tree would time out
        if 0 in left:
            self._acks.ack_batch(batch.select([i for i, count in enumerate(left) if not count]))
        owed, owed_links = list(batch.edges), None if batch.links is None else list(batch.links)
        for (lane, task, pick), chosen in zip(deliveries, positions, strict=True):
            ids, parts = self._ids_for(chosen, left, owed, owed_links)
            self.copies += len(chosen)
            copy = Batch(lane.edge, task, batch.source, pick_rows(batch.rows, pick), pick_rows(batch.roots, pick), ids, parts)
            if lane.observed:
                self._offer_picked(lane, pick, copy)
            else:
                self._offer(lane, copy)

    def _stuck(self, port: Port, deliveries: list[Delivery], rows: list[Row]) -> dict[int, WireError]:
        """The rows that cannot travel to a worker to which they go, by position."""
        found: dict[int, WireError] = {}
        for lane, task, pick in deliveries:
            if self.is_elsewhere(lane.targets[task]) and (errors := self.tried(port, pick_rows(rows, pick))):
                positions = _positions(pick, len(rows))
                found |= {positions[i]: error for i, error in errors.items()}
        return found

    def tried(self, port: Port, rows: list[Row]) -> dict[int, WireError]:
        """Why some of the rows could not travel, wherever they are going to, by position; nothing where none can leave this worker."""
        if self.trial is None or not self.has_receivers_elsewhere(port):
            return {}
        return self.trial.errors(rows, port.component, port.stream, port.fields)

    def has_receivers_elsewhere(self, port: Port) -> bool:
        """Whether what the stream carries may have to travel."""
        return any(lane.leaves for lane in port.lanes)

    def is_elsewhere(self, target: Target) -> bool:
        """Whether what is sent to it has to travel."""
        return not target.here

    def _ids_for(
        self, chosen: list[int], left: list[int], owed: list[int], owed_links: list[Links | None] | None
    ) -> tuple[list[int], list[Links | None] | None]:
        """Ids for one copy of the chosen rows; the last copy of a row gets what its other copies leave over."""
        fresh = self._ids.edges(len(chosen))
        ids: list[int] = []
        parts: list[Links | None] = []
        for i, new in zip(chosen, fresh, strict=True):
            left[i] -= 1
            links = owed_links[i] if owed_links is not None else None
            if not left[i]:
                ids.append(owed[i])
                parts.append(links)
                continue
            ids.append(new)
            owed[i] ^= new
            if links is not None and owed_links is not None:
                part, owed_links[i] = split_links(links, 2, self._ids)
                parts.append(part)
            else:
                parts.append(None)
        return ids, None if owed_links is None else parts

    def _offer_picked(self, lane: Lane, pick: Pick, batch: Batch) -> None:
        """Offer the rows that were picked, with each payload behind the row that carries it."""
        if not isinstance(pick, Carrying):
            self._offer(lane, batch)
            return
        start = 0
        for end, position in enumerate(pick, 1):
            payload = pick.payloads.get(position)
            if payload is not None:
                self._offer(lane, batch.part(start, end))
                self._offer(lane, Payload(lane.edge, batch.task, self.source, payload))
                start = end
        if start < len(pick):
            self._offer(lane, batch.part(start, len(pick)))

    def _offer(self, lane: Lane, batch: Batch) -> None:
        target = lane.targets[batch.task]
        rest: Batch | None = batch
        # nothing may pass what is parked for the same target
        if not self.parked or all(other.targets[held.task] is not target for other, held in self.parked):
            rest = target.send(batch)
        if rest is not None and lane.shared:
            rest = self._offer_round(lane, rest, {id(target)})
        if rest is not None:
            self.parked.append((lane, rest))
            # at all that could take it: whichever has room first wakes this executor
            for full in lane.open if lane.shared else (target,):
                full.wait(self._wake)

    def _offer_round(self, lane: Lane, batch: Batch, full: set[int]) -> Batch | None:
        """Send to whoever has room, but for those that are `full`, and note who is; returns the rest, or None.

        What cannot travel waits for this worker's own, if it has one.
        """
        rest: Batch | None = batch
        for target in lane.open:
            if rest is not None and id(target) not in full and not self._stays(lane, rest, target):
                rest.task = target.task
                rest = target.send(rest)
                if rest is not None:
                    full.add(id(target))
        return rest

    def _stays(self, lane: Lane, batch: Batch, target: Target) -> bool:
        """Whether some row that would go there now cannot, and may wait for this worker's own queue. What has no room is not tried."""
        if target.here or self.trial is None or (room := target.room()) <= 0 or not any(other.here for other in lane.open):
            return False
        return bool(self.trial.errors(batch.rows[:room]))

    def unpark(self) -> bool:
        """Send what has credit now, in order for each target; True when nothing is held back any more."""
        held, self.parked = self.parked, deque()
        stuck: set[int] = set()
        for lane, batch in held:
            target = lane.targets[batch.task]
            if lane.shared:
                rest = self._offer_round(lane, batch, stuck)
                if rest is not None:
                    for other in lane.open:
                        other.wait(self._wake)
                    self.parked.append((lane, rest))
                continue
            rest = batch if id(target) in stuck else target.send(batch)
            if rest is not None:
                if id(target) not in stuck:
                    stuck.add(id(target))
                    target.wait(self._wake)
                self.parked.append((lane, rest))
        return not self.parked

    def refresh(self, views: Callable[[str], TargetView], serves: Callable[[Target], bool]) -> None:
        """A new activation table: groupings see it at once, and what is parked for a replica that was put out is routed anew.

        `views` gives the receivers of a component, `serves` says whether a target may still be sent to.

        Raises:
            BaseException: what a grouping of the user's raised when it was prepared, after everything else is done; it is
                prepared again before it has to choose.
        """
        raised: BaseException | None = None
        for port in self.ports.values():
            for lane in port.lanes:
                view = views(lane.targets[0].component)
                lane.leaves = len(view.local) < len(view.active)
                if lane.shared:
                    lane.open = [lane.targets[index] for index in view.active]
                else:
                    lane.open = lane.targets if lane.by_task else [target for target in lane.targets if serves(target)]
                try:
                    lane.splitter.refresh(view)
                except Interrupt:
                    raise
                except BaseException as error:  # noqa: BLE001 - the others must know the table all the same
                    raised = error
        self._offer_anew()
        if raised is not None:
            raise raised

    def _offer_anew(self) -> None:
        held, self.parked = self.parked, deque()
        for lane, batch in held:
            if not lane.shared and lane.targets[batch.task] in lane.open:
                self._offer(lane, batch)
                continue
            if batch.rows:  # else it is a payload for one who does not take it any more
                self._choose_anew(lane, batch)

    def _choose_anew(self, lane: Lane, batch: Batch) -> None:
        """Copies of rows whose receiver is none any more: each goes to one other, the first that the splitter names for it now."""
        count = len(batch.rows)
        try:
            parts = lane.splitter.split(batch.rows)
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a grouping of the user's: costs the tuples that it concerns
            if count == 1:
                self.fail(batch, error)
            else:
                for i in range(count):
                    self._choose_anew(lane, batch.part(i, i + 1))
            return
        left = {i: i for i in range(count)}
        for task, pick in parts:
            chosen = pick if lane.splitter.fan == 1 else _kept(pick, count, left)
            for i in _positions(chosen, count):
                left.pop(i, None)
            if chosen is None or isinstance(chosen, slice) or chosen:
                self._offer_picked(lane, chosen, batch.select(chosen).to(lane.edge, task))


def _kept(pick: Pick, size: int, places: Mapping[int, int]) -> list[int]:
    """What was picked of the rows that have a place, at their places, with the payloads of those."""
    kept = [i for i in _positions(pick, size) if i in places]
    if not isinstance(pick, Carrying):
        return [places[i] for i in kept]
    return Carrying([places[i] for i in kept], {places[i]: pick.payloads[i] for i in kept if i in pick.payloads})


def _positions(pick: Pick, size: int) -> list[int]:
    if pick is None:
        return list(range(size))
    return list(range(*pick.indices(size))) if isinstance(pick, slice) else pick
