"""Asks a topology's driver over its control port. One connection for each request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pasps.cluster.master.decide import Contact
from pasps.cluster.master.failures import DriverUnreachableError
from pasps.cluster.store.submission import DriverRecord
from pasps.cluster.store.tokens import driver_token
from pasps.errors import AuthenticationError, BusyError, PaspsError, ProtocolError, TimeoutExpiredError
from pasps.topology.control_socket import ControlClient

CONNECT_SECONDS = 3.0
ASK_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Door:
    """The control port of one driver of a topology, and what opens it."""

    topology: str
    epoch: int
    address: tuple[str, int]
    token: str = field(repr=False)


def door_of(topology: str, record: DriverRecord, key: str) -> Door | None:
    """That of the driver which wrote the record; None: it has not said yet where it listens. `key` is the masters'."""
    if record.address is None:
        return None
    return Door(topology, record.epoch, record.address, driver_token(key, topology, record.epoch))


async def call(door: Door, verb: str, arguments: Mapping[str, Any], seconds: float) -> Any:
    """The result of a verb.

    Raises:
        DriverUnreachableError: no connection, or it ended before there was an answer.
        TimeoutExpiredError: no answer in time; what was asked for may still happen.
        PaspsError: what the driver answered.
    """
    limit = asyncio.timeout(seconds)
    try:
        async with limit, _opened(door, CONNECT_SECONDS) as client:
            return await client.call(verb, arguments)
    except TimeoutError as late:
        if not limit.expired():
            raise DriverUnreachableError(f"no connection to {_where(door)} within {CONNECT_SECONDS:g} s") from late
        raise TimeoutExpiredError(f"the driver of topology {door.topology!r} did not answer {verb!r} within {seconds:g} s") from late
    except OSError as error:
        raise DriverUnreachableError(f"{_where(door)}: {error.strerror or error}") from error


async def ask(door: Door, seconds: float = ASK_SECONDS) -> Contact:
    """Whether that topology's driver is there."""
    try:
        async with asyncio.timeout(seconds), _opened(door, seconds):
            return Contact.ANSWERS
    except (AuthenticationError, ProtocolError, ConnectionError):
        # the port is closed, or has another owner now
        return Contact.REFUSED
    except BusyError:
        return Contact.ANSWERS
    except (OSError, PaspsError):
        return Contact.SILENT


@asynccontextmanager
async def _opened(door: Door, seconds: float) -> AsyncIterator[ControlClient]:
    async with asyncio.timeout(seconds):
        client = await ControlClient.to_driver(door.address, door.topology, door.token, _where(door))
    try:
        yield client
    finally:
        client.close()


def _where(door: Door) -> str:
    return f"the driver of topology {door.topology!r} at {door.address[0]}:{door.address[1]}"
