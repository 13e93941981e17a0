"""What is written down of a development cluster, in HOME/cluster.json: where it answers, its secrets, and its processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from pasps.cluster.dev.processes import ProcessRef
from pasps.errors import InvalidError
from pasps.topology.run_record import write_json

FILE_NAME = "cluster.json"
SCHEMA = "pasps.cluster/2"


@dataclass(frozen=True, slots=True)
class ClusterState:
    """One cluster. Written before its first process starts and after each, so that whoever comes later can end them all.

    `master` and `token` are what clients need. `ports` has one or more for each part, and stays the same when a part is started
    again; `processes` has those parts that were started.
    """

    master: str
    token: str
    signing_key: str
    zookeeper: str
    zookeeper_auth: str
    spark: str
    spark_secret: str
    predictor: str
    predictor_token: str
    workers: int
    cores: int
    ports: Mapping[str, int]
    processes: Mapping[str, ProcessRef] = field(default_factory=dict)
    schema: str = SCHEMA


def read_state(home: Path) -> ClusterState | None:
    """The state in a home; None: no cluster is up there, or was not ended.

    Raises:
        InvalidError: the file cannot be read, or is of another version.
    """
    path = home / FILE_NAME
    cure = f"end its processes, and remove {path}"
    try:
        state = msgspec.json.decode(path.read_bytes(), type=ClusterState)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidError(f"{path}: expected a record of schema {SCHEMA!r}: {error}; {cure}") from error
    if state.schema != SCHEMA:
        raise InvalidError(f"{path}: expected schema {SCHEMA!r}, got {state.schema!r}; {cure}")
    return state


def write_state(home: Path, state: ClusterState) -> None:
    """Write it, whole or not at all, readable for its owner alone.

    Raises:
        OSError: it cannot be written.
    """
    write_json(home / FILE_NAME, state)
