"""What the server asks of a process that fits, and how they talk: pickled values over a socket pair that nobody else can reach.

No library: both sides import it.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from predictor_service.trained.artifacts import Place

_LENGTH_BYTES = 4


@dataclass(frozen=True, slots=True)
class Job:
    """One fit; after `alarm_seconds` the kernel ends the process, whatever it is doing and whether or not the server still lives."""

    model: str
    samples: Sequence[float]
    horizon: int
    step_seconds: float
    alarm_seconds: float
    levels: tuple[float, ...] | None = None
    """The quantiles of the running sum that are wanted; None: of single steps only the expected."""
    artifact: Place | None = None
    """The model is trained already, and this is where it is."""


def packed(value: object) -> bytes:
    """One message: a value with its length before it."""
    body = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return len(body).to_bytes(_LENGTH_BYTES) + body


async def received(stream: asyncio.StreamReader) -> Any:
    """The next message.

    Raises:
        asyncio.IncompleteReadError: the other end was closed before the whole of it was there.
    """
    length = int.from_bytes(await stream.readexactly(_LENGTH_BYTES))
    return pickle.loads(await stream.readexactly(length))


def wait_received(stream: BinaryIO) -> Any:
    """The same for who has no event loop, and blocks; None instead of the error."""
    length = int.from_bytes(stream.read(_LENGTH_BYTES))
    body = stream.read(length)
    return pickle.loads(body) if body and len(body) == length else None
