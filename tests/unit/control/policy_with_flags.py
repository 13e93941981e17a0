"""A package's policy that says what it needs by flags, as it once was said."""

from __future__ import annotations

from pasps.control.policies import Policy
from pasps.control.policies.static import plan

POLICY = Policy("oldest", "by flags", plan, forecasts=True, corrects=True)  # type: ignore[call-arg]
