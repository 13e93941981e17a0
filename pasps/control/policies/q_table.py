"""At which input a bolt gets more or fewer replicas: the table that a simulation learns and `rlearning` acts by, and its file. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from pasps.control.json_record import record_in
from pasps.control.situation import Situation, TopologyShape
from pasps.errors import InvalidError

SCHEMA = "pasps.rlearning/1"
BUCKETS = 12
"""Equal ones, up to the peak that it was trained with; what is above it is as the last."""
WINDOW_SECONDS = 30
"""Of the mean rate that it looks at."""
STEPS: Mapping[str, int] = {"-": -1, "=": 0, "+": 1}
"""One replica less, as it is, one more."""


@dataclass(frozen=True, slots=True)
class BoltTable:
    """Of one bolt: for each bucket of its input rate a letter for each number of replicas, from one to its pool."""

    pool: int
    peak: float
    actions: tuple[str, ...]

    def bucket(self, rate: float) -> int:
        """Which one a rate is in, from 0."""
        return bucket_of(rate, self.peak)

    def step(self, rate: float, replicas: int) -> int:
        """What is to be done with so many at that rate."""
        return STEPS[self.actions[self.bucket(rate)][min(max(1, replicas), self.pool) - 1]]


@dataclass(frozen=True, slots=True)
class QTable:
    """The artefact: for which topology, by what it was learned, and what. `events` in `seconds`: the trace."""

    topology: str
    bolts: Mapping[str, BoltTable]
    passes: int
    seed: int
    interval_seconds: float
    events: int = 0
    seconds: float = 0.0
    schema: str = SCHEMA


def bucket_of(rate: float, peak: float) -> int:
    """Of `BUCKETS` up to the peak the one that the rate is in."""
    return min(BUCKETS - 1, int(BUCKETS * rate / peak)) if peak > 0 else 0


def rates_of(situation: Situation) -> dict[str, float] | None:
    """Events a second that became due for each bolt in the last `WINDOW_SECONDS`; None before there was a second.

    What a bolt receives says less: under backpressure no more reaches it than it takes.
    """
    seconds = situation.history[-WINDOW_SECONDS:]
    long = sum(second.seconds for second in seconds)
    if long <= 0:
        return None
    rate = sum(second.due for second in seconds) / long
    return {bolt.id: rate * situation.estimates.share[bolt.id] for bolt in situation.shape.bolts}


def written(table: QTable) -> str:
    """As its file has it."""
    return msgspec.json.format(msgspec.json.encode(table).decode(), indent=1) + "\n"


@lru_cache(maxsize=8)
def read(text: str) -> QTable:
    """The table in a file's text.

    Raises:
        InvalidError: it is none.
    """
    table = record_in(text, QTable, "table of rlearning", SCHEMA)
    for name, bolt in table.bolts.items():
        letters = len(bolt.actions) == BUCKETS and all(len(row) == bolt.pool and set(row) <= STEPS.keys() for row in bolt.actions)
        if bolt.pool < 1 or not bolt.peak >= 0 or not letters:
            raise InvalidError(
                f"table of rlearning: of bolt {name!r} expected {BUCKETS} rows with a letter of '{''.join(STEPS)}' for each of its replicas"
            )
    return table


def check_shape(table: QTable, shape: TopologyShape) -> None:
    """Whether it was learned for such a topology.

    Raises:
        InvalidError: it has other bolts, or other pools.
    """
    bolts: Sequence[str] = [bolt.id for bolt in shape.bolts]
    if set(bolts) != table.bolts.keys():
        trained = f"{', '.join(table.bolts)} of topology {table.topology!r}"
        raise InvalidError(f"it was trained for bolts {trained}, and this one has {', '.join(bolts)}")
    for bolt in shape.bolts:
        if table.bolts[bolt.id].pool != bolt.pool:
            raise InvalidError(f"it was trained for a pool of {table.bolts[bolt.id].pool} of bolt {bolt.id!r}, which has {bolt.pool} here")
