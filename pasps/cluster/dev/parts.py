"""What a development cluster is made of: one entry a process, with its command, its address, and what must be up before it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from pasps.cluster.dev.home import ARTIFACTS, MASTER, PACKAGES, RECOVERY, SPARK, ZOOKEEPER
from pasps.cluster.dev.ports import HOST, is_free
from pasps.cluster.dev.probes import (
    Probe,
    health_probe,
    master_complaint,
    predictor_complaint,
    spark_master_probe,
    spark_worker_probe,
    zookeeper_probe,
)
from pasps.cluster.dev.processes import MARK
from pasps.cluster.dev.state import ClusterState
from pasps.cluster.dev.zookeeper_server import server_command
from pasps.cluster.launch.java import find_java, java_path
from pasps.cluster.launch.spark_daemons import (
    SparkInstallation,
    SparkMaster,
    SparkWorker,
    environment,
    find_spark,
    master_command,
    worker_command,
)
from pasps.cluster.launch.spark_java import ARCHIVE_VARIABLE, archive_of
from pasps.cluster.store.tokens import SIGNING_VARIABLE, TOKEN_VARIABLE, ZOOKEEPER_VARIABLE
from pasps.errors import BrokenError, InvalidError
from pasps.topology import predictor_process

_NEEDED = ("kazoo", "fastapi", "uvicorn", "pydantic")
_KEPT_VARIABLES = ("PASPS_HOME", "PASPS_LOG")


@dataclass(frozen=True, slots=True)
class Tools:
    """What the parts are made with, found on this machine."""

    java: str
    spark: SparkInstallation


@dataclass(frozen=True, slots=True)
class Part:
    """One process. `ports` are those it listens on; `needs` names parts that must be up before it starts.

    `command` is called when it starts, and may write what it needs; `secrets` are environment variables that it alone gets.
    """

    name: str
    address: str
    ports: tuple[int, ...]
    needs: tuple[str, ...]
    command: Callable[[Tools], Sequence[str]]
    probe: Probe
    secrets: Mapping[str, str] = field(default_factory=dict)


def find_tools(inherited: Mapping[str, str] = os.environ) -> Tools:
    """All that is needed.

    Raises:
        MissingJavaError: there is no Java, or it is too old.
        MissingSparkError: there is no Spark.
        BrokenError: packages are missing.
    """
    for names, cure in ((_NEEDED, "pip install 'pasps[cluster,spark]'"), (predictor_process.NEEDED, predictor_process.CURE)):
        if missing := [name for name in names if find_spec(name) is None]:
            raise BrokenError(f"{', '.join(missing)} not installed for {sys.executable}; {cure}")
    spark = find_spark()
    return Tools(str(find_java(inherited)), spark)


def port_names(workers: int) -> list[str]:
    """The names in `ClusterState.ports`."""
    spark = ["spark-master", *(worker_name(number) for number in range(1, workers + 1))]
    return ["zookeeper", "predictor", "master", *spark, *(f"{name}-ui" for name in spark)]


def worker_name(number: int) -> str:
    """Spark's workers, counted from 1."""
    return f"spark-worker-{number}"


def token_variables(state: ClusterState) -> dict[str, str]:
    """The secrets of a master, as it takes them."""
    return {
        TOKEN_VARIABLE: state.token,
        SIGNING_VARIABLE: state.signing_key,
        ZOOKEEPER_VARIABLE: state.zookeeper_auth,
        predictor_process.TOKEN_VARIABLE: state.predictor_token,
    }


