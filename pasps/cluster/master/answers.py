"""Errors as HTTP has them: `{"error": {"kind", "text"}}` and a status. Pure but for the response."""

from __future__ import annotations

import logging

from fastapi import Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from pasps import errors
from pasps.cluster.master.failures import (
    DriverUnreachableError,
    NotLeadingError,
    RefusedPackageError,
    TooLargeError,
    UnknownTopologyError,
)
from pasps.cluster.store.contract import StoreUnavailableError
from pasps.errors import BusyError, ClosedError, InvalidError, PaspsError, TimeoutExpiredError

_log = logging.getLogger(__name__)

RETRY_SECONDS = 1

STATUSES: tuple[tuple[type[PaspsError], int], ...] = (
    (UnknownTopologyError, 404),
    (TooLargeError, 413),
    (BusyError, 409),
    (InvalidError, 422),
    (TimeoutExpiredError, 504),
    (NotLeadingError, 503),
    (DriverUnreachableError, 503),
    (StoreUnavailableError, 503),
    (ClosedError, 503),
    (PaspsError, 502),
)
"""Most specific first; 502 is what a driver said of itself."""


def refusal(status: int, kind: str, text: str) -> JSONResponse:
    """An answer that says no."""
    headers = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else None
    if status == 401:
        headers = {"WWW-Authenticate": "Bearer"}
    return JSONResponse({"error": {"kind": kind, "text": text}}, status, headers)


def answer_of(error: PaspsError) -> JSONResponse:
    """The answer that an error makes."""
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    return refusal(status, kind_of(error), str(error))


def kind_of(error: PaspsError) -> str:
    """The word that `verbs.error_of` makes an error of again; for a package the word of its check."""
    if isinstance(error, RefusedPackageError):
        return error.kind
    names = (kind.__name__ for kind in type(error).__mro__ if getattr(errors, kind.__name__, None) is kind)
    return next(names, "PaspsError")


async def answer_pasps(request: Request, error: Exception) -> JSONResponse:
    """For what this package raises."""
    assert isinstance(error, PaspsError)
    return answer_of(error)


async def answer_http(request: Request, error: Exception) -> JSONResponse:
    """For what has no route."""
    assert isinstance(error, HTTPException)
    path = request.url.path[:100]
    text = {
        404: f"there is no {path!r}; the API begins with /v1/topologies",
        405: f"{path!r} does not take {request.method}",
    }.get(error.status_code, str(error.detail))
    return refusal(error.status_code, "InvalidError", text)


async def answer_rest(request: Request, error: Exception) -> JSONResponse:
    """The daemon's door: the request fails, the master goes on."""
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return refusal(500, "BrokenError", f"the master failed, see its log: {type(error).__name__}: {error}")
