"""`--scale bolt=n`: read and checked before anything starts. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from pasps.api.blueprint import Blueprint
from pasps.errors import InvalidError


def parse_scales(texts: Iterable[str], blueprint: Blueprint) -> dict[str, int]:
    """Active replicas by bolt.

    Raises:
        InvalidError: not of the form bolt=n, no such bolt, or a number outside of 1 to its pool.
    """
    return dict(_parsed(text, blueprint) for text in texts)


def _parsed(text: str, blueprint: Blueprint) -> tuple[str, int]:
    name, equals, number = (part.strip() for part in text.partition("="))
    if not equals or not name or not number:
        raise InvalidError(f"--scale {text!r}: expected bolt=n, for example count=4")
    bolts = {id_: plan for id_, plan in blueprint.components.items() if not plan.is_spout}
    plan = bolts.get(name)
    if plan is None:
        near = get_close_matches(name, bolts, n=1)
        hint = "it is a spout; " if name in blueprint.components else f"did you mean {near[0]!r}? " if near else ""
        raise InvalidError(f"--scale {text!r}: there is no bolt {name!r} in topology {blueprint.name!r}; {hint}it has {', '.join(bolts)}")
    if not number.isdecimal() or not 1 <= int(number) <= plan.pool:
        raise InvalidError(f"--scale {text!r}: expected 1 to {plan.pool} replicas of {name!r} (its pool), got {number!r}")
    return name, int(number)
