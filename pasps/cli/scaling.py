"""`--scale bolt=n`: read and checked before anything starts. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pasps.api.blueprint import Blueprint
from pasps.errors import InvalidError
from pasps.topology.topology_verbs import check_scale


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
    check_scale(blueprint, name, int(number) if number.isdecimal() else number, f"--scale {text!r}")
    return name, int(number)
