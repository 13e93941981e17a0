"""What a run directory says of its run, in `run.json`; and what a run's state is, seen from another process."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from pasps.errors import InvalidError
from pasps.topology.process_identity import started

SCHEMA = "pasps.run/1"
FILE_NAME = "run.json"
DRAIN_SECONDS = 30.0
"""For how long a topology that ends may drain, when nobody says for how long."""
_SECRETS = ("token", "password", "secret")


class RunState(StrEnum):
    """STARTING -> RUNNING <-> INACTIVE; any of them -> DRAINING -> ENDED. LOST is never written: others see it."""

    STARTING = "starting"
    """Its workers come up; nothing is emitted."""
    RUNNING = "running"
    INACTIVE = "inactive"
    """Its spouts are stopped, and can be started again."""
    DRAINING = "draining"
    """It ends as soon as nothing is under way, or when its time for that is over."""
    ENDED = "ended"
    LOST = "lost"
    """Its process is gone, and has not said how it ended."""

    @property
    def over(self) -> bool:
        """Whether nobody answers any more."""
        return self in (RunState.ENDED, RunState.LOST)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run. Times are seconds since the epoch; `process` is `process_identity.started(pid)`, on `host`.

    `config` is what was given on the command line, without secrets; `policy` who decides on replicas, where that is known.
    `socket` is where the control socket is: in the run directory, unless its path would be too long. `detail` is what else is to be
    known of its state.
    """

    name: str
    file: str
    pid: int
    process: str
    host: str
    started: float
    workers: int
    socket: str
    config: Mapping[str, Any]
    policy: str | None = None
    state: RunState = RunState.STARTING
    ended: float | None = None
    chosen: bool = False
    """Somebody chose the directory (`--run-dir`): it is never removed."""
    detail: str = ""
    schema: str = SCHEMA

    def state_now(self) -> RunState:
        """The state, seen from any process: one that was killed could not write its own end."""
        # nobody can judge a process of another host, or one that this system tells nothing about
        if self.state is RunState.ENDED or self.host != host() or not self.process:
            return self.state
        return self.state if started(self.pid) == self.process else RunState.LOST


def host() -> str:
    """This machine, or container: a process id of another one means nothing here."""
    return socket.gethostname()


def without_secrets(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration as it may be written down."""
    return {key: "***" if value is not None and any(word in key.lower() for word in _SECRETS) else value for key, value in config.items()}


def read_record(directory: Path) -> RunRecord:
    """The record in a run directory.

    Raises:
        InvalidError: it is none of ours, or of another version.
    """
    path = directory / FILE_NAME
    try:
        record = msgspec.json.decode(path.read_bytes(), type=RunRecord)
    except OSError as error:
        raise InvalidError(f"{directory}: not a run directory, {FILE_NAME} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidError(f"{path}: expected a record of schema {SCHEMA!r}: {error}") from error
    if record.schema != SCHEMA:
        raise InvalidError(f"{path}: expected schema {SCHEMA!r}, got {record.schema!r}")
    return record


def write_json(path: Path, value: object) -> None:
    """Write a file whole or not at all, for its owner alone; who reads meanwhile sees the old one.

    Raises:
        OSError: it could not be written; the old one stands.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(scratch, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
        scratch.replace(path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise
