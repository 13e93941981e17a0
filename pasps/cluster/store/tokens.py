"""Secrets that are made of the one key which all masters of a cluster share, and which no client has. Pure."""

from __future__ import annotations

import hashlib
import hmac

TOKEN_VARIABLE = "PASPS_TOKEN"
"""The environment variable that has the secret which clients send to the masters."""
ZOOKEEPER_VARIABLE = "PASPS_ZOOKEEPER_AUTH"
PREDICTOR_VARIABLE = "PASPS_PREDICTOR_TOKEN"
SIGNING_VARIABLE = "PASPS_SIGNING_KEY"
"""That of the masters' key; without it the token is in its place."""
SECRET_VARIABLES = (TOKEN_VARIABLE, SIGNING_VARIABLE, ZOOKEEPER_VARIABLE, PREDICTOR_VARIABLE, "_SPARK_AUTH_SECRET")
"""What no process that runs user code may find in its environment."""


def driver_token(key: str, topology: str, epoch: int) -> str:
    """What opens the control port of one driver; any master can make it, and it opens that of no other topology, and of no other epoch."""
    return hmac.new(key.encode(), f"driver:{epoch}:{topology}".encode(), hashlib.sha256).hexdigest()


def submission_key(key: str, topology: str) -> str:
    """What the masters sign that topology's submission with in the store; its driver, who checks it, can sign no other topology's."""
    return hmac.new(key.encode(), f"submission:{topology}".encode(), hashlib.sha256).hexdigest()


def signature(key: str, said: bytes) -> str:
    """The proof that somebody who has the key said this."""
    return hmac.new(key.encode(), said, hashlib.sha256).hexdigest()


def is_token(given: str, expected: str) -> bool:
    """Whether it is the right one, in a time that does not tell how much of it is right."""
    return hmac.compare_digest(given.encode(), expected.encode())
