"""Secrets that are made of the one secret which all masters of a cluster share. Pure."""

from __future__ import annotations

import hashlib
import hmac

TOKEN_VARIABLE = "PASPS_TOKEN"
SECRET_VARIABLES = (TOKEN_VARIABLE, "PASPS_ZOOKEEPER_AUTH", "PASPS_PREDICTOR_TOKEN")
"""What no process that runs user code may find in its environment."""
"""The environment variable that has the masters' secret."""


def driver_token(token: str, topology: str) -> str:
    """What opens the control port of a topology's driver; any master can make it, and it opens no other topology's."""
    return hmac.new(token.encode(), f"driver:{topology}".encode(), hashlib.sha256).hexdigest()


def is_token(given: str, expected: str) -> bool:
    """Whether it is the right one, in a time that does not tell how much of it is right."""
    return hmac.compare_digest(given.encode(), expected.encode())
