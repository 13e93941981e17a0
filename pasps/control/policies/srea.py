"""BGElasor's SREA, the standard reactive one: the replicas that the last epoch would have needed."""

from __future__ import annotations

from pasps.control.plan import Plan
from pasps.control.policies.epochs import Epochs, planned
from pasps.control.policies.policy import Needs, Policy
from pasps.control.situation import Situation


def plan(situation: Situation, options: Epochs) -> Plan:
    """One decision: n_t = base_(t-1)."""
    interval = situation.interval
    came = interval.due * situation.settings.interval_seconds / interval.seconds
    return planned(situation, [came], options.target, lambda base, present: (base, ()))


POLICY = Policy("srea", "BGElasor's reactive baseline: what the last epoch would have needed", plan, Epochs, Needs())
