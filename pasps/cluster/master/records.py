"""What masters alone write into the store, and where; and what they and their clients tell each other over HTTP.

`client` reads what `app` writes, and the other way round, by the same records. Loads nothing of what a master does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from pasps.cluster.store.layout import ENDED, topology
from pasps.cluster.store.submission import Desired
from pasps.config import MOST_WORKERS

MEMBERS = "/masters/members"

# ---- in the store


@dataclass(frozen=True, slots=True)
class Member:
    """A master. `packages` is where it keeps packages, empty when in its own home, which no other master can read; `shares_token`:
    its token was given, not made by itself. `process` is `process_identity.started(pid)` on `host`.
    """

    url: str
    host: str
    pid: int
    process: str = ""
    packages: str = ""
    shares_token: bool = False


@dataclass(frozen=True, slots=True)
class DriverStart:
    """The newest start of a driver for a name, written before the process is made, so that no epoch is ever used twice.

    Outlives its topology: a driver that was cut off must not meet its own epoch again under the next topology of that name.
    `package` tells which topology it was for, `restart` is what was asked for by then, `refused` that this driver said that its
    topology cannot be started.
    """

    epoch: int
    package: str = ""
    restart: int = 0
    refused: bool = False


@dataclass(frozen=True, slots=True)
class EndedTopology:
    """One that is over, in the store and over HTTP. Times are seconds since the epoch.

    `summary` is that of `pasps run --json` as its driver wrote it, None when it could not.
    """

    name: str
    submitted: float
    ended: float
    summary: Mapping[str, Any] | None = None


def member(name: str) -> str:
    """Ephemeral, of one master."""
    return f"{MEMBERS}/{name}"


def components(name: str) -> str:
    """What the check of its package said of its components."""
    return f"{topology(name)}/components"


def ended_of(name: str, entries: list[str]) -> list[str]:
    """The paths, among the names below `ENDED`, that this topology's name has."""
    return [f"{ENDED}/{entry}" for entry in entries if entry.rpartition("-")[0] == name]


def encoded(record: Member | DriverStart | EndedTopology) -> bytes:
    """As the store keeps it."""
    return msgspec.json.encode(record)


# ---- over HTTP

OVER_STATES = frozenset({"ended", "failed"})
_AtLeastOne = Annotated[int, msgspec.Meta(ge=1, le=MOST_WORKERS)]


@dataclass(frozen=True, slots=True)
class DriverView:
    """What the newest driver of a topology says of itself; `policy` is None until it has said who decides on replicas."""

    epoch: int
    host: str
    pid: int
    address: tuple[str, int] | None = None
    state: str = "starting"
    detail: str = ""
    at: float = 0.0
    policy: str | None = None


@dataclass(frozen=True, slots=True)
class TopologyView:
    """One that was submitted. `state` is what its driver says, "starting" before it says anything, "lost" when it is not there, "failed"
    when it cannot be started; `detail` says what it waits for, or why it failed.

    `workers` None: as many as its file says. `submitted` is seconds since the epoch. `driver` is None before there is one.
    """

    name: str
    state: str
    detail: str = ""
    workers: int | None = None
    pools: Mapping[str, int] = field(default_factory=dict)
    submitted: float = 0.0
    epoch: int = 0
    driver: DriverView | None = None
    desired: Desired = field(default_factory=Desired)

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.state in OVER_STATES

    @property
    def host(self) -> str:
        """Where its driver runs; empty when it has none."""
        return "" if self.driver is None else self.driver.host

    @property
    def policy(self) -> str | None:
        """Who decides on its replicas; None when its driver has not said yet."""
        return None if self.driver is None else self.driver.policy

    @property
    def process(self) -> str:
        """Where its driver runs, for people."""
        return "-" if self.driver is None else f"{self.driver.pid} on {self.driver.host}"


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of a package. `workers` None: as many as the cluster gives by default."""

    name: str
    workers: int | None = None


class Rebalance(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a restart is to change. `workers` None: as before; `pools` are added to those before; `wait` bounds the draining."""

    workers: _AtLeastOne | None = None
    pools: dict[str, _AtLeastOne] = {}
    wait: Annotated[float, msgspec.Meta(ge=0)] | None = None
