"""BGElasor's SPEA, the simple proactive one: the replicas that the next epoch will need."""

from __future__ import annotations

from pasps.control.plan import Plan
from pasps.control.policies.epochs import Epochs, forecast_inputs, planned
from pasps.control.policies.policy import INTERVAL, Needs, Policy
from pasps.control.situation import Situation


def plan(situation: Situation, options: Epochs) -> Plan:
    """One decision: n_t = base_t."""
    inputs = forecast_inputs(situation, 1)
    if inputs is None:
        return Plan({}, held="there is no forecast")
    return planned(situation, inputs, options.target, lambda base, present: (base, ()))


POLICY = Policy("spea", "BGElasor's proactive baseline: what the next epoch will need", plan, Epochs, Needs(horizon_seconds=INTERVAL))
