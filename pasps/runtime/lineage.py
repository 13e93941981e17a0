"""Edge ids are owned and split: whoever owns an id must see to it that the ids it hands on XOR back to it.

An input with one output hands its id on; with several, all but one get fresh ids and the last what is missing;
with none it is acked. So a synchronous step tells the ledger something only where a branch of the tree ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pasps.ids import IdSource
from pasps.runtime.batch import Links

T = TypeVar("T")


def split_edges(edges: list[int], counts: list[int], ids: IdSource) -> list[int]:
    """One id for each output, input i having `counts[i]`; the ids of an input's outputs XOR to the input's."""
    fresh = iter(ids.edges(max(0, sum(counts) - sum(map(bool, counts)))))
    out: list[int] = []
    for edge, count in zip(edges, counts, strict=True):
        for _ in range(count - 1):
            part = next(fresh)
            out.append(part)
            edge ^= part
        if count:
            out.append(edge)
    return out


def repeat_each(values: Sequence[T], counts: list[int]) -> list[T]:
    """`values[i]`, `counts[i]` times."""
    return [value for value, count in zip(values, counts, strict=True) for _ in range(count)]


def split_links(links: Links, count: int, ids: IdSource) -> list[Links]:
    """The same for a row with several roots: every root's ids XOR to what the row had for that root."""
    parts: list[Links] = []
    for fresh in ids.edges(max(0, count - 1)):
        parts.append(tuple((root, fresh) for root, _ in links))
        links = tuple((root, edge ^ fresh) for root, edge in links)
    return [*parts, links] if count else []
