"""What a driver is told on its command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field

_EVERYWHERE = ("0.0.0.0", "::")


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
    """What a driver is told by its environment: the masters' secret, `user:password` for ZooKeeper, the predictor's token."""

    token: str = field(default="", repr=False)
    zookeeper: str | None = field(default=None, repr=False)
    predictor: str | None = field(default=None, repr=False)


def parsed(words: Sequence[str] | None = None) -> DriverOptions:
    """Read them; ends the process with status 2 when they make no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m pasps.daemons.driver", description="Started by `pasps master`, once for each topology."
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
