"""Whether a part of the development cluster is really up: it answers as it should, not only lives. Each call blocks for a second or two."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable
from importlib import import_module
from typing import Any

from pasps.cluster.dev.ports import HOST
from pasps.cluster.dev.zookeeper_server import is_serving
from pasps.cluster.launch.spark_daemons import ask_master
from pasps.errors import BrokenError

Probe = Callable[[], str | None]
"""None: it is up. Else what it does not do yet."""
_SECONDS = 1.0


def zookeeper_probe(port: int, credentials: str) -> Probe:
    """It serves requests, of the cluster's user alone."""

    def probe() -> str | None:
        if not is_serving(port):
            return "it does not answer"
        try:
            # only who brings a cluster up needs kazoo
            import_module("pasps.cluster.store.zookeeper_access").close_to_others(f"{HOST}:{port}", credentials)
        except BrokenError as error:
            return str(error)
        return None

    return probe


def spark_master_probe(ui_port: int) -> Probe:
    """It is the one that acts."""

    def probe() -> str | None:
        try:
            return None if ask_master(ui_port, _SECONDS).alive else "it recovers what it knew before"
        except (OSError, ValueError) as error:
            return f"it does not answer ({error})"

    return probe


def spark_worker_probe(port: int, master_ui_port: int) -> Probe:
    """It listens, and the master counts on it."""

    def probe() -> str | None:
        try:
            # for a moment the master takes one that was killed for alive
            socket.create_connection((HOST, port), _SECONDS).close()
        except OSError as error:
            return f"it does not answer ({error})"
        try:
            return None if port in ask_master(master_ui_port, _SECONDS).workers else "Spark's master does not know it, or takes it for dead"
        except (OSError, ValueError) as error:
            return f"Spark's master does not answer ({error})"

    return probe


def health_probe(port: int, what: Callable[[Any], str | None]) -> Probe:
    """Its /healthz answers, and `what` has no complaint about the JSON."""

    def probe() -> str | None:
        try:
            return what(healthz(port))
        except (OSError, ValueError, KeyError, TypeError) as error:
            return f"it does not answer ({error})"

    return probe


def predictor_complaint(said: Any) -> str | None:
    """It has loaded its libraries."""
    return None if said["status"] == "ready" else "it loads its libraries"


def master_complaint(port: int, said: Any) -> str | None:
    """It leads, or it waits behind another one; its own entry from before it was killed is no other one."""
    another = said["leader"] is not None and not said["leader"].endswith(f":{port}")
    return None if said["leads"] or another else "it does not lead yet"


def healthz(port: int) -> Any:
    """What /healthz says.

    Raises:
        OSError: nobody answers.
        ValueError: it is no JSON.
    """
    connection = http.client.HTTPConnection(HOST, port, timeout=_SECONDS)
    try:
        connection.request("GET", "/healthz")
        return json.loads(connection.getresponse().read())
    except http.client.HTTPException as error:
        raise ValueError(f"not HTTP: {error!r}") from error
    finally:
        connection.close()
