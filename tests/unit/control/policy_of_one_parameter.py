"""A package's policy from before policies had options."""

from __future__ import annotations

from typing import Any

from pasps.control.plan import Plan
from pasps.control.policies import Policy


def plan(situation: Any) -> Plan:
    return Plan({})


POLICY = Policy("older", "from before there were options", plan)  # type: ignore[arg-type]
