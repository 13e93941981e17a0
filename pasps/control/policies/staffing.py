"""How many replicas are cheapest for a load, when waiting and replicas have prices. Pure.

Events that come at random and take times that vary wait before c replicas as before a bank's counters (Erlang's C formula): so many
wait in the mean, at the load rho (the replicas that would be busy without a pause). One replica more is worth it as long as those that
then wait no more cost more than it does. At which load that is depends on the two prices' ratio alone.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

_HALVINGS = 40
_MOST = 4096
"""Replicas that a table goes up to; for more a replica for each part of the load that the last one takes."""


def waiting(replicas: int, load: float) -> float:
    """Events that wait in the mean; infinitely many where the load is not carried."""
    if load >= replicas:
        return float("inf")
    blocked = 1.0
    for count in range(1, replicas + 1):  # Erlang's B, one server after the other
        blocked = load * blocked / (count + load * blocked)
    busy = blocked / (1.0 - load / replicas * (1.0 - blocked))
    return busy * load / (replicas - load)


@lru_cache(maxsize=64)
def _highest_loads(price_ratio: float, replicas: int) -> tuple[float, ...]:
    """For 1, 2, ... replicas the highest load at which so many are cheapest; `price_ratio`: of a second's waiting to a replica's second."""
    found: list[float] = []
    for count in range(1, replicas + 1):
        low, high = (found[-1] if found else 0.0), float(count)
        for _ in range(_HALVINGS):
            load = (low + high) / 2
            gain = waiting(count, load) - waiting(count + 1, load)
            low, high = (low, load) if gain * price_ratio > 1.0 else (load, high)
        found.append(low)
    return tuple(found)


def cheapest(load: float, price_ratio: float, pool: int) -> float:
    """Replicas for a load: rounded up it is the cheapest number, and in between it grows with the load, so that needs can be added."""
    loads = _highest_loads(price_ratio, min(pool, _MOST))
    place = bisect_left(loads, load)
    if place == len(loads):
        return load * len(loads) / loads[-1]
    below = loads[place - 1] if place else 0.0
    return place + (load - below) / (loads[place] - below)
