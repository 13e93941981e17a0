"""Whether a bolt can have as many active replicas as somebody asks for. Pure."""

from __future__ import annotations

from pasps.api.blueprint import Blueprint
from pasps.errors import InvalidError


def check_bolt(blueprint: Blueprint, component: str) -> int:
    """The pool of a bolt.

    Raises:
        InvalidError: there is no such bolt.
    """
    plan = blueprint.components.get(component)
    if plan is None or plan.is_spout:
        bolts = ", ".join(name for name, p in blueprint.components.items() if not p.is_spout)
        raise InvalidError(f"expected the id of a bolt ({bolts}), got {component!r}")
    return plan.pool


def check_count(blueprint: Blueprint, component: str, count: object) -> None:
    """Whether a bolt may have that many active replicas.

    Raises:
        InvalidError: no such bolt, or not so many.
    """
    pool = check_bolt(blueprint, component)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= pool:
        raise InvalidError(f"set_active({component!r}): expected 1 to {pool} replicas (its pool), got {count!r}")
