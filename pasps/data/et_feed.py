"""Stand-ins for the components that feed a bolt: they emit what was decided when their own turn came, on the runtime's own way.

That way matters: a bolt that takes some microseconds costs a fifth more when nothing ran in its process just before it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.api.groupings import Kind
from pasps.api.splitting import Pick, Row, Splitter, TargetView
from pasps.api.spout import Spout
from pasps.data.et_deliveries import Arrival, Delivery
from pasps.data.et_worker import LoneWorker
from pasps.runtime.batch import Batch, Links
from pasps.runtime.emitter import Lane, Port
from pasps.runtime.spout_executor import SpoutExecutor


class _Source(Spout):
    """Emits when it is told."""

    def next_tuple(self) -> float:
        return 3600.0


def with_sources(blueprint: Blueprint, names: Sequence[str]) -> Blueprint:
    """The topology with these components as spouts that emit nothing by themselves."""
    plans = {
        name: replace(plan, shape="spout", make=_Source, inputs=(), execution="inline", concurrency=1, max_batch=1)
        if name in names
        else plan
        for name, plan in blueprint.components.items()
    }
    return replace(blueprint, components=plans)


class _Chosen:
    """A splitter that gives the task which was chosen already. The real one chooses too, because in a topology it just did."""

    fan: int | None = 1

    def __init__(self, real: Splitter | None) -> None:
        """`real` None: nobody is asked again."""
        self.task = 0
        self._real = real

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        """See `Splitter`."""
        if self._real is not None:
            self._real.split(rows)
        return [(self.task, None)]

    def refresh(self, view: TargetView) -> None:
        """See `Splitter`."""


class _Way:
    """One edge to the bolt: the spout that stands in for its source, its port, and who has chosen."""

    def __init__(self, spout: SpoutExecutor, port: Port, lane: Lane, asks: bool) -> None:
        self.spout, self.port, self.lane = spout, port, lane
        self._chosen = _Chosen(lane.splitter if asks else None)

    def send(self, delivery: Delivery, rows: list[Row]) -> None:
        """As the source did."""
        if self.lane.direct or max(delivery.roots) > 1:
            roots, links = self._lineage(delivery)
            chosen: list[tuple[Lane, int, Pick]] = [(self.lane, delivery.task, None)]
            self.spout.emitter.deliver(self.port, chosen, Batch(-1, -1, delivery.source, rows, roots, roots, links))
            return
        self._chosen.task, self.spout.emitter.source = delivery.task, delivery.source
        self.lane.splitter = self._chosen
        self.port.lanes, self.port.only = [self.lane], self.lane
        ids = [(delivery.event, index) if tracked else None for index, tracked in enumerate(delivery.roots)]
        self.spout.collector.open()  # it stands in for a call of `next_tuple`
        self.spout.collector.emit_batch(rows, ids, self.port.stream)
        self.spout.collector.close()
        self.spout.flush()

    def _lineage(self, delivery: Delivery) -> tuple[list[int] | None, list[Links | None] | None]:
        """Roots, and for a tuple of several roots all of them, pending in the ledger of the stand-in."""
        if not any(delivery.roots):
            return None, None
        fates = self.spout.fates
        ids: list[Any] = [None if count != 1 else (delivery.event, index) for index, count in enumerate(delivery.roots)]
        roots = fates.track(ids, ids.count(None))
        links: list[Links | None] = []
        for index, count in enumerate(delivery.roots):
            own = fates.track([(delivery.event, index, part) for part in range(count)], 0) if count > 1 else []
            links.append(tuple(zip(own, own, strict=True)) or None)
        return roots, links


class Feed:
    """Hands arrivals over: the same tasks, from the same tasks, tracked or not."""

    def __init__(self, worker: LoneWorker, sources: Sequence[str], arrivals: Iterable[Arrival]) -> None:
        """The rows of all `arrivals` are unpickled here, so that this does not fill the caches between two events."""
        self._rows = {id(delivery): pickle.loads(delivery.rows) for arrival in arrivals for delivery in arrival}
        self._spouts = [worker.residents.spouts[worker.blueprint.components[name].first_task] for name in sources]
        self._ways: dict[int, _Way] = {}
        for spout in self._spouts:
            for port in spout.emitter.ports.values():
                for lane in port.lanes:
                    # a grouping of the user's is not asked for the same tuples twice
                    asks = worker.blueprint.edges[lane.edge].grouping.kind not in (Kind.DIRECT, Kind.CUSTOM, Kind.REGISTERED)
                    self._ways[lane.edge] = _Way(spout, port, lane, asks)

    def give(self, arrival: Arrival) -> None:
        """All of one of the arrivals, once."""
        for delivery in arrival:
            self._ways[delivery.edge].send(delivery, self._rows.pop(id(delivery)))

    def waits(self) -> bool:
        """Whether some of what was given found no room yet."""
        return any(spout.emitter.parked for spout in self._spouts)
