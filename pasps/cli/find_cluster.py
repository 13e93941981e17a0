"""Where the cluster is: `--master`, else PASPS_MASTER, else the development cluster of this machine while it is up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from pasps.cli.master_client import ClusterAddress, MasterClient
from pasps.cluster.dev.processes import ProcessRef
from pasps.cluster.store.tokens import TOKEN_VARIABLE
from pasps.errors import InvalidError
from pasps.topology.run_list import base_directory

MASTER_VARIABLE = "PASPS_MASTER"
NO_CLUSTER = f"no cluster is known here; start one with `pasps cluster up`, or give its address with --master URL or {MASTER_VARIABLE}"


def find_cluster(given: str | None, environment: Mapping[str, str] = os.environ) -> MasterClient | None:
    """The cluster that is meant, None when none is known; nobody is asked unless a development cluster was started here.

    Raises:
        InvalidError: the address, or the token, is none.
    """
    token = environment.get(TOKEN_VARIABLE, "").strip() or None
    developed = development_cluster(cluster_file(base_directory(environment)))
    said = ("--master", given) if given is not None else (MASTER_VARIABLE, environment.get(MASTER_VARIABLE, "").strip())
    if said[1]:
        if token is None and developed is not None and developed.master == said[1].rstrip("/"):
            token = developed.token
        return MasterClient(ClusterAddress(said[1], token, said[0]))
    if given is not None:
        raise InvalidError("--master: expected the address of a master, got nothing")
    if developed is None:
        return None
    client = MasterClient(developed)
    return client if client.is_up() else None


def the_cluster(given: str | None) -> MasterClient:
    """The same, for commands that need one.

    Raises:
        InvalidError: none is known.
    """
    found = find_cluster(given)
    if found is None:
        raise InvalidError(NO_CLUSTER)
    return found


def cluster_file(base: Path) -> Path:
    """Where `pasps cluster up` writes down what it started."""
    return base / "cluster" / "cluster.json"


class _Told(msgspec.Struct):
    """What is of use here of a `ClusterState`."""

    master: str
    token: str | None
    processes: dict[str, ProcessRef]


def development_cluster(path: Path) -> ClusterAddress | None:
    """What that file says; None: there is none that can be read, or its master is dead, and who listens in its place may be anybody."""
    try:
        told = msgspec.json.decode(path.read_bytes(), type=_Told)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    master = told.processes.get("master")
    if master is None or not master.alive:
        return None
    return ClusterAddress(told.master.rstrip("/"), told.token or None, "the development cluster of this machine")
