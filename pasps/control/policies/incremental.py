"""The incremental baseline of DABS-Storm's experiments: one replica more above a threshold of CPU, one less below another.

The paper says no more of it than that; the values are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pasps.control.plan import Plan, Reason
from pasps.control.policies.observed import active_now, busy_share, changed_since
from pasps.control.policies.options import HOW_CHANGED, option
from pasps.control.policies.policy import Needs, Policy
from pasps.control.policies.reasoned import granted, kept
from pasps.control.situation import Situation
from pasps.errors import ConfigError

_REST = Reason("needs", "its replicas have changed since the last decision: this window is not looked at")


@dataclass(frozen=True, slots=True)
class Options:
    """The thresholds."""

    high: float = option(0.8, "One more where replicas are busy for more than this share of their time", above=0, most=1)
    low: float = option(0.3, "One less where they are for less", least=0, most=1)
    reconfigure: Literal["pool", "restart"] = option("pool", HOW_CHANGED)

    def __post_init__(self) -> None:
        """Raises ConfigError for thresholds that are the wrong way round: one load would be above and below."""
        if self.high < self.low:
            problem = f"is {self.high:g}, below low, which is {self.low:g}"
            raise ConfigError("pasps.policy.options.high", problem, where="policy 'incremental'", cure="expected high to be at least low")


def plan(situation: Situation, options: Options) -> Plan:
    """One decision, each bolt by itself; one whose replicas have changed rests for a window."""
    changed = changed_since(situation)
    bolts = {}
    for bolt in situation.shape.bolts:
        did = situation.interval.bolts[bolt.id]
        if bolt.id in changed:
            bolts[bolt.id] = kept(did.active, _REST)
            continue
        busy = busy_share(bolt, did, situation.interval)
        step, side = (1, f"above {options.high:.0%}") if busy > options.high else (0, "")
        if busy < options.low:
            step, side = -1, f"below {options.low:.0%}"
        if not 1 <= did.active + step <= bolt.pool:
            step, side = 0, f"{side}, and there is none to {'add' if step > 0 else 'spare'}"
        what = "of their time on events" if bolt.waits or did.blocks else "CPU"
        text = f"replicas use {busy:.0%} {what}, {side or f'between {options.low:.0%} and {options.high:.0%}'}"
        bolts[bolt.id] = granted(bolt, did.active, did.active + step, Reason("load", text))
    return Plan(bolts, memory={"active": active_now(situation)}, reconfigure=options.reconfigure)


POLICY = Policy(
    "incremental",
    "one replica more above a threshold of CPU, one less below another, as DABS-Storm's experiments compare with",
    plan,
    Options,
    Needs(interval_seconds=10.0),
)
