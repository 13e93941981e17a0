"""The policies: each a file with one function. Others are found by the entry point group `pasps.policies`."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any

from pasps.config import OPTIONS_PREFIX
from pasps.control.policies import (
    cba,
    dabs,
    ds2,
    incremental,
    optimal,
    pa_sps,
    pasps,
    presps,
    ra_sps,
    rlearning,
    spea,
    srea,
    static,
    threshold,
)
from pasps.control.policies.options import files_of, option, text_of
from pasps.control.policies.policy import INTERVAL, Needs, Policy
from pasps.errors import ConfigError

GROUP = "pasps.policies"
_MODULES = (
    pasps,
    pa_sps,
    presps,
    ra_sps,
    dabs,
    incremental,
    rlearning,
    srea,
    spea,
    cba,
    optimal,
    ds2,
    threshold,
    static,
)
BUILT_IN: dict[str, Policy] = {module.POLICY.name: module.POLICY for module in _MODULES}

__all__ = ["BUILT_IN", "GROUP", "INTERVAL", "Needs", "Policy", "inlined", "option", "policy_named", "policy_names"]

_MOVED = ("forecasts", "corrects", "warm_up_seconds")
"""What a policy once said of itself beside its function, and `Needs` says now."""


def policy_names() -> list[str]:
    """All names that `pasps.policy` takes here, ours first."""
    return [*BUILT_IN, *sorted({point.name for point in entry_points(group=GROUP)} - BUILT_IN.keys())]


def policy_named(name: str) -> Policy:
    """The policy of that name.

    Raises:
        ConfigError: there is none (with the nearest name), or a package's own cannot be loaded or is no Policy.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    for point in entry_points(group=GROUP, name=name):
        try:
            found: object = point.load()
        except Exception as error:  # somebody else's module runs here
            older = isinstance(error, TypeError) and any(f"'{moved}'" in str(error) for moved in _MOVED)
            cure = "say Policy(name, about, plan, options, Needs(horizon_seconds=..., corrects=..., warm_up=...))" if older else ""
            raise ConfigError("pasps.policy", f"names {name!r}, and {point.value} does not load: {error!r}", cure=cure) from error
        if not isinstance(found, Policy):
            raise ConfigError("pasps.policy", f"names {name!r}, and {point.value} is {found!r}, no pasps.control.policies.Policy")
        return found
    names = policy_names()
    near = get_close_matches(name.lower().replace("_", "-"), names, n=1)
    cure = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
    raise ConfigError("pasps.policy", f"names no policy: {name!r}", cure=cure)


def inlined(conf: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of `conf` that name files for its policy, with the text of these files: for where the files are not. Blocks.

    Raises:
        ConfigError: there is no such policy, or no such file.
    """
    if conf.get("pasps.policy") is None:
        return {}
    keys = {OPTIONS_PREFIX + name for name in files_of(policy_named(conf["pasps.policy"]).options)}
    return {key: text_of(key, conf[key]) for key in sorted(keys & conf.keys())}
