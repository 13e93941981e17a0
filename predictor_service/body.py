"""The bytes of a request: at most so many, in at most so long, and said to be JSON."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from predictor_service.errors import ClientGoneError, MediaTypeError, TooLargeError, TooSlowError

MOST_BYTES = 4 * 2**20
"""Room for the most samples with every digit."""

_MOST_SECONDS = 10.0


async def read_json(request: Request) -> bytes:
    """The body, read to its end.

    Raises:
        RequestError: it is not JSON by its header, too large, too slow, or the client has gone.
    """
    _check_type(request.headers.get("content-type", ""))
    if (length := request.headers.get("content-length", "0")).isdecimal() and int(length) > MOST_BYTES:
        raise _too_large(f"{int(length):,}")
    try:
        async with asyncio.timeout(_MOST_SECONDS):
            return await _read(request)
    except TimeoutError as late:
        raise TooSlowError(f"body: did not arrive within {_MOST_SECONDS:g} s; send it again") from late
    except ClientDisconnect as gone:
        raise ClientGoneError("the client closed its connection") from gone


async def _read(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise _too_large("more")
    return b"".join(parts)


def _check_type(header: str) -> None:
    kind = header.partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise MediaTypeError(f"expected the header Content-Type: application/json, got {header[:60]!r}")


def _too_large(got: str) -> TooLargeError:
    return TooLargeError(f"body: expected at most {MOST_BYTES:,} bytes, got {got}; send fewer samples, the newest")
