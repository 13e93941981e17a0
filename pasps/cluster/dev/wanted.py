"""What a development cluster is to be, and the state that it then begins with."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

from pasps.cluster.dev.parts import port_names
from pasps.cluster.dev.ports import HOST, free_ports
from pasps.cluster.dev.state import ClusterState
from pasps.errors import InvalidError

WORKERS, CORES = 2, 4
_CHROOT = "/pasps"
_MOST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class WantedCluster:
    """Spark workers, cores of each, and the master's port. None: as it is, or the default when there is none.

    Raises:
        InvalidError: a number that cannot be.
    """

    workers: int | None = None
    cores: int | None = None
    port: int | None = None

    def __post_init__(self) -> None:
        for option, value in (("--workers", self.workers), ("--cores", self.cores)):
            if value is not None and value < 1:
                raise InvalidError(f"{option}: expected a whole number of at least 1, got {value}")
        if self.port is not None and not 1 <= self.port <= _MOST_PORT:
            raise InvalidError(f"--port: expected 1 to {_MOST_PORT}, got {self.port}")


def new_state(wanted: WantedCluster) -> ClusterState:
    """A new cluster's state, with new secrets, and ports that are free now; that of the master is not looked at when it is wanted."""
    workers = WORKERS if wanted.workers is None else wanted.workers
    names = port_names(workers)
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    if wanted.port is not None:
        ports["master"] = wanted.port
    return ClusterState(
        master=f"http://{HOST}:{ports['master']}",
        token=secrets.token_urlsafe(32),
        signing_key=secrets.token_urlsafe(32),
        zookeeper=f"{HOST}:{ports['zookeeper']}{_CHROOT}",
        zookeeper_auth=f"pasps:{secrets.token_urlsafe(32)}",
        spark=f"spark://{HOST}:{ports['spark-master']}",
        spark_secret=secrets.token_urlsafe(32),
        predictor=f"http://{HOST}:{ports['predictor']}",
        predictor_token=secrets.token_urlsafe(32),
        workers=workers,
        cores=CORES if wanted.cores is None else wanted.cores,
        ports=ports,
    )


def with_new_secrets(state: ClusterState, *, lives: bool, knows_token: bool) -> ClusterState:
    """What is sent to ports is made anew, as far as what lives can live with that: whoever took the ports may have been told the old ones.

    `lives`: whether anything does; drivers know the predictor's token. `knows_token`: whether anybody who lives was told the master's.
    """
    return replace(
        state,
        token=state.token if knows_token else secrets.token_urlsafe(32),
        predictor_token=state.predictor_token if lives else secrets.token_urlsafe(32),
    )


def check_same(state: ClusterState, wanted: WantedCluster) -> None:
    """Whether what is there is what is wanted.

    Raises:
        InvalidError: it is not.
    """
    pairs = (
        ("--workers", state.workers, wanted.workers),
        ("--cores", state.cores, wanted.cores),
        ("--port", state.ports["master"], wanted.port),
    )
    for option, here, asked in pairs:
        if asked is not None and asked != here:
            raise InvalidError(
                f"the cluster that is up has {option} {here}, got {asked}; leave the option out, or `pasps cluster down` first"
            )
