"""A single ZooKeeper server of this machine, out of Spark's jars: for the development cluster and for tests.

`server_command` is for who starts it detached; `ZooKeeperServer` owns one as a child.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import socket
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from pasps.clock import Clock, Deadline, SystemClock
from pasps.cluster.java import QUICK_JAVA, MissingSparkError, find_java, spark_jars
from pasps.errors import BrokenError

LOOPBACK = "127.0.0.1"
LOG_FILE = "zookeeper.log"
"""The server's output, in its directory."""

START_SECONDS = 30.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.02
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


def free_port(host: str = LOOPBACK) -> int:
    """A port that nobody listens on, below those that outgoing connections get: it stays free while the server is away."""
    for port in random.sample(range(20_000, 32_000), 50):
        try:
            check_port(port, host)
        except ZooKeeperStartError:
            continue
        return port
    raise ZooKeeperStartError(f"no free port found for ZooKeeper on {host} between 20000 and 32000")


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


def wait_serving(port: int, exit_status: Callable[[float], int | None], log: Path, clock: Clock, host: str = LOOPBACK) -> None:
    """Block until the server answers. `exit_status(seconds)` waits that long for its end, and returns None while it runs.

    Raises:
        ZooKeeperStartError: it ended, or did not answer in half a minute; with the end of its log.
    """
    deadline = Deadline(clock, START_SECONDS)
    while not is_serving(port, host):
        status = exit_status(_POLL_SECONDS)
        if status is not None:
            raise ZooKeeperStartError(
                f"ZooKeeper on {host}:{port} ended with status {status} while starting; {log} ends with:\n{tail(log)}"
            )
        if deadline.expired():
            raise ZooKeeperStartError(
                f"ZooKeeper on {host}:{port} does not answer after {START_SECONDS:g} s; {log} ends with:\n{tail(log)}"
            )


def tail(log: Path, lines: int = 15) -> str:
    """The end of a Java program's log, without the places in its code; empty when there is none."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join([line for line in text.splitlines() if line.strip() and not line.startswith("\tat ")][-lines:])


class ZooKeeperServer:
    """One server as a child of this process; its calls block. It ends with the parent, unless that is killed.

    After `stop` or `kill`, `start` runs it again with the same data on the same port.
    """

    def __init__(self, directory: Path, port: int | None = None, host: str = LOOPBACK, clock: Clock | None = None) -> None:
        """Nothing runs yet. Without a port a free one is chosen."""
        self._directory, self._host = directory, host
        self.port = free_port(host) if port is None else port
        self._clock = clock or SystemClock()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def connect(self) -> str:
        """What clients are given, without a chroot."""
        return f"{self._host}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Its process, None when there is none."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Run it, and wait until it answers.

        Raises:
            MissingJavaError: there is no Java.
            MissingSparkError: there are no jars of Spark.
            ZooKeeperStartError: the port is taken, or it did not come up.
        """
        if self._process is not None:
            return
        command, log = server_command(self._directory, self.port, self._host), self._directory / LOG_FILE
        with log.open("ab") as output:
            self._process = process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        atexit.register(self.kill)
        try:
            wait_serving(self.port, lambda seconds: _status(process, seconds), log, self._clock, self._host)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """End it in order: clients see their connections close. Does nothing when it does not run."""
        if self._process is not None:
            self._process.terminate()
            _status(self._process, _STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End it at once. Does nothing when it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            atexit.unregister(self.kill)


def _status(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
