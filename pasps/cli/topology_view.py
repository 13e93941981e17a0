"""A topology of a cluster, and one that is over, as a master tells of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from pasps.errors import ProtocolError

_T = TypeVar("_T")

LIVING = ("starting", "waiting", "running", "inactive", "draining", "lost")
"""States that may go on to another; the others are ended and failed."""


@dataclass(frozen=True, slots=True)
class TopologyView:
    """One that was submitted. `detail` says what it waits for, or why it failed; `submitted` is seconds since the epoch.

    `driver` is the record of the process that holds it, None before there is one; `workers` None: as the cluster decides.
    """

    name: str
    state: str
    detail: str | None = None
    workers: int | None = None
    submitted: float = 0.0
    epoch: int = 0
    driver: Mapping[str, Any] | None = None
    desired: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.state not in LIVING

    @property
    def host(self) -> str:
        """Where its driver runs; empty when it has none."""
        return "" if self.driver is None else str(self.driver.get("host", ""))

    @property
    def policy(self) -> str | None:
        """Who decides on its replicas; None when its driver has not said yet."""
        return None if self.driver is None else self.driver.get("policy") or None

    @property
    def process(self) -> str:
        """Where its driver runs, for people."""
        return "-" if self.driver is None else f"{self.driver.get('pid')} on {self.host}"


@dataclass(frozen=True, slots=True)
class EndedTopology:
    """One that is over; `summary` is that of `pasps run --json`, None when nobody could make one."""

    name: str
    ended: float | None = None
    submitted: float | None = None
    summary: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """What a master says of a package that it took."""

    name: str
    workers: int | None = None


def read(value: Any, kind: type[_T], what: str) -> _T:
    """A record out of what came as JSON.

    Raises:
        ProtocolError: it is something else; begins with `what`.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{what}: expected {kind}, perhaps it is of another version of pasps: {error}") from error
