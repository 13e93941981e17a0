"""What a policy decides: for each bolt its replicas, every term that led there, and what clamped it. Immutable, all JSON. Pure.

Of what there is one for each bolt there may be a thousand, each quarter of a second: those are msgspec's structs, which are made five
times as fast as a frozen dataclass; `msgspec.structs.replace` changes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct


class Clamp(StrEnum):
    """Why a bolt does not get what Eq. 2 asks for."""

    AT_POOL = "AT_POOL"
    """It asks for more than its pool."""
    UNKNOWN = "UNKNOWN"
    """Nothing was executed yet, so et_i is not known: as it is."""
    CAPPED = "CAPPED"
    """The cores, or the workers, cannot carry more; `unmet` says how much of the demand that leaves."""
    DELAYED = "DELAYED"
    """Scale-down waits: what is given back may soon be needed again."""


class Terms(Struct, frozen=True):
    """The equations of one bolt: events of the next `seconds`, and seconds of one event.

    replicas = (from_input · et / (seconds · target) + from_queues · et / drain_seconds) / concurrency: with a target of 1 and the
    same span for both, as the papers have it, that is λ̂_i · et_i / td.
    """

    share: float
    """θ_i, Eq. 5."""
    from_input: float
    """λ̂_i^r, Eq. 4."""
    from_queues: float
    """λ̂_i^q, Eq. 7."""
    total: float
    """λ̂_i, Eq. 3."""
    execution_seconds: float | None
    """et_i."""
    replicas: float | None
    """Eq. 2 before it is rounded up."""
    seconds: float
    """The span that is planned for: td, unless the policy looks less far."""
    target: float = 1.0
    """The share of its time that a replica is to be busy with what comes in."""
    drain_seconds: float | None = None
    """The time within which queues are to be gone; None: the span."""
    concurrency: int = 1
    """Events that a replica has in hand at a time."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One line of why: what it is about, what it says in the policy's own words, and the equation it is by, if any."""

    label: str
    text: str
    equation: str = ""


class BoltPlan(Struct, frozen=True):
    """One bolt: `asked` is Eq. 2 rounded up, `allowed` what pool and cores leave of it, `replicas` what it gets.

    `unmet`: events of the span that cannot be carried. `reasons` say how a policy came to it that does not go by `terms`, or what it
    does besides; `pasps explain` prints them as they are.
    """

    active: int
    asked: int
    allowed: int
    replicas: int
    terms: Terms | None = None
    clamps: tuple[Clamp, ...] = ()
    unmet: float = 0.0
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """Replicas by bolt, some seconds after the plan that it is part of was made."""

    after_seconds: float
    replicas: Mapping[str, int]


Reconfigure = Literal["pool", "restart"]
"""How a change is made: by activating replicas of the pool, or by starting all workers anew, as Storm's rebalance does."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One decision. `input` is λ̂_G of the interval to come; `held` says why nothing is to change, if so.

    `memory` is any JSON value, given back in the next situation. `timetable` are further steps, taken when they are due unless
    another plan was made meanwhile that is not held.
    """

    bolts: Mapping[str, BoltPlan]
    input: float | None = None
    held: str = ""
    memory: Any = None
    timetable: tuple[Step, ...] = ()
    reconfigure: Reconfigure = "pool"

    @property
    def rate(self) -> float | None:
        """Events a second that it was made for; None: it does not say."""
        spans = (bolt.terms.seconds for bolt in self.bolts.values() if bolt.terms is not None)
        span = next(spans, 0.0)
        return self.input / span if self.input is not None and span else None

    @property
    def replicas(self) -> dict[str, int]:
        """By bolt."""
        return {name: bolt.replicas for name, bolt in self.bolts.items()}

    @property
    def changes(self) -> dict[str, int]:
        """Algorithm 2: k_i by bolt, where it is not zero; more are activated, fewer deactivated."""
        return {name: bolt.replicas - bolt.active for name, bolt in self.bolts.items() if bolt.replicas != bolt.active}
