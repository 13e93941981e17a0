"""What a driver is told: on its command line, and what is secret on its standard input."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from pasps.cluster.store.tokens import driver_token, submission_key
from pasps.cluster.store.zookeeper_access import DriverAccess, MasterAccess
from pasps.errors import InvalidError

_EVERYWHERE = ("0.0.0.0", "::")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """`bind` is the interface for the control port and for workers, `advertise` the name by which others reach it."""

    topology: str
    epoch: int
    zookeeper: str
    spark: str
    package: str
    home: str
    bind: str
    advertise: str
    predictor: str | None


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a driver is told on its standard input, as JSON, and no process that it starts can see: neither in its environment nor on its
    command line.

    It runs its topology's code, so nothing of this opens anything of the masters or of another topology. `door` is what opens its
    control port, `submission` what its submission is signed with, `zookeeper` its `user:password` there and `owner` whom it shares
    its entries with, if there are any, `predictor` the predictor's token.
    """

    door: str = field(default="", repr=False)
    submission: str = field(default="", repr=False)
    zookeeper: str | None = field(default=None, repr=False)
    owner: str = field(default="", repr=False)
    predictor: str | None = field(default=None, repr=False)

    @property
    def access(self) -> DriverAccess | None:
        """What it opens its session in ZooKeeper with."""
        return None if self.zookeeper is None else DriverAccess(self.zookeeper, self.owner)


def secrets_for(topology: str, epoch: int, key: str, zookeeper: str | None, predictor: str | None) -> Secrets:
    """What the masters, who have this key and these credentials, give to that driver of a topology."""
    access = None if zookeeper is None else MasterAccess(zookeeper).of_driver(topology)
    return Secrets(
        driver_token(key, topology, epoch),
        submission_key(key, topology),
        access.credentials if access else None,
        access.owner if access else "",
        predictor,
    )


@dataclass(frozen=True, slots=True)
class Orders:
    """What a driver that was started before anybody knew its topology is told on its standard input, as JSON, once that is known:
    the words of its command line, and its secrets. When it ends without any, there is nothing to drive."""

    words: tuple[str, ...]
    secrets: Secrets


@dataclass(frozen=True, slots=True)
class Wait:
    """What a driver without orders is to be ready for: which Spark. `warm`: it has time enough to try everything out before."""

    spark: str
    warm: bool


def waiting_words(wait: Wait, output: Path) -> list[str]:
    """The command line of a driver that waits for its orders; `output` is where it writes, and says in a list of processes whose it is."""
    return ["--waiting", str(output), "--spark", wait.spark, *(["--warm"] if wait.warm else [])]


def waits_for(words: Sequence[str]) -> Wait | None:
    """What a driver with this command line is to be ready for, while it waits for its orders; None: it has its orders."""
    match words:
        case ["--waiting", _, "--spark", spark, *warm]:
            return Wait(spark, bool(warm))
    return None


def told_orders(said: bytes) -> Orders:
    """Read them.

    Raises:
        InvalidError: they are none.
    """
    return _told(said, Orders)


def told_secrets(said: bytes) -> Secrets:
    """Read them.

    Raises:
        InvalidError: they are none.
    """
    return _told(said, Secrets)


def _told(said: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(said, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # not what was said: it may be secret
        problem = f"expected its {kind.__name__.lower()} as JSON on standard input, got something else"
        raise InvalidError(f"driver: {problem}; it is started by `pasps master`") from None


def parsed(words: Sequence[str] | None = None) -> DriverOptions:
    """Read them; ends the process with status 2 when they make no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m pasps.cluster.driver", description="Started by `pasps master`, once for each topology."
    )
    parser.add_argument("--topology", required=True, help="its name")
    parser.add_argument("--epoch", required=True, type=int, help="larger than that of every driver it had before")
    parser.add_argument("--zookeeper", required=True, help="hosts and chroot, as h1:2181,h2:2181/pasps")
    parser.add_argument("--spark", required=True, help="spark://host:port or yarn")
    parser.add_argument("--package", required=True, help="where the package of the submission is")
    parser.add_argument("--home", required=True, help="a directory of its own")
    parser.add_argument("--bind", default="127.0.0.1", help="the interface to listen on")
    parser.add_argument("--advertise", default="", help="the name or address by which workers and masters reach it (default: --bind)")
    parser.add_argument("--predictor", help="where the predictor service is")
    found = parser.parse_args(words)
    if not found.advertise:
        found.advertise = found.bind
    if found.advertise in _EVERYWHERE:
        parser.error(f"--advertise: {found.advertise} is no address that others can connect to; give this machine's own")
    return DriverOptions(**vars(found))
