"""Where everything is in the store. Pure: paths only."""

from __future__ import annotations

ELECTION = "/masters/election"
LEADER = "/masters/leader"
TOPOLOGIES = "/topologies"
ENDED = "/ended"
LAUNCHES = "/launches"


def topology(name: str) -> str:
    """What was submitted, and what is wanted of it since then: one entry, see `submission.kept`. Everything else of it is below."""
    return f"{TOPOLOGIES}/{name}"


def launch(name: str) -> str:
    """The newest start of a driver of that name, a `DriverStart`; written by a master before the driver is started."""
    return f"{LAUNCHES}/{name}"


def driver(name: str) -> str:
    """What its driver says of itself: a `DriverRecord`."""
    return f"{topology(name)}/driver"


def alive(name: str) -> str:
    """Ephemeral, of its driver."""
    return f"{topology(name)}/alive"


def table(name: str) -> str:
    """The newest activation table."""
    return f"{topology(name)}/table"


def positions(name: str) -> str:
    """Where each spout task goes on."""
    return f"{topology(name)}/positions"


def summary(name: str) -> str:
    """How it ended, written before its driver ends."""
    return f"{topology(name)}/summary"


def incarnations(name: str) -> str:
    """The counters of its workers are below."""
    return f"{topology(name)}/incarnations"


def incarnation(name: str, worker: str) -> str:
    """A counter: how often that worker was started."""
    return f"{incarnations(name)}/{worker}"


def ended(name: str, epoch: int) -> str:
    """A topology that is over."""
    return f"{ENDED}/{name}-{epoch}"
