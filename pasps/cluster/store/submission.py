"""What was submitted, as a package carries it and as the store keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from pasps.cluster.store.tokens import is_token, signature
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

    `restart` is how many restarts had been asked for when it began, `policy` who decides on replicas, once that is known.
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
    policy: str = ""


class SignedSubmission(msgspec.Struct, frozen=True):
    """A submission in the store. What is signed are its bytes: another version of pasps may write the same record otherwise."""

    submission: msgspec.Raw
    signature: str


def encoded(record: Submission | Desired | DriverRecord) -> bytes:
    """A record as a package has it (a submission) or the store (the others)."""
    return msgspec.json.encode(record)


def signed(submission: Submission, key: str) -> bytes:
    """A submission as the store keeps it; `key` is `tokens.submission_key`."""
    said = encoded(submission)
    return msgspec.json.encode(SignedSubmission(msgspec.Raw(said), signature(key, said)))


def signed_submission(value: bytes, where: str, key: str) -> Submission:
    """Read a submission out of the store. It says what code is run, with which options, so who can only write there must not make one.

    Raises:
        InvalidError: it is none, of another version, or was not signed by a master with this key; begins with `where`.
    """
    kept = _decoded(value, SignedSubmission, where)
    if not is_token(kept.signature, signature(key, bytes(kept.submission))):
        cure = "nothing of it is started; kill it, and submit it again if it is yours"
        raise InvalidError(f"{where}: it was not signed with the key of this cluster, so whoever wrote it is no master of it; {cure}")
    return submission_of(bytes(kept.submission), where)


def submission_of(value: bytes, where: str) -> Submission:
    """Read a submission out of a package.

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
