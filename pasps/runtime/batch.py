"""The unit that is queued, routed, handed over and sent: tuples of one edge, from one task to one task."""

from __future__ import annotations

from collections.abc import Container
from operator import itemgetter
from typing import Any

from pasps.api.splitting import Pick

Row = tuple[Any, ...]
Links = tuple[tuple[int, int], ...]


class Batch:
    """Rows in order, with what the ledger must know of each.

    `roots` None: untracked. Else row i descends from spout tuple `roots[i]` (0: it is untracked) by edge id `edges[i]`;
    the two lists may be the same object. A row with several roots has root 0 and its (root, edge) pairs in `links[i]`.
    `edge` and `task` are -1 before receivers are chosen. `origin` is the worker whose credit the rows hold until they are taken
    out of an inbox.
    Lists are shared by reference between batches and never changed in place.
    """

    __slots__ = ("edge", "edges", "links", "origin", "roots", "rows", "source", "task")

    def __init__(
        self,
        edge: int,
        task: int,
        source: int,
        rows: list[Row],
        roots: list[int] | None = None,
        edges: list[int] | None = None,
        links: list[Links | None] | None = None,
        origin: str = "",
    ) -> None:
        self.edge = edge
        self.task = task
        self.source = source
        self.rows = rows
        self.roots = roots
        self.edges = edges
        self.links = links
        self.origin = origin

    def select(self, pick: Pick) -> Batch:
        """The picked rows, as a batch of their own; all of them: this one."""
        if pick is None:
            return self
        roots, edges, links = self.roots, self.edges, self.links
        some = None if roots is None else pick_rows(roots, pick)
        ids = some if edges is roots or edges is None else pick_rows(edges, pick)
        rows, parts = pick_rows(self.rows, pick), None if links is None else pick_rows(links, pick)
        return Batch(self.edge, self.task, self.source, rows, some, ids, parts, self.origin)

    def part(self, start: int, stop: int) -> Batch:
        """Rows `start` to `stop`, as a batch of their own."""
        return self.select(slice(start, stop))

    def without(self, positions: Container[int]) -> Batch:
        """All other rows, as a batch of their own."""
        return self.select([i for i in range(len(self.rows)) if i not in positions])

    def to(self, edge: int, task: int) -> Batch:
        """This batch, on its way to that task."""
        self.edge, self.task = edge, task
        return self

    def joins(self, other: Batch, any_task: bool = False) -> bool:
        """Whether the other's rows may stand behind these in one batch; `any_task`: whatever task they were sent to."""
        return (
            self.source == other.source
            and self.edge == other.edge
            and (any_task or self.task == other.task)
            and (self.roots is None) == (other.roots is None)
            and self.links is None
            and other.links is None
        )


class Payload(Batch):
    """What a sender tells the observer of a task, at its place among the batches for that: it has no rows, and takes no credit.

    `source` is the sender.
    """

    __slots__ = ("payload",)

    def __init__(self, edge: int, task: int, sender: int, payload: bytes) -> None:
        super().__init__(edge, task, sender, [])
        self.payload = payload


def join(parts: list[Batch]) -> Batch:
    """Batches of one kind as one; its origin is of no use any more, since all credit was given back."""
    first = parts[0]
    rows = [row for part in parts for row in part.rows]
    if first.roots is None:
        return Batch(first.edge, first.task, first.source, rows)
    roots = [root for part in parts for root in part.roots or ()]
    same = all(part.edges is part.roots for part in parts)
    edges = roots if same else [edge for part in parts for edge in part.edges or ()]
    return Batch(first.edge, first.task, first.source, rows, roots, edges)


def pick_rows(rows: list[Any], pick: Pick) -> list[Any]:
    """The elements that a grouping picked."""
    if pick is None:
        return rows
    if isinstance(pick, slice):
        return rows[pick]
    if len(pick) < 2:
        return [rows[i] for i in pick]
    return list(itemgetter(*pick)(rows))
