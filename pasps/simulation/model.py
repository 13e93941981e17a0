"""The model: a discrete-event simulation of a topology's graph. Pure, on a clock of its own; docs/simulation.md says what it leaves out.

An event of the simulation is a call of a bolt (or, where replicas share a worker's loop, a turn there). With `Detail.grain` > 1 several
tuples travel as one parcel, and replicas that share a queue are one server that is as fast as all of them: docs/decisions/0030.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import accumulate
from math import ceil, exp, log, sqrt
from random import Random
from typing import Any

from pasps.activation import ActivationTable
from pasps.api.blueprint import Edge
from pasps.api.groupings import Kind
from pasps.api.splitting import Carrying, Observer, Pick, Splitter, TargetView
from pasps.errors import GroupingError
from pasps.groupings.load import LoadTable
from pasps.groupings.registry import make_observer, make_splitter
from pasps.groupings.shuffle import ShuffleSplitter
from pasps.metrics import ComponentStats, EdgeStats, Histogram, Latency, ReplicaStats, Stats
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.graph import Graph, GraphBolt

LEAST_LENT_SECONDS = 0.002
"""See `runtime.loads`: a queue with less work than this gives nothing away."""
PRESSED_SECONDS, CALM_SECONDS = 0.1, 0.25
"""See `runtime.loads`: when a queue that grows is told to the controller, and how soon again."""
_CHUNK_SECONDS = 0.001
"""See `runtime.meters`: a turn of a bolt that computes takes about so many tuples."""
_REPORTS_WHOLE = 1.0


@dataclass(frozen=True, slots=True)
class Machinery:
    """What the runtime itself takes, in seconds, as measured on two cores (benchmarks/simulation.py).

    `spout`: from when an event is due until its spout wakes, in the mean; it may be twice as long.
    `hop`: from one call's end to the next one's begin, in a worker. `between`: more, to another worker.
    `turn` and `tuple_cpu`: CPU of a worker's loop for a turn of a bolt, and for a tuple.
    `activation`: from a decision until all workers route by it.
    `ask`: until a dry queue has what it asked another worker for. `move`: until a keyed task that changes worker goes on.
    `restart`: from the end of all workers until they are up again, and their spouts emit.
    """

    spout: float = 0.0005
    hop: float = 0.0001
    between: float = 0.0004
    turn: float = 15e-6
    tuple_cpu: float = 40e-6
    activation: float = 0.01
    ask: float = 0.002
    move: float = 0.02
    restart: float = 0.3


class _Root:
    """An event of the input, or several: open while tuples of it are under way. `kind` is the number of its class."""

    __slots__ = ("due", "kind", "open", "spout", "weight")

    def __init__(self, due: float, weight: int, spout: str, kind: int) -> None:
        self.due = due
        self.weight = weight
        self.spout = spout
        self.kind = kind
        self.open = 0


_Out = tuple["_Bolt", float, Kind, bool, int]
"""An edge seen from its source: who gets it, tuples for one event, the grouping and whether it is keyed, the edge's index there."""
Bundle = tuple[_Root, int, int, int]
"""Tuples of one root: their number, the edge's index at the receiver, and the task or -1."""


class _Replica:
    __slots__ = ("active", "busy", "executed", "index", "seconds", "station", "told")

    def __init__(self, index: int) -> None:
        self.index = index
        self.active = False
        self.busy = 0
        self.executed = 0
        self.seconds = 0.0
        self.told: ReplicaStats | None = None
        self.station: _Station


class _Worker:
    """A process: bolts that run inline take turns on its one loop."""

    __slots__ = ("cpu", "id", "lively", "number", "running", "turn", "until")

    def __init__(self, id: str, number: int) -> None:
        self.id = id
        self.number = number
        self.running = False
        self.cpu = 0.0
        self.until = 0.0
        self.lively: list[_Station] = []  # stations of bolts that run inline here
        self.turn = 0


class _Watch:
    """The observer of an edge at a station, and the payloads that are on the way to it, each behind so many tuples of the edge."""

    __slots__ = ("_carried", "_done", "_failed", "_observer", "_sent")

    def __init__(self, observer: Observer, failed: Callable[[Exception], GroupingError]) -> None:
        self._observer = observer
        self._failed = failed
        self._sent = self._done = 0
        self._carried: deque[tuple[int, int, bytes]] = deque()

    def sent(self, count: int, pick: Pick, sender: int) -> None:
        """So many tuples were sent, some of them with payloads."""
        if isinstance(pick, Carrying):
            places = ((place, pick.payloads.get(position)) for place, position in enumerate(pick, 1))
            self._carried.extend((self._sent + place, sender, payload) for place, payload in places if payload is not None)
        self._sent += count

    def executed(self, row: tuple[int, ...], count: int, seconds: float) -> None:
        """So many were executed."""
        try:
            for _ in range(count):
                self._observer.executed(row, seconds)
                self._done += 1
                while self._carried and self._carried[0][0] <= self._done:
                    _, sender, payload = self._carried.popleft()
                    self._observer.heard(sender, payload)
        except Exception as error:  # somebody else's code
            raise self._failed(error) from error


