"""What was submitted, as a package carries it, and as the store keeps it together with what its user wants since then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from pasps.cluster.store.tokens import is_token, signature
from pasps.errors import InvalidError

_T = TypeVar("_T")

SCHEMA = "pasps.submission/1"
NOT_UNDERSTOOD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for what is no record of ours; the last one for what is nested without end."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One topology. `file` is its file inside the package, `topology` the one chosen of several in it.

    `package` is where every node and driver can read the package, with its `sha256`; `submitted` is seconds since the epoch. These
    three are empty in the package itself, and so is `name` when the topology's own is to be taken. `python` is the minor version
    that `environment.tar.gz` in the package is for, None when there is none; `py_files` are the names below `py-files/`, in order.
    `pasps_version` made it; nothing goes by that, it is for who looks into a package.
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
    schema: str = SCHEMA


@dataclass(frozen=True, slots=True)
class Desired:
    """What its user wants of a topology: `state` is "active", "inactive" or "killed".

    `restart` counts the restarts that were asked for: a driver that began under a smaller one is to drain and end. `wait`: how long
    to drain at most, before it is killed or restarted.
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
    """Of a topology's entry what was submitted. What is signed are its bytes: another version of pasps may write the record otherwise."""

    submission: msgspec.Raw
    signature: str


class KeptTopology(msgspec.Struct, frozen=True):
    """Of a topology's entry what is wanted of it, which can be read whatever the rest is."""

    desired: Desired


class _Left(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that is in the entry of a topology that was removed while a driver of it lives."""

    desired: Desired


def encoded(record: Submission | DriverRecord) -> bytes:
    """A record as a package has it (a submission) or the store (a driver's)."""
    return msgspec.json.encode(record)


def kept(submission: Submission, desired: Desired, key: str) -> bytes:
    """A topology as the store keeps it; `key` is `tokens.submission_key`. Both are one entry, so both change in one step or not at all."""
    said = encoded(submission)
    return msgspec.json.encode({"submission": msgspec.Raw(said), "signature": signature(key, said), "desired": desired})


def with_desired(value: bytes, desired: Desired) -> bytes:
    """The same entry with another intent. One that cannot be understood is still none that can; an empty one has the intent alone."""
    before: dict[str, msgspec.Raw | None] = {}
    if value:
        try:
            before = msgspec.json.decode(value, type=dict[str, msgspec.Raw])
        except NOT_UNDERSTOOD:
            before = {"submission": None}
    return msgspec.json.encode({**before, "desired": desired})


def signed_submission(value: bytes, where: str, key: str) -> Submission | None:
    """Read a submission out of the store. It says what code is run, with which options, so who can only write there must not make one.

    None: it is what is left of a topology that was removed.

    Raises:
        InvalidError: it is none, of another version, or was not signed by a master with this key; begins with `where`.
    """
    if is_left(value):
        return None
    found = decoded(value, SignedSubmission, where)
    said = bytes(found.submission)
    if not is_token(found.signature, signature(key, said)):
        cure = "nothing of it is started; kill it, and submit it again if it is yours"
        raise InvalidError(f"{where}: it was not signed with the key of this cluster, so whoever wrote it is no master of it; {cure}")
    return submission_of(said, where)


def submission_of(value: bytes, where: str) -> Submission:
    """Read a submission out of a package.

    Raises:
        InvalidError: it is none, or of another version; begins with `where`.
    """
    found = decoded(value, Submission, where)
    if found.schema != SCHEMA:
        raise InvalidError(f"{where}: expected schema {SCHEMA!r}, got {found.schema!r}; submit it with the version of pasps that runs here")
    return found


def desired_of(value: bytes, where: str) -> Desired:
    """Read the intent out of a topology's entry, whatever is said beside it.

    Raises:
        InvalidError: there is none that can be read; begins with `where`.
    """
    return decoded(value, KeptTopology, where).desired


def driver_of(value: bytes, where: str) -> DriverRecord:
    """Read a driver's record.

    Raises:
        InvalidError: it is none; begins with `where`.
    """
    return decoded(value, DriverRecord, where)


def is_left(value: bytes) -> bool:
    """Whether an entry is what is left of a topology that was removed: empty, or told to whom lives that it is to end."""
    if not value:
        return True
    try:
        msgspec.json.decode(value, type=_Left)
    except NOT_UNDERSTOOD:
        return False
    return True


def decoded(value: bytes, kind: type[_T], where: str) -> _T:
    """Read a record of the store.

    Raises:
        InvalidError: it is none; begins with `where`.
    """
    try:
        return msgspec.json.decode(value, type=kind)
    except NOT_UNDERSTOOD as error:
        raise InvalidError(f"{where}: expected a {kind.__name__}, got {value[:80]!r}: {error}") from error
