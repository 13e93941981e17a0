"""What was submitted, as a package carries it and as the store keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from pasps.errors import InvalidError

_T = TypeVar("_T")

SCHEMA = "pasps.submission/1"


@dataclass(frozen=True, slots=True)
class Submission:
    """One topology. `file` is its file inside the package, `topology` the one chosen of several in it.

    `package` is where every node and driver can read the package, with its `sha256`; `submitted` is seconds since the epoch. These
    three are empty in the package itself, and so is `name` when the topology's own is to be taken. `python` is the minor version
    that `environment.tar.gz` in the package is for, None when there is none; `py_files` are the names below `py-files/`, in order.

    Only in the store: `restart` is the restart that `workers` and `pools` were changed for last, and `wait` how long to drain before
    it; see `Desired`.
    """

    name: str
    file: str
    topology: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    workers: int | None = None
    pools: Mapping[str, int] = field(default_factory=dict)
    inactive: bool = False
    python: str | None = None
    pasps_version: str = ""
    package: str = ""
    sha256: str = ""
    submitted: float = 0.0
    py_files: tuple[str, ...] = ()
    restart: int = 0
    wait: float | None = None
    schema: str = SCHEMA


@dataclass(frozen=True, slots=True)
class Desired:
    """What its user wants of a topology: `state` is "active", "inactive" or "killed" (drained for at most `wait` seconds first).

    `restart` counts the restarts that were asked for: a driver that began under a smaller one is to drain and end.
    """

    state: str = "active"
    wait: float | None = None
    restart: int = 0


@dataclass(frozen=True, slots=True)
class DriverRecord:
    """What a topology's driver says of itself. `address` is its control port, None before it listens; `at` seconds since the epoch.

    `state`: starting, waiting (for places; `detail` says for what), running, inactive, draining, ended, failed (`detail` says why).
    """

    epoch: int
    host: str
    pid: int
    address: tuple[str, int] | None = None
    state: str = "starting"
    detail: str = ""
    at: float = 0.0
    restart: int = 0


def encoded(record: Submission | Desired | DriverRecord) -> bytes:
    """A record as the store keeps it."""
    return msgspec.json.encode(record)


def submission_of(value: bytes, where: str) -> Submission:
    """Read a submission.

    Raises:
        InvalidError: it is none, or of another version; begins with `where`.
    """
    found = _decoded(value, Submission, where)
    if found.schema != SCHEMA:
        raise InvalidError(f"{where}: expected schema {SCHEMA!r}, got {found.schema!r}; submit it with the version of pasps that runs here")
    return found


def desired_of(value: bytes, where: str) -> Desired:
    """Read an intent.

    Raises:
        InvalidError: it is none; begins with `where`.
    """
    return _decoded(value, Desired, where)


def driver_of(value: bytes, where: str) -> DriverRecord:
    """Read a driver's record.

    Raises:
        InvalidError: it is none; begins with `where`.
    """
    return _decoded(value, DriverRecord, where)


def _decoded(value: bytes, kind: type[_T], where: str) -> _T:
    try:
        return msgspec.json.decode(value, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidError(f"{where}: expected a {kind.__name__}, got {value[:80]!r}: {error}") from error
