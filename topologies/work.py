"""Work for a processor, in rounds that cost the same wherever the value comes from."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from pasps.errors import ConfigError

ROUNDS_PER_MILLISECOND = 2_000
"""About that, on a processor of today."""


def work(rounds: int, value: int) -> str:
    """Hash a value so often; the result depends on every round, so that none can be left out."""
    found = str(value).encode()
    for _ in range(rounds):
        found = sha256(found).digest()
    return found.hex()


def rounds_of(conf: Mapping[str, Any], usual: int, component: str) -> int:
    """`work.rounds` of a component's configuration.

    Raises:
        ConfigError: it is no whole number of at least 0.
    """
    rounds = conf.get("work.rounds", usual)
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 0:
        raise ConfigError("work.rounds", f"must be a whole number of at least 0, got {rounds!r}", where=f"component {component!r}")
    return rounds
