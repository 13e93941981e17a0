"""The learning baseline of DABS-Storm's experiments: does at each input rate what it learned beforehand, in the simulator.

The paper says that it maps rates to degrees, learned on the test streams; how it learns is ours (`pasps.simulation.training`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pasps.control.plan import Plan, Reason
from pasps.control.policies.options import HOW_CHANGED, option
from pasps.control.policies.policy import Needs, Policy
from pasps.control.policies.q_table import BUCKETS, WINDOW_SECONDS, check_shape, rates_of, read
from pasps.control.policies.reasoned import granted
from pasps.control.quantities import count
from pasps.control.situation import PolicySettings, Situation, TopologyShape
from pasps.errors import ConfigError, InvalidError

_KEY = "pasps.policy.options.table"
_TRAIN = "train one with `pasps simulate FILE --trace TRACE --train TABLE`"
_WORDS = {-1: "one less", 0: "as it is", 1: "one more"}


@dataclass(frozen=True, slots=True)
class Options:
    """What it learned."""

    table: str | None = option(None, "What `pasps simulate --train` wrote: the file, or the text that is in it", file=True)
    reconfigure: Literal["pool", "restart"] = option("pool", HOW_CHANGED)

    def cautions(self, settings: PolicySettings, said: Mapping[str, str]) -> list[str]:
        """See `pasps.control.policies.options.cautions`."""
        if self.table is None:
            return []
        trained, here = read(self.table).interval_seconds, settings.interval_seconds
        if trained == here:
            return []
        return [f"the table of policy 'rlearning' was trained to decide each {trained:g} s, and is asked each {here:g} s here"]


def plan(situation: Situation, options: Options) -> Plan:
    """One decision, each bolt by its own table."""
    if options.table is None:
        return Plan({}, held="there is no table that says what to do")
    rates = rates_of(situation)
    if rates is None:
        return Plan({}, held="there is no second yet to know a rate of")
    table = read(options.table)
    bolts = {}
    for bolt in situation.shape.bolts:
        learned, rate, active = table.bolts[bolt.id], rates[bolt.id], situation.interval.bolts[bolt.id].active
        step = learned.step(rate, active)
        of = f"bucket {learned.bucket(rate) + 1} of {BUCKETS}"
        above = f", above the {count(learned.peak)}/s that it was trained with" if rate > learned.peak else ""
        rated = f"{count(rate)}/s became due for it in the last {WINDOW_SECONDS} s, {of}{above}"
        bolts[bolt.id] = granted(bolt, active, active + step, Reason("needs", f"{rated}; with {active} active: {_WORDS[step]}", "Q"))
    return Plan(bolts, reconfigure=options.reconfigure)


def check(shape: TopologyShape, options: Options) -> None:
    """Whether it has learned anything for such a topology.

    Raises:
        ConfigError: there is no table, or it is of another topology.
    """
    if options.table is None:
        raise ConfigError(_KEY, "is not set: policy 'rlearning' does what it has learned", cure=_TRAIN)
    try:
        check_shape(read(options.table), shape)
    except InvalidError as error:
        raise ConfigError(_KEY, f"cannot be used: {error}", cure=_TRAIN) from error


POLICY = Policy(
    "rlearning",
    "what Q-learning found best at each input rate, learned in the simulator, as DABS-Storm's experiments compare with",
    plan,
    Options,
    Needs(history_seconds=WINDOW_SECONDS, interval_seconds=10.0),
    check=check,
)
