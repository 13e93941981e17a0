"""What a policy is: one pure function with a name, its options, and what it needs of the loop that calls it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pasps.config import KEYS, Key
from pasps.control.model import rounded_up
from pasps.control.plan import BoltPlan, Clamp, Plan, Terms
from pasps.control.policies.options import NoOptions, keys_of, options_of
from pasps.control.situation import PolicySettings, Situation, TopologyShape
from pasps.errors import InvalidError

MOST_HISTORY = 3600
"""Seconds of history that a policy may ask for."""
INTERVAL: None = None
"""As a horizon: as far as the interval td is long, or as several of them are."""
MOST_SAMPLES = 100
"""Seconds of the input that predictors are given at most, as the paper's."""
MOST_HORIZON = 3600.0
"""Seconds that forecasts are asked for at most; what lies beyond them is taken to be as their mean."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What is gathered for a policy, and when it is called. What it does not ask for costs nothing.

    `interval_seconds`: the interval td that it is made for, which holds unless `pasps.interval.secs` is set; None: as most, 30.
    `horizon_seconds`: how far it looks ahead; 0: it needs no forecast, `INTERVAL`: so many `intervals` of td.
    `correction_horizon_seconds`: how far within the interval, and at its end at least; None: as far. `history_seconds`: for how many
    seconds back it gets the numbers of each second. `replicas`: it gets those of each replica and worker too. `per_bolt_series`: forecasts
    of what each bolt receives, besides that of the input.
    `quantiles`: those of the forecasts' running sums that it asks for. `corrects`: it is called within the interval too.
    `warm_up`: how many seconds of the first interval it must have seen before it decides for the first time; None: all of it.
    `sample_seconds` and `samples`: what its predictor is given of the last 100 seconds.
    """

    horizon_seconds: float | None = 0.0
    history_seconds: int = 0
    replicas: bool = False
    per_bolt_series: bool = False
    quantiles: tuple[float, ...] = ()
    corrects: bool = False
    warm_up: float | None = None
    correction_horizon_seconds: float | None = None
    interval_seconds: float | None = None
    intervals: int = 1
    sample_seconds: int = 1
    samples: int = MOST_SAMPLES

    def __post_init__(self) -> None:
        """Raises InvalidError where a number makes no sense."""
        if not isinstance(self.intervals, int) or self.intervals < 1:
            raise InvalidError(f"Needs: expected intervals to be an integer of at least 1, got {self.intervals!r}")
        if not (1 <= self.sample_seconds <= MOST_SAMPLES and 1 <= self.samples <= MOST_SAMPLES):
            got = f"got {self.sample_seconds} and {self.samples}"
            raise InvalidError(f"Needs: expected sample_seconds and samples from 1 to {MOST_SAMPLES}, {got}")
        for name in ("horizon_seconds", "history_seconds", "warm_up", "correction_horizon_seconds"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise InvalidError(f"Needs: expected {name} of at least 0, got {value!r}")
        if self.history_seconds > MOST_HISTORY:
            raise InvalidError(f"Needs: expected history_seconds of at most {MOST_HISTORY}, got {self.history_seconds}")
        td = KEYS["pasps.interval.secs"]
        if not td.accepts(self.interval_seconds):
            raise InvalidError(f"Needs: expected interval_seconds to be {td.expected()}, got {self.interval_seconds!r}")
        if not all(0 < quantile < 1 for quantile in self.quantiles):
            raise InvalidError(f"Needs: expected quantiles between 0 and 1, got {self.quantiles!r}")
        if self.horizon_seconds == 0 and (self.quantiles or self.per_bolt_series):
            raise InvalidError("Needs: quantiles and per_bolt_series are of forecasts; say by horizon_seconds how far they look ahead")

    def horizon(self, interval_seconds: float, *, correction: bool = False) -> float:
        """How far it looks ahead, when the interval is that long."""
        if correction and self.correction_horizon_seconds is not None:
            return self.correction_horizon_seconds
        usual = min(MOST_HORIZON, interval_seconds * self.intervals) if self.horizon_seconds is None else self.horizon_seconds
        return max(usual, self.correction_horizon_seconds or 0.0) if usual else usual


@dataclass(frozen=True, slots=True)
class Policy:
    """`plan(situation, options)` is pure, is called on the event loop of the topology's controller, and must return soon.

    `options`: a frozen dataclass whose fields have defaults; the configuration sets them by `pasps.policy.options.<field>`.
    `needs_of` says what it needs with these options, where they make a difference; else `needs` hold.
    `check` raises ConfigError where it can do nothing for a topology of that shape with these options; None: it can for all.
    """

    name: str
    about: str
    plan: Callable[[Situation, Any], Plan]
    options: type = NoOptions
    needs: Needs = Needs()
    needs_of: Callable[[Any], Needs] | None = None
    check: Callable[[TopologyShape, Any], None] | None = None

    def __post_init__(self) -> None:
        """Raises InvalidError for what is no policy, as one that was written for `plan(situation)`."""
        if not callable(self.plan):
            raise InvalidError(f"policy {self.name!r}: expected a function plan(situation, options), got {self.plan!r}")
        try:
            inspect.signature(self.plan).bind(None, None)
        except TypeError as error:
            raise InvalidError(
                f"policy {self.name!r}: its plan is called as plan(situation, options), which it does not take ({error}); "
                "give it a second parameter for the options"
            ) from error
        except ValueError:  # of a builtin nothing is known
            pass
        if not isinstance(self.needs, Needs):
            raise InvalidError(f"policy {self.name!r}: expected Needs(...) as its needs, got {self.needs!r}")
        keys_of(self.options)

    @property
    def forecasts(self) -> bool:
        """Whether it needs forecasts, so that a predictor is asked."""
        return self.needs.horizon_seconds != 0

    @property
    def corrects(self) -> bool:
        """Whether it is called within the interval too."""
        return self.needs.corrects

    @property
    def warm_up_seconds(self) -> float | None:
        """See `Needs.warm_up`."""
        return self.needs.warm_up

    @property
    def keys(self) -> dict[str, Key]:
        """The keys of the configuration that set its options, by field."""
        return keys_of(self.options)

    def configured(self, settings: PolicySettings, given: Mapping[str, Any] | None = None, shape: TopologyShape | None = None) -> Any:
        """Its options: the defaults, over them what the general keys say, over those what is given by field. Reads what files they name.

        Raises:
            ConfigError: it has no such option (with the nearest name), that does not take the value, or nothing can be done with it for
                a topology of that shape; None: for whichever.
        """
        options = options_of(self.name, self.options, settings, given or {})
        if shape is not None and self.check is not None:
            self.check(shape, options)
        return options

    def with_options(self, options: Any) -> Policy:
        """The same with what it needs when it has these options."""
        return self if self.needs_of is None else replace(self, needs=self.needs_of(options))

    def without_forecasts(self) -> Policy:
        """The same where nobody forecasts."""
        return replace(self, needs=replace(self.needs, horizon_seconds=0.0, per_bolt_series=False, quantiles=()))


def as_asked(situation: Situation, terms: Mapping[str, Terms], events: float, sliver: float = 0.0) -> Plan:
    """Eq. 2 rounded up and clamped to the pool; a bolt of which nothing is known stays as it is.

    `sliver`: so little above a whole number is not rounded up.
    """
    bolts = {}
    for bolt in situation.shape.bolts:
        active, needs = situation.interval.bolts[bolt.id].active, terms[bolt.id]
        if needs.replicas is None:
            bolts[bolt.id] = BoltPlan(active, active, active, active, needs, (Clamp.UNKNOWN,))
            continue
        asked = rounded_up(needs.replicas - sliver)
        clamps = (Clamp.AT_POOL,) if asked > bolt.pool else ()
        allowed = min(asked, bolt.pool)
        bolts[bolt.id] = BoltPlan(active, asked, allowed, allowed, needs, clamps)
    return Plan(bolts, events)