class _Station:
    """A queue and who takes from it: all replicas of a bolt in a worker, or one replica. `watches` are by edge."""

    __slots__ = (
        "ahead", "asked", "bolt", "calm_until", "free", "index", "last", "queue", "replicas", "set", "slots", "told", "until", "waiting",
        "watches", "worker", "working",
    )  # fmt: skip

    def __init__(self, bolt: _Bolt, worker: _Worker, index: int) -> None:
        self.bolt, self.worker, self.index = bolt, worker, index
        self.queue: deque[Bundle] = deque()
        self.waiting = 0
        self.replicas: list[_Replica] = []
        self.working: list[_Replica] = []  # those that are active
        self.free: deque[_Replica] = deque()
        self.slots = 0
        self.until = 0.0  # of parcels: when the one server is done with what it has taken
        self.last = (0.0, 0, 0.0)  # of parcels: when the last one was taken, its events, and their work
        self.set = False  # whether it is to look again then
        self.asked = False  # another worker's queue for some
        self.told = 0  # executed, by the last whole report
        self.watches: dict[int, _Watch] = {}
        self.ahead = 0.0  # seconds of work there at the last look of `pressed`
        self.calm_until = 0.0


class _Bolt:
    __slots__ = (
        "active",
        "arrived",
        "by_edge",
        "emitted",
        "executed",
        "full",
        "hosts",
        "id",
        "in_hand",
        "inputs",
        "key_weights",
        "limit",
        "loads",
        "observed",
        "one_queue",
        "outs",
        "plan",
        "received",
        "replicas",
        "seconds",
        "sigma",
        "slots",
        "splitters",
        "stations",
        "targets",
        "turned_off",
        "upstream",
        "waiting",
        "waits",
        "widths",
    )  # fmt: skip

    def __init__(self, plan: GraphBolt) -> None:
        self.plan, self.id, self.inputs = plan, plan.id, plan.inputs
        self.waits = plan.execution != "inline"
        self.one_queue = plan.one_queue
        self.slots = plan.concurrency if plan.execution == "async" else 1
        self.sigma = sqrt(log(1.0 + plan.varies**2)) if plan.varies else 0.0
        self.replicas = [_Replica(index) for index in range(plan.pool)]
        self.stations: dict[int, _Station] = {}  # by target index
        self.targets: list[_Station] = []  # those that may be sent to
        self.outs: list[_Out] = []
        self.upstream: list[_Bolt] = []
        self.loads: list[LoadTable] = []  # by worker
        self.splitters: dict[tuple[int, int], Splitter] = {}  # by worker and edge
        self.by_edge = [0] * len(plan.inputs)  # received
        self.arrived = [0] * len(plan.inputs)  # executed
        self.executed = self.emitted = self.received = self.waiting = self.in_hand = self.active = 0
        self.seconds = 0.0
        self.limit = 0
        self.full = False
        self.hosts: tuple[int, ...] = ()
        self.key_weights: list[float] | None = None
        self.turned_off: list[tuple[float, int]] = []  # of parcels: until when so many drain
        self.observed = [edge.grouping.observed and not edge.grouping.keyed for edge in plan.inputs]
        self.widths = [len(edge.grouping.fields) for edge in plan.inputs]

    def edge(self, place: int) -> Edge:
        """One of its inputs, as groupings know it."""
        edge = self.inputs[place]
        return Edge(place, edge.source, edge.stream, self.id, edge.grouping)

    def failed(self, place: int, role: str, error: Exception) -> GroupingError:
        """What to say of what a grouping's part raised."""
        where = f"component {self.id!r}, stream {self.inputs[place].stream!r} of {self.inputs[place].source!r}"
        said = f"{where}: in simulation the {role} of {self.inputs[place].grouping} raised {error!r}"
        return GroupingError(f"{said}; rows have nothing but key fields there, each the number of the event's class")

    def row(self, root: _Root, place: int) -> tuple[int, ...]:
        """A tuple as the grouping of that input sees it: the key fields, each of them the event's class."""
        return (root.kind,) * self.widths[place]

    def empty(self, workers: int) -> None:
        """Its replicas have ended, with all that was there; what was counted stays."""
        self.waiting = self.in_hand = 0
        self.full = False
        self.turned_off = []
        self.splitters = {}
        self.loads = [LoadTable(self.plan.pool) for _ in range(workers)]
        for replica in self.replicas:
            replica.active, replica.busy = False, 0
        for station in self.stations.values():
            station.queue.clear()
            station.free.clear()
            station.watches.clear()
            station.waiting, station.set, station.asked = 0, False, False
            station.until, station.last, station.ahead, station.calm_until = 0.0, (0.0, 0, 0.0), 0.0, 0.0


def _roots_of(what: object) -> list[_Root]:
    """Of what an event of the simulation carries: a tuple, or some, whose first is the root."""
    bundles = what if isinstance(what, list) else [what] if isinstance(what, tuple) else []
    return [bundle[0] for bundle in bundles]


@dataclass(frozen=True, slots=True)
class Detail:
    """How fine it is: at most so many parcels of events a second. `exact`: every event for itself."""

    parcels_a_second: float
    exact: bool


MOST_CALLS = 2_000_000
_COARSE = 0.2
"""Of that many calls those with parcels have so many: who is not exact anyway is to be quick."""
_LEAST_PARCELS = 1.0


def detail_for(graph: Graph, arrivals: Arrivals, most_calls: float = MOST_CALLS) -> Detail:
    """Every event for itself where the whole run then has at most `most_calls` calls of bolts; else parcels, fewer than that."""
    visits = sum(graph.visits().values())
    if arrivals.events * visits <= most_calls:
        return Detail(max(1.0, arrivals.peak_rate), exact=True)
    return Detail(max(_LEAST_PARCELS, _COARSE * most_calls / visits / max(1.0, arrivals.seconds)), exact=False)