def part_environment(spark: SparkInstallation, home: Path, inherited: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """The environment of a part: the cluster's mark, and nothing that speaks of another cluster."""
    kept = {name: value for name, value in inherited.items() if not name.startswith("PASPS_") or name in _KEPT_VARIABLES}
    java = java_path(inherited)
    archive = {} if java is None else {ARCHIVE_VARIABLE: str(archive_of(java, spark, inherited))}
    return {**environment(spark, home / SPARK, kept), MARK: str(home), **archive, **secrets}


def parts_of(home: Path, state: ClusterState) -> list[Part]:
    """All parts, in the order in which people see them."""
    workers = [_spark_worker(home, state, number) for number in range(1, state.workers + 1)]
    return [_zookeeper(home, state), _spark_master(home, state), *workers, _predictor(home, state), _master(home, state)]


def part_named(name: str, home: Path, state: ClusterState) -> Part:
    """One part.

    Raises:
        InvalidError: there is none of that name.
    """
    parts = {part.name: part for part in parts_of(home, state)}
    if name not in parts:
        raise InvalidError(f"expected a part of the cluster ({', '.join(parts)}), got {name!r}")
    return parts[name]


def check_ports(parts: Sequence[Part]) -> None:
    """Whether each could listen where it is to.

    Raises:
        InvalidError: somebody else listens there.
    """
    for part in parts:
        for port in part.ports:
            if not is_free(port):
                others = "`pasps cluster down` first, then `pasps cluster up` takes other ports"
                cure = "another --port, or none, which takes a free one" if part.name == "master" else others
                raise InvalidError(f"port {port} of {HOST} is taken, {part.name} cannot listen there; end who listens there, or {cure}")


def _zookeeper(home: Path, state: ClusterState) -> Part:
    port = state.ports["zookeeper"]
    return Part(
        "zookeeper",
        state.zookeeper,
        (port,),
        needs=(),
        # of the environment it wants the Java that was found, and PySpark's own jars
        command=lambda tools: server_command(home / ZOOKEEPER, port, HOST, {"PATH": os.path.dirname(tools.java)}),
        probe=zookeeper_probe(port, state.zookeeper_auth),
    )


def _spark_master(home: Path, state: ClusterState) -> Part:
    master = SparkMaster(state.ports["spark-master"], state.ports["spark-master-ui"], home / RECOVERY)
    return Part(
        "spark-master",
        master.url,
        (master.port, master.ui_port),
        needs=(),
        command=lambda tools: master_command(tools.java, tools.spark, master),
        probe=spark_master_probe(master.ui_port),
    )


def _spark_worker(home: Path, state: ClusterState, number: int) -> Part:
    name = worker_name(number)
    worker = SparkWorker(state.ports[name], state.ports[f"{name}-ui"], state.cores, home / SPARK / name)
    return Part(
        name,
        f"{HOST}:{worker.port}",
        (worker.port, worker.ui_port),
        # a worker that finds no master asks again after 5 to 15 seconds only
        needs=("spark-master",),
        command=lambda tools: worker_command(tools.java, tools.spark, worker, state.spark),
        probe=spark_worker_probe(worker.port, state.ports["spark-master-ui"]),
    )


def _predictor(home: Path, state: ClusterState) -> Part:
    port = state.ports["predictor"]
    options = ("--host", HOST, "--port", str(port), "--workers", "1", "--artifacts", str(home / ARTIFACTS))
    return Part(
        "predictor",
        state.predictor,
        (port,),
        needs=(),
        # -P: nothing in the current directory is taken for a library
        command=lambda _: [sys.executable, "-P", "-m", "predictor_service", *options],
        probe=health_probe(port, predictor_complaint),
        secrets={predictor_process.TOKEN_VARIABLE: state.predictor_token},
    )


def _master(home: Path, state: ClusterState) -> Part:
    port = state.ports["master"]
    where = ("--spark", state.spark, "--zookeeper", state.zookeeper, "--predictor", state.predictor)
    options = (*where, "--host", HOST, "--port", str(port), "--home", str(home / MASTER), "--packages", str(home / PACKAGES), "--ready")
    return Part(
        "master",
        state.master,
        (port,),
        needs=("zookeeper",),
        command=lambda _: [sys.executable, "-P", "-m", "pasps", "master", *options],
        probe=health_probe(port, partial(master_complaint, port)),
        secrets=token_variables(state),
    )
