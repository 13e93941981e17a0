"""Where replicas are placed when a topology starts. Pure; called by whoever starts workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pasps.activation import Routing, host_tasks


@dataclass(frozen=True, slots=True)
class Need:
    """What placement must know of a component."""

    pool: int
    par: int
    keyed: bool = False
    pinned: bool = False


def place(needs: Mapping[str, Need], workers: Sequence[str]) -> dict[str, Routing]:
    """First routing of every component: consecutive replicas on different workers, each component starting elsewhere.

    The active set is the prefix of `par` replicas, so it is spread as well as the whole pool is.
    """
    placed = {}
    for position, (name, need) in enumerate(needs.items()):
        places = tuple(workers[(position + replica) % len(workers)] for replica in range(need.pool))
        active = tuple(range(need.par))
        hosts = host_tasks(active, None, need.pool) if need.keyed else None
        placed[name] = Routing(active, places, hosts, need.pinned)
    return placed


def spread(where: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Workers in an order in which neighbours are on different hosts, and there in different parts, as far as these go: for `place`.

    `where` has each worker's host, and the parts below it.
    """
    groups: dict[str, dict[str, tuple[str, ...]]] = {}
    for worker, path in where.items():
        if not path:
            return list(where)
        groups.setdefault(path[0], {})[worker] = path[1:]
    rows = [spread(group) for group in groups.values()]
    return [row[i] for i in range(max(map(len, rows), default=0)) for row in rows if i < len(row)]