class Model:
    """`run(until)` goes on to a time; `stats` is a snapshot as of then; `apply` is a new table, from then on. Single-threaded."""

    def __init__(
        self, graph: Graph, arrivals: Arrivals, detail: Detail, seed: int = 1, machinery: Machinery | None = None,
        skew: Mapping[str, Sequence[float]] | None = None,
    ) -> None:  # fmt: skip
        """`skew`: the shares of the tasks of keyed bolts, by bolt; without, they have the same."""
        self.graph, self.time = graph, 0.0
        self.cost = Machinery() if machinery is None else machinery
        self.latency = Histogram()
        self.due = self.emitted = self.done = 0
        self.replayed = self.lost = self.restarts = 0
        self.pending = 0
        self.held_back = 0
        self._random = Random(seed)
        # drawn apart from all else: the same events whoever chooses
        self._classes, self._class_random = list(accumulate(graph.classes)), Random(seed)
        self._exact = detail.exact
        self._spread = 1.0 / detail.parcels_a_second
        self._heap: list[tuple[float, int, Callable[..., None], Any, Any, Any]] = []
        self._number = 0
        self._workers = [_Worker(f"w{number}", number) for number in range(graph.workers)]
        self._by_id = {worker.id: worker for worker in self._workers}
        self._busy_loops = 0
        self._bolts = {plan.id: _Bolt(plan) for plan in graph.bolts}
        self._spout_outs: dict[str, list[_Out]] = {name: [] for name in graph.spouts}
        for bolt in self._bolts.values():
            bolt.loads = [LoadTable(bolt.plan.pool) for _ in self._workers]
            bolt.key_weights = list((skew or {}).get(bolt.id, ())) or None
            for place, edge in enumerate(bolt.inputs):
                out = (bolt, edge.selectivity, edge.grouping.kind, edge.grouping.keyed, place)
                if edge.source in self._bolts:
                    self._bolts[edge.source].outs.append(out)
                    bolt.upstream.append(self._bolts[edge.source])
                else:
                    self._spout_outs[edge.source].append(out)
        self._spouts = list(graph.spouts)
        self._spout_turn = 0
        self._emitted_by = dict.fromkeys(graph.spouts, 0)
        self._due_by = dict.fromkeys(graph.spouts, 0)
        self._tracked = dict.fromkeys(graph.spouts, 0)
        bounded = graph.pending is not None and graph.tracked
        self._most_pending = (graph.pending or 0) * sum(graph.spouts.values()) if bounded else None
        self._backlog: deque[_Root] = deque()
        self._full = 0
        self._parcels = arrivals.parcels(detail.parcels_a_second)
        self._came: tuple[float, int, str] = (0.0, 0, "")  # the last parcel: when, its events, the spout
        self._coming: tuple[float, int] | None = None
        self._over = self._wakes = self._asleep = self._down = False
        self.spoilt: GroupingError | None = None
        """What somebody else's grouping raised, after which it goes no further."""
        self.table = graph.table()
        self._homes = {name: [self._by_id[place] for place in self.table.components[name].places] for name in graph.spouts}
        self._place(self.table)
        self._next_arrival()
        if any(len(bolt.stations) > 1 and not (bolt.one_queue and not detail.exact) for bolt in self._bolts.values()):
            self._at(graph.report_seconds, self._report, 1, None, None)

    # ---- time

    def _at(self, time: float, act: Callable[..., None], a: Any, b: Any, c: Any) -> None:
        self._number += 1
        heappush(self._heap, (time, self._number, act, a, b, c))

    def now(self) -> float:
        """The model's time; with it, it is the clock of the splitters."""
        return self.time

    def run(self, until: float) -> None:
        """Everything up to then.

        Raises:
            GroupingError: somebody else's grouping raised; whoever asks again is told again, since what it was to do is missing.
        """
        if self.spoilt is not None:
            raise self.spoilt
        heap = self._heap
        try:
            while heap and heap[0][0] <= until:
                self.time, _, act, a, b, c = heappop(heap)
                act(a, b, c)
        except GroupingError as error:
            self.spoilt = error
            raise
        self.time = max(self.time, until)

    @property
    def over(self) -> bool:
        """Whether all events were due and are done, or lost."""
        return self._over and self.done + self.lost == self.due

    # ---- the input

    def _next_arrival(self) -> None:
        parcel = self._coming = next(self._parcels, None)
        if parcel is None:
            self._over = True
            return
        self._at(parcel[0], self._arrive, parcel[1], None, None)

    def _arrive(self, count: int, _b: None, _c: None) -> None:
        spout = self._spouts[self._spout_turn]
        self._spout_turn = (self._spout_turn + 1) % len(self._spouts)
        self.due += count
        self._due_by[spout] += count
        kind = self._class_random.choices(range(len(self._classes)), cum_weights=self._classes)[0] if self._classes else 0
        self._came = (self.time, count, spout)
        self._backlog.append(_Root(self.time, count, spout, kind))
        self._next_arrival()
        if not self._exact or not self.cost.spout:
            self._emit()
        elif not self._wakes:
            self._wakes = True
            self._at(self.time + 2 * self.cost.spout * self._random.random(), self._woken, None, None, None)

    def _woken(self, _a: None, _b: None, _c: None) -> None:
        self._wakes = False
        self._emit()

    def _emit(self) -> None:
        """What is due and finds room."""
        backlog, most = self._backlog, self._most_pending
        while backlog and not self._asleep:
            spout = backlog[0].spout
            if (most is not None and self.pending >= most) or (self._full and self._held(self._spout_outs[spout])):
                self.held_back += 1
                return
            root = backlog.popleft()
            self.pending += root.weight
            self.emitted += root.weight
            self._emitted_by[spout] += root.weight
            self._send(self._spout_outs[spout], root, root.weight, self._home_of(spout))
            if not root.open:
                self._finish(root)

    def _home_of(self, spout: str) -> _Worker:
        """The worker of the spout's task whose turn it is."""
        homes = self._homes[spout]
        return homes[self._emitted_by[spout] % len(homes)]

    def _finish(self, root: _Root) -> None:
        self.pending -= root.weight
        self.done += root.weight
        self.latency.add(self.time - root.due, root.weight)
        if self._backlog:
            self._emit()

    @staticmethod
    def _held(outs: Sequence[_Out]) -> bool:
        return any(out[0].full for out in outs)

    # ---- from a sender to queues

    def _send(self, outs: Sequence[_Out], root: _Root, events: int, worker: _Worker) -> None:
        """What comes of so many events."""
        for bolt, selectivity, kind, keyed, place in outs:
            count = events
            if selectivity != 1.0:
                exactly = events * selectivity
                count = int(exactly)
                if exactly != count:
                    count += self._random.random() < exactly - count
                if not count:
                    continue
            if keyed:
                self._send_keyed(bolt, kind, root, count, place, worker)
                continue
            targets, observed = bolt.targets, bolt.observed[place] and self._exact
            if kind is Kind.GLOBAL or (len(targets) == 1 and not observed):
                self._put(targets[0], root, count, place, -1, worker)
                continue
            if bolt.one_queue and not self._exact:  # whole: parts of parcels would be as many as events in the end
                self._put(min(targets, key=self._ahead), root, count, place, -1, worker)
                continue
            for index, picked in self._split(bolt, place, worker, [bolt.row(root, place)] * count):
                station = bolt.stations[index]
                part = count if picked is None else len(range(*picked.indices(count))) if isinstance(picked, slice) else len(picked)
                if observed:
                    self._watch(station, place).sent(part, picked, worker.number)
                self._put(station, root, part, place, -1, worker)

    def _split(self, bolt: _Bolt, place: int, worker: _Worker, rows: list[tuple[int, ...]]) -> list[tuple[int, Pick]]:
        try:
            return self._splitter(bolt, place, worker).split(rows)
        except Exception as error:  # somebody else's code: where they run live it would cost a tuple, and be told
            raise bolt.failed(place, "splitter", error) from error

    def _watch(self, station: _Station, place: int) -> _Watch:
        bolt, watch = station.bolt, station.watches.get(place)
        if watch is not None:
            return watch

        def tell(payload: bytes, sender: int | None) -> None:
            for (number, edge), splitter in bolt.splitters.items():
                heard = getattr(splitter, "heard", None)
                if edge == place and heard is not None and sender in (None, number):
                    wait = self.cost.hop if number == station.worker.number else self.cost.hop + self.cost.between
                    self._at(self.time + wait, self._heard, heard, (bolt, place, station.index), payload)

        edge = bolt.edge(place)
        observer = make_observer(edge, edge.grouping.fields, station.index, tell)
        station.watches[place] = watch = _Watch(observer, partial(bolt.failed, place, "observer"))
        return watch

    def _heard(self, heard: Callable[[int, bytes], None], told: tuple[_Bolt, int, int], payload: bytes) -> None:
        bolt, place, index = told
        try:
            heard(index, payload)
        except Exception as error:  # as above
            raise bolt.failed(place, "splitter", error) from error

    def _send_keyed(self, bolt: _Bolt, kind: Kind, root: _Root, count: int, place: int, worker: _Worker) -> None:
        pool = bolt.plan.pool
        if kind is Kind.ALL:
            parts = dict.fromkeys(range(pool), count)
        elif count == 1:
            random = self._random
            task = random.randrange(pool) if bolt.key_weights is None else random.choices(range(pool), bolt.key_weights)[0]
            parts = {task: 1}
        elif bolt.key_weights is None and count >= pool and not self._exact:
            parts = {task: (task + 1) * count // pool - task * count // pool for task in range(pool)}
        else:
            parts = {}
            for task in self._random.choices(range(pool), bolt.key_weights, k=count):
                parts[task] = parts.get(task, 0) + 1
        for task, part in parts.items():
            self._put(bolt.stations[bolt.hosts[task]], root, part, place, task, worker)

    def _splitter(self, bolt: _Bolt, place: int, worker: _Worker) -> Splitter:
        """The sender's own. It knows of its own worker's queues what is true, as `runtime.loads` has it, and of others what they report."""
        splitter = bolt.splitters.get((worker.number, place))
        if splitter is None:
            random, edge = Random(self._random.random()), bolt.edge(place)
            if bolt.observed[place] and not self._exact:  # nobody can say what each tuple of a parcel took
                splitter = ShuffleSplitter(random)
            else:
                band = self.graph.band_seconds
                splitter = make_splitter(edge, edge.grouping.fields, 0, worker.number, band, self, random)  # type: ignore[arg-type]
            splitter.refresh(self._view(bolt, worker))
            bolt.splitters[worker.number, place] = splitter
        if bolt.one_queue and bolt.inputs[place].grouping.kind is Kind.LOAD_AWARE and bolt.waits:
            loads = bolt.loads[worker.number]
            for station in bolt.targets:
                if station.worker is worker:
                    loads.finish[station.index] = self.time + self._ahead(station)
        return splitter

    def _view(self, bolt: _Bolt, worker: _Worker) -> TargetView:
        indices = tuple(sorted(station.index for station in bolt.targets))
        local = frozenset(station.index for station in bolt.targets if station.worker is worker)
        limit = self.graph.buffer

        def room(index: int) -> int:
            station = bolt.stations[index]
            return max(0, limit * max(1, station.slots // bolt.slots) - station.waiting)

        def occupancy(index: int) -> float:
            station = bolt.stations[index]
            return min(1.0, station.waiting / (limit * max(1, station.slots // bolt.slots)))

        weights = {station.index: max(1, station.slots // bolt.slots) for station in bolt.targets} if bolt.one_queue else {}
        return TargetView(indices, local, bolt.plan.pool, bolt.loads[worker.number], room, weights, occupancy)

    def _ahead(self, station: _Station) -> float:
        """Seconds until all that waits there is through, as the worker itself sees it."""
        bolt = station.bolt
        if not bolt.waits:
            return station.waiting * bolt.plan.et_seconds
        if not self._exact:
            return max(0.0, station.until - self.time) + station.waiting * bolt.plan.et_seconds / max(1, station.slots)
        in_hand = station.slots - len(station.free)
        return (station.waiting + in_hand) * bolt.plan.et_seconds / max(1, station.slots)

    def _put(self, station: _Station, root: _Root, count: int, place: int, task: int, sender: _Worker) -> None:
        bolt = station.bolt
        root.open += count
        bolt.by_edge[place] += count
        bolt.waiting += count
        station.waiting += count
        if bolt.waiting >= bolt.limit and not bolt.full:
            bolt.full = True
            self._full += 1
        station.queue.append((root, count, place, task))
        if not bolt.waits:
            if station.worker is sender or not self._exact:
                self._run_loop(station.worker)
            else:
                self._at(self.time + self.cost.hop + self.cost.between, self._wake, station, None, None)
        elif self._exact:
            if station.free:
                self._start(station, self.cost.hop if station.worker is sender else self.cost.hop + self.cost.between)
        elif not station.set:
            self._serve(station, None, None)

    # ---- replicas that wait: each event for itself

    def _start(self, station: _Station, delay: float) -> None:
        """Whoever is free takes what waits; who was idle begins a hop later."""
        bolt, queue, free = station.bolt, station.queue, station.free
        if self._full and bolt.outs and self._held(bolt.outs):
            return
        while queue and free:
            root, count, place, task = queue[0]
            if count == 1:
                queue.popleft()
            else:
                queue[0] = (root, count - 1, place, task)
            replica = free.popleft()
            replica.busy += 1
            self._took(station, 1)
            seconds = self._draw(bolt, root)
            self._at(self.time + delay + seconds, self._called, replica, (root, place), seconds)

    def _called(self, replica: _Replica, what: tuple[_Root, int], seconds: float) -> None:
        """A call is over."""
        root, place = what
        station = replica.station
        bolt = station.bolt
        replica.busy -= 1
        replica.executed += 1
        replica.seconds += seconds
        bolt.in_hand -= 1
        bolt.executed += 1
        bolt.seconds += seconds
        bolt.arrived[place] += 1
        station.worker.cpu += self.cost.tuple_cpu
        if (watch := station.watches.get(place)) is not None:
            watch.executed(bolt.row(root, place), 1, seconds)
        if replica.active:
            station.free.append(replica)
        elif not station.slots and station.queue and replica.busy < bolt.slots:
            # nobody is active here any more: those that drain take what is left
            station.free.append(replica)
        if bolt.outs:
            self._send(bolt.outs, root, 1, station.worker)
        root.open -= 1
        if not root.open:
            self._finish(root)
        if station.queue:
            self._start(station, 0.0)
        elif station.free and bolt.one_queue and len(bolt.stations) > 1:
            self._dry(station)

    def _draw(self, bolt: _Bolt, root: _Root) -> float:
        mean = bolt.plan.et_by_class[root.kind] if bolt.plan.et_by_class else bolt.plan.et_seconds
        return mean * exp(self._random.gauss(0.0, bolt.sigma) - bolt.sigma**2 / 2) if bolt.sigma else mean

    def _took(self, station: _Station, count: int) -> None:
        bolt = station.bolt
        station.waiting -= count
        bolt.waiting -= count
        bolt.in_hand += count
        if bolt.full and bolt.waiting < bolt.limit:
            bolt.full = False
            self._full -= 1
            self._has_room(bolt)

    def _has_room(self, bolt: _Bolt) -> None:
        """Whoever was held back because it had none goes on."""
        for before in bolt.upstream:
            for waiting in before.stations.values():
                if waiting.queue:
                    self._at(self.time, self._wake, waiting, None, None)
        if self._backlog:
            self._at(self.time, self._emit_later, None, None, None)

    def _wake(self, station: _Station, _b: None, _c: None) -> None:
        if not station.bolt.waits:
            self._run_loop(station.worker)
        elif self._exact:
            self._start(station, 0.0)
        elif not station.set:
            self._serve(station, None, None)

    def _emit_later(self, _a: None, _b: None, _c: None) -> None:
        self._emit()

    # ---- replicas that wait: parcels, and one server as fast as all

    def _serve(self, station: _Station, _b: None, _c: None) -> None:
        """Take what the server has time for. A parcel stands for tuples around its moment: it is begun half of its work earlier."""
        station.set = False
        bolt, queue, now = station.bolt, station.queue, self.time
        each = bolt.plan.et_seconds
        slots = station.slots or sum(replica.busy for replica in station.replicas) or 1
        while queue:
            if self._full and bolt.outs and self._held(bolt.outs):
                return
            root, count, place, _ = queue[0]
            work = count * each / slots
            begin = max(now - work / 2, station.until)
            if begin > now:
                station.set = True
                self._at(begin, self._serve, station, None, None)
                return
            queue.popleft()
            self._took(station, count)
            station.until = begin + work
            station.last = (now, count, work)
            varied = each if not bolt.sigma else each * max(0.1, self._random.gauss(1.0, bolt.plan.varies / sqrt(count)))
            self._at(max(now, begin + work / 2 + varied + self.cost.hop), self._served, station, (root, place, count), varied)
        if bolt.one_queue and len(bolt.stations) > 1:
            self._dry(station)

    def _served(self, station: _Station, what: tuple[_Root, int, int], each: float) -> None:
        root, place, count = what
        bolt = station.bolt
        bolt.in_hand -= count
        self._count(station, place, count, each * count)
        station.worker.cpu += self.cost.tuple_cpu * count
        if bolt.outs:
            self._send(bolt.outs, root, count, station.worker)
        root.open -= count
        if not root.open:
            self._finish(root)

    def _count(self, station: _Station, place: int, count: int, seconds: float) -> None:
        """Executed: by one replica after the other."""
        bolt = station.bolt
        bolt.executed += count
        bolt.seconds += seconds
        bolt.arrived[place] += count
        working = station.working or station.replicas
        replica = working[bolt.executed % len(working)]
        replica.executed += count
        replica.seconds += seconds

    # ---- bolts that compute: turns on their worker's loop

    def _run_loop(self, worker: _Worker) -> None:
        if not worker.running:
            self._turn(worker)

    def _turn(self, worker: _Worker) -> None:
        """The next bolt's turn: about a millisecond of it, or one tuple."""
        if not self._exact:
            self._parcel_turns(worker)
            return
        station = self._next_lively(worker)
        if station is None:
            return
        bolt, queue = station.bolt, station.queue
        worker.running = True
        self._busy_loops += 1
        each = self._draw(bolt, queue[0][0])
        most = 1 if bolt.plan.et_by_class else max(1, int(_CHUNK_SECONDS / each))
        taken, count = list[Bundle](), 0
        while queue and count < most:
            root, size, place, task = queue[0]
            part = min(size, most - count)
            if part == size:
                queue.popleft()
            else:
                queue[0] = (root, size - part, place, task)
            taken.append((root, part, place, task))
            count += part
        self._took(station, count)
        cpu = count * (each + self.cost.tuple_cpu) + self.cost.turn
        # loops share the cores: as many as are busy now, for as long as this turn lasts
        slow = max(1.0, self._busy_loops / self.graph.cores)
        worker.cpu += cpu
        self._at(self.time + cpu * slow, self._turned, station, taken, count * each)

    def _parcel_turns(self, worker: _Worker) -> None:
        """Parcels stand for tuples that come one by one, of which each is done at once while the loop has time for all of them.

        The loop has no time when it has more to do than in the time between two parcels: then the next one waits.
        """
        while True:
            turn, station = worker.turn, self._next_lively(worker)
            if station is None:
                return
            free = worker.until - self._spread
            if free > self.time:
                worker.turn = turn  # it is still its turn then
                worker.running = True
                self._at(free, self._freed, worker, None, None)
                return
            root, count, place, task = station.queue.popleft()
            self._took(station, count)
            each = station.bolt.plan.et_seconds
            busy = sum(other.until > self.time for other in self._workers if other is not worker) + 1
            slow = max(1.0, busy / self.graph.cores)
            cpu = count * (each + self.cost.tuple_cpu) + self.cost.turn
            worker.cpu += cpu
            worker.until = max(worker.until, self.time) + cpu * slow
            self._at(self.time + (each + self.cost.tuple_cpu) * slow, self._turned, station, [(root, count, place, task)], count * each)

    def _next_lively(self, worker: _Worker) -> _Station | None:
        """Whose turn it is of those that have something to do, and room for what comes of it."""
        lively = worker.lively
        for step in range(len(lively)):
            place = (worker.turn + step) % len(lively)
            outs = lively[place].bolt.outs
            if lively[place].queue and not (self._full and outs and self._held(outs)):
                worker.turn = (place + 1) % len(lively)
                return lively[place]
        return None

    def _freed(self, worker: _Worker, _b: None, _c: None) -> None:
        worker.running = False
        self._turn(worker)

    def _turned(self, station: _Station, taken: list[Bundle], seconds: float) -> None:
        worker, bolt = station.worker, station.bolt
        count = sum(part for _, part, _, _ in taken)
        bolt.in_hand -= count
        for root, part, place, _ in taken:
            self._count(station, place, part, seconds * part / count)
            if (watch := station.watches.get(place)) is not None:
                watch.executed(bolt.row(root, place), part, seconds / count)
            if bolt.outs:
                self._send(bolt.outs, root, part, worker)
            root.open -= part
            if not root.open:
                self._finish(root)
        if not self._exact:
            return
        self._busy_loops -= 1
        worker.running = False
        if not station.queue and bolt.one_queue and len(bolt.stations) > 1:
            self._dry(station)
        self._run_loop(worker)

    # ---- what workers tell each other

    def _report(self, number: int, _b: None, _c: None) -> None:
        """Load reports, and dry queues look again."""
        whole = number % max(1, round(_REPORTS_WHOLE / self.graph.report_seconds)) == 0
        for bolt in self._bolts.values():
            if len(bolt.targets) < 2:
                continue
            each = bolt.seconds / bolt.executed if bolt.executed else 0.0
            for station in bolt.targets:
                done = None
                if whole:
                    total = sum(replica.executed for replica in station.replicas)
                    done, station.told = total - station.told, total
                if each:
                    at_a_time = max(1, station.slots // bolt.slots) if bolt.waits else 1
                    waiting = station.waiting * each / at_a_time
                    if bolt.waits:
                        waiting = self._ahead(station)
                    for loads in bolt.loads:
                        loads.report(station.index, waiting, each, done, self.time)
            if bolt.one_queue:
                for station in bolt.targets:
                    if not station.waiting:
                        self._dry(station)
        self._at(self.time + self.graph.report_seconds, self._report, number + 1, None, None)

    def _dry(self, station: _Station) -> None:
        """Nothing waits here: ask the queue that has the most, by what was reported."""
        if station.asked or not station.slots:
            return
        loads = station.bolt.loads[station.worker.number]
        least, found = self.time + LEAST_LENT_SECONDS, None
        for other in station.bolt.targets:
            if other is not station and other.waiting and loads.finish[other.index] > least:
                least, found = loads.finish[other.index], other
        if found is not None:
            station.asked = True
            self._at(self.time + self.cost.ask, self._lend, station, found, None)

    def _lend(self, station: _Station, other: _Station, _c: None) -> None:
        """The other gives its share of what waits there; rounded up, since who asks has nothing to do."""
        station.asked = False
        bolt = station.bolt
        each = bolt.plan.et_seconds
        if other.waiting * each < LEAST_LENT_SECONDS or not station.slots:
            return
        mine, theirs = (station.slots, other.slots) if bolt.waits else (min(1, station.slots), min(1, other.slots))
        share = ceil(other.waiting * mine / (mine + theirs)) if theirs else other.waiting
        moved = list[Bundle]()
        while share > 0 and other.queue:
            root, count, place, task = other.queue.popleft()
            part = min(count, share)
            if part < count:
                other.queue.appendleft((root, count - part, place, task))
            moved.append((root, part, place, task))
            share -= part
            other.waiting -= part
            station.waiting += part
        station.queue.extend(moved)
        self._wake(station, None, None)

    def pressed(self) -> bool:
        """Whether some worker says now that a bolt's queue grows, as `runtime.loads` does it; asked once a report."""
        found = False
        for bolt in self._bolts.values():
            for station in bolt.stations.values():
                ahead = self._ahead(station) if station.waiting else 0.0
                if ahead > max(PRESSED_SECONDS, station.ahead) and self.time >= station.calm_until:
                    station.calm_until = self.time + CALM_SECONDS
                    found = True
                station.ahead = ahead
        return found

    # ---- tables

    def apply(self, table: ActivationTable) -> None:
        """Every worker routes by it, from now on."""
        before, self.table = self.table, table
        changed = [name for name in self._bolts if before.components[name] != table.components[name]]
        self._place(table, changed)
        for name in changed:
            bolt = self._bolts[name]
            self._rehost(bolt)
            for station in list(bolt.stations.values()):
                if station.queue:
                    self._wake(station, None, None)
                elif bolt.one_queue and len(bolt.targets) > 1:
                    self._dry(station)

    def _place(self, table: ActivationTable, changed: Sequence[str] | None = None) -> None:
        for name in self._bolts if changed is None else changed:
            bolt, routing = self._bolts[name], table.components[name]
            active, bolt.active = set(routing.active), len(routing.active)
            bolt.hosts = routing.hosts or ()
            for replica, place in zip(bolt.replicas, routing.places, strict=True):
                # of parcels a queue that gives others what they lack is one with theirs
                index = replica.index if not bolt.one_queue else 0 if bolt.waits and not self._exact else routing.places.index(place)
                station = bolt.stations.get(index)
                if station is None:
                    station = bolt.stations[index] = _Station(bolt, self._by_id[place], index)
                    if not bolt.waits:
                        station.worker.lively.append(station)
                if changed is None:
                    replica.station = station
                    station.replicas.append(replica)
            drained = 0
            for replica in bolt.replicas:
                now = replica.index in active
                drained += replica.active and not now
                replica.active = now
            if drained and bolt.waits and not self._exact:
                bolt.turned_off.append((self.time + bolt.plan.et_seconds, drained))
            bolt.targets = []
            for station in bolt.stations.values():
                working = station.working = [replica for replica in station.replicas if replica.active]
                station.slots = len(working) * bolt.slots
                left = working or ([replica for replica in station.replicas if replica.busy] if station.queue else [])
                if station.queue and not left:
                    left = station.replicas[:1]  # what waits is drained by who was there
                station.free = deque(replica for replica in left for _ in range(bolt.slots - replica.busy))
                if working:
                    bolt.targets.append(station)
            bolt.limit = self.graph.buffer * len(routing.active)
            full, was_full = bolt.waiting >= bolt.limit, bolt.full
            self._full += full - was_full
            bolt.full = full
            if was_full and not full:
                self._has_room(bolt)
            for (number, _), splitter in bolt.splitters.items():
                splitter.refresh(self._view(bolt, self._workers[number]))

    def _rehost(self, bolt: _Bolt) -> None:
        """What waits for a keyed task goes where the task is now; from another worker it takes a while."""
        if not bolt.hosts:
            return
        for station in list(bolt.stations.values()):
            away = [bundle for bundle in station.queue if bolt.stations[bolt.hosts[bundle[3]]] is not station]
            if not away:
                continue
            station.queue = deque(bundle for bundle in station.queue if bolt.stations[bolt.hosts[bundle[3]]] is station)
            for bundle in away:
                target = bolt.stations[bolt.hosts[bundle[3]]]
                station.waiting -= bundle[1]
                self._at(self.time + (0.0 if target.worker is station.worker else self.cost.move), self._moved, target, bundle, None)

    def _moved(self, station: _Station, bundle: Bundle, _c: None) -> None:
        target = station.bolt.stations[station.bolt.hosts[bundle[3]]]
        target.waiting += bundle[1]
        target.queue.append(bundle)
        self._wake(target, None, None)

    # ---- restarts

    def sleep(self) -> None:
        """The spouts are silent from now on, and everything else goes on."""
        self._asleep = True

    def end_workers(self) -> tuple[int, int]:
        """All workers end, and what is on its way goes with them: events that are tracked wait at their spouts again, others are lost.

        Returns how many events come again, and how many tuples were on their way.
        """
        goes_on = (self._arrive, self._woken, self._report)
        no_tuples = (*goes_on, self._heard)
        left = {id(root): root for entry in self._heap if entry[2] not in no_tuples for root in _roots_of(entry[4])}
        self._heap = [entry for entry in self._heap if entry[2] in goes_on]
        heapify(self._heap)
        dropped = 0
        for bolt in self._bolts.values():
            dropped += bolt.waiting + bolt.in_hand
            left |= {id(bundle[0]): bundle[0] for station in bolt.stations.values() for bundle in station.queue}
            bolt.empty(len(self._workers))
        for worker in self._workers:
            worker.running, worker.until = False, 0.0
        self._busy_loops = self._full = 0
        self._asleep = self._down = True
        self.restarts += 1
        return self._again_or_lost(sorted(left.values(), key=lambda root: root.due)), dropped

    def _again_or_lost(self, roots: Sequence[_Root]) -> int:
        """Returns how many events come again."""
        for root in roots:
            root.open = 0
            self.pending -= root.weight
            if self.graph.tracked:
                # as after the death of a worker: an event that comes again counts as emitted when it does
                self.emitted -= root.weight
                self._emitted_by[root.spout] -= root.weight
        weight = sum(root.weight for root in roots)
        if not self.graph.tracked:
            self.lost += weight
            return 0
        self._backlog.extendleft(reversed(roots))
        self.replayed += weight
        return weight

    def begin(self, table: ActivationTable) -> None:
        """Workers live by that table, and the spouts emit."""
        self.table = table
        self._place(table, list(self._bolts))
        self._asleep = self._down = False
        self._emit()

    # ---- what is seen of it

    @property
    def busy_seconds(self) -> float:
        """CPU time of all workers so far."""
        return sum(worker.cpu for worker in self._workers)

    def stats(self) -> Stats:
        """A snapshot as of now."""
        components: dict[str, ComponentStats] = {name: self._spout(name) for name in self._spouts}
        for name, bolt in self._bolts.items():
            components[name] = self._component(name, bolt)
        latency = Histogram(self.latency.buckets, self.latency.total)
        nothing = Latency(latency.count, latency.mean, 0.0, 0.0, 0.0)
        return Stats(
            components,
            nothing,
            self.emitted,
            self.replayed,
            self.done,
            0,
            self.pending,
            self.table.version,
            not self._down,
            self.time,
            self.due,
            latency,
            nothing,
        )

    def _spout(self, name: str) -> ComponentStats:
        emitted, due, tasks = self._emitted_by[name], self._due_by[name], self.graph.spouts[name]
        return ComponentStats(
            name, emitted, 0, 0, 0, 0, tasks, tasks, 0.0, 0, {}, (), due - emitted, emitted,
            due=due + self._due_of_parcel(name), knows_backlog=True, held_back=self.held_back, restarts=self.restarts * tasks,
        )  # fmt: skip

    def _due_of_parcel(self, spout: str) -> int:
        """How far what is due is off what is counted: the events of a parcel come around its moment, one by one."""
        if self._exact:
            return 0
        (before, last, its_spout), after = self._came, self._coming
        gap = self._spread if after is None else after[0] - before
        share = min(1.0, (self.time - before) / gap) if gap > 0 else 1.0
        off = -last / 2 * (1.0 - share) if spout == its_spout else 0.0
        if after is not None and spout == self._spouts[self._spout_turn]:
            off += after[1] / 2 * share
        return round(off)

    def _queued(self, bolt: _Bolt) -> int:
        """Received and not done. Of parcels not as they come, all at once, but as the events would that they stand for."""
        if self._exact or not bolt.waits:
            return bolt.waiting + bolt.in_hand
        each, found = bolt.plan.et_seconds, 0.0
        for station in bolt.stations.values():
            taken_at, count, work = station.last
            late = max(0.0, station.until - work / 2 - self.time)
            slots = max(1, station.slots)
            busy = min(slots, count * each / self._spread) if self.time - taken_at <= 2 * self._spread else 0.0
            found += station.waiting + busy + late * slots / each if each else station.waiting
        return round(found)

    def _component(self, name: str, bolt: _Bolt) -> ComponentStats:
        draining = 0
        if bolt.turned_off:
            bolt.turned_off = [(until, count) for until, count in bolt.turned_off if until > self.time]
            draining = sum(count for _, count in bolt.turned_off)
        edges = tuple(
            EdgeStats(edge.source, edge.stream, came, done)
            for edge, came, done in zip(bolt.inputs, bolt.by_edge, bolt.arrived, strict=True)
        )
        each = bolt.seconds / bolt.executed if bolt.executed else 0.0
        return ComponentStats(
            name, bolt.executed, bolt.executed, bolt.executed, 0, self._queued(bolt), bolt.active, bolt.plan.pool, each, 0,
            self._replicas(bolt, draining), edges,
        )  # fmt: skip

    def _replicas(self, bolt: _Bolt, draining: int) -> dict[int, ReplicaStats]:
        found = {}
        for replica in bolt.replicas:
            station = replica.station
            if replica.active:
                state = "ACTIVE"
            elif replica.busy or draining > 0 or (station.queue and not station.slots and not bolt.one_queue):
                state = "DRAINING"
                draining -= not replica.busy
            else:
                state = "PARKED"
            waiting = replica.busy + (0 if bolt.one_queue else station.waiting)
            done, told = replica.executed, replica.told
            if told is None or told.executed != done or told.state != state or told.queued != waiting:
                each = replica.seconds / done if done else 0.0
                told = ReplicaStats(replica.index, station.worker.id, state, done, done, done, 0, waiting, each)
                replica.told = told
            found[replica.index] = told
        return found
