"""A single ZooKeeper server of this machine, out of Spark's jars: for the development cluster and for tests."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from pasps.cluster.launch.java import QUICK_JAVA, MissingSparkError, find_java, spark_jars
from pasps.errors import BrokenError

LOOPBACK = "127.0.0.1"
_ASK_SECONDS = 1.0
_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

# these suffice, and make it start in half of the time that all of Spark's jars take
_JARS = (
    "zookeeper-[0-9]*.jar",
    "zookeeper-jute-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "slf4j-api-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "log4j-api-*.jar",
    "log4j-core-*.jar",
)
_OPTIONS = (
    *QUICK_JAVA,
    "-Xmx128m",
    "-XX:-UsePerfData",  # else the JVM leaves files in the temporary directory when it is killed
    "-Dlog4j2.level=WARN",
    "-Dlog4j2.disable.jmx=true",
    "-Dzookeeper.jmx.log4j.disable=true",
)
# a lost session is noticed within one tick; sessions of 4 to 40 s are those of ZooKeeper's own default. All clients of a development
# cluster have one address, so connections per address are not limited. One MB is allotted to its log at a time, instead of 64.
_CONFIG = """\
dataDir={data}
clientPort={port}
clientPortAddress={host}
tickTime=500
minSessionTimeout=4000
maxSessionTimeout=40000
maxClientCnxns=0
preAllocSize=1024
admin.enableServer=false
4lw.commands.whitelist=ruok,srvr
autopurge.snapRetainCount=3
autopurge.purgeInterval=1
"""


class ZooKeeperStartError(BrokenError):
    """The server did not come up; says why, with the end of its log."""


def server_command(directory: Path, port: int, host: str = LOOPBACK, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Write the server's configuration into `directory`, and return the command that runs it in the foreground.

    Its data are in `directory` too, so the same directory and port are the same server again.

    Raises:
        MissingJavaError: there is no Java.
        MissingSparkError: there are no jars of Spark, or no ZooKeeper in them.
        ZooKeeperStartError: the port is taken.
    """
    java, jars = find_java(environment), spark_jars(environment)
    check_port(port, host)
    directory = directory.resolve()
    (directory / "data").mkdir(parents=True, exist_ok=True)
    config = directory / "zoo.cfg"
    config.write_text(config_text(directory, port, host), "ascii")
    return [str(java), *_OPTIONS, "-cp", class_path(jars), _MAIN, str(config)]


def config_text(directory: Path, port: int, host: str) -> str:
    """What the server reads, as a file of Java properties. Pure."""
    data = json.dumps(str(directory / "data"))[1:-1]  # the escapes of JSON are among those of properties
    return _CONFIG.format(data=data, port=port, host=host)


def class_path(jars: Path) -> str:
    """Of the server: the few jars it needs, or all if Spark calls them otherwise one day.

    Raises:
        MissingSparkError: there is no ZooKeeper among them.
    """
    found = [sorted(jars.glob(pattern)) for pattern in _JARS]
    if not found[0]:
        raise MissingSparkError(f"{jars} has no ZooKeeper, expected {_JARS[0]}; install Spark 4 with `pip install 'pasps[spark]'`")
    return os.pathsep.join(str(paths[-1]) for paths in found) if all(found) else str(jars / "*")


def check_port(port: int, host: str = LOOPBACK) -> None:
    """Whether a server could listen there.

    Raises:
        ZooKeeperStartError: it could not.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does: ended connections do not hold the port
        try:
            probe.bind((host, port))
        except OSError as error:
            cure = "stop what listens there, or choose another port"
            raise ZooKeeperStartError(f"ZooKeeper cannot listen on {host}:{port}: {error.strerror}; {cure}") from error


def is_serving(port: int, host: str = LOOPBACK) -> bool:
    """Whether a ZooKeeper server answers there and serves requests. Blocks for a second at most."""
    try:
        with socket.create_connection((host, port), _ASK_SECONDS) as connection:
            connection.sendall(b"srvr")
            answer = b""
            while more := connection.recv(4096):
                answer += more
    except OSError:
        return False
    return b"Mode:" in answer  # before its data are loaded it answers without


def tail(log: Path, lines: int = 15) -> str:
    """The end of a Java program's log, without the places in its code; empty when there is none."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join([line for line in text.splitlines() if line.strip() and not line.startswith("\tat ")][-lines:])
