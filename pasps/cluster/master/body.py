"""The bodies of requests: at most so many bytes, and never an endless wait for the next ones."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from pasps.cluster.master.failures import TooLargeError
from pasps.cluster.package.layout import MOST_PACKAGE_BYTES, megabytes
from pasps.errors import BrokenError, InvalidError, TimeoutExpiredError

_T = TypeVar("_T")

MOST_JSON_BYTES = 60 << 10
"""A driver's control port takes lines of 64 KiB."""
IDLE_SECONDS = 30.0


async def read_json(request: Request, kind: type[_T]) -> _T:
    """The body as JSON; an empty one is `{}`.

    Raises:
        InvalidError: it is none, or not of this kind.
        TooLargeError: it is too long.
    """
    body = b"".join([part async for part in _parts(request, MOST_JSON_BYTES)])
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidError(f"body: expected JSON: {error}") from error


async def save(request: Request, path: Path, most_bytes: int = MOST_PACKAGE_BYTES) -> str:
    """Write the body to a new file as it comes; returns its SHA-256. The file stays when it fails.

    Raises:
        TooLargeError: it is too long.
        InvalidError: it is empty.
        BrokenError: it cannot be written, or the client has gone.
    """
    sink = _Sink(path)
    try:
        async for part in _parts(request, most_bytes):
            sink.write(part)
    except OSError as error:
        raise BrokenError(f"the package cannot be written to {path.parent}: {error.strerror or error}") from error
    finally:
        sink.close()
    if not sink.size:
        raise InvalidError("body: expected a package, got nothing")
    return sink.sha256


class _Sink:
    """A file that is written, and its hash."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")
        except OSError as error:
            raise BrokenError(f"the package cannot be written to {path.parent}: {error.strerror}") from error
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def write(self, part: bytes) -> None:
        self._file.write(part)
        self._hash.update(part)
        self.size += len(part)

    def close(self) -> None:
        self._file.close()


async def _parts(request: Request, most_bytes: int) -> AsyncIterator[bytes]:
    length: Any = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most_bytes:
        raise _too_large(most_bytes, megabytes(int(length)))
    size = 0
    stream = aiter(request.stream())
    while True:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                part = await anext(stream, None)
        except TimeoutError as late:
            raise TimeoutExpiredError(f"body: nothing came for {IDLE_SECONDS:g} s; send it again") from late
        except ClientDisconnect as gone:
            raise BrokenError("the client closed its connection") from gone
        if part is None:
            return
        size += len(part)
        if size > most_bytes:
            raise _too_large(most_bytes, "more")
        yield part


def _too_large(most_bytes: int, got: str) -> TooLargeError:
    return TooLargeError(f"body: expected at most {megabytes(most_bytes)}, got {got}")
