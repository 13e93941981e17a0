"""ZooKeeper as a child of the tests, on a port that stays its own while it is away."""

from __future__ import annotations

import atexit
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

from pasps.clock import Clock, Deadline, SystemClock
from pasps.cluster.dev.zookeeper_server import LOOPBACK, ZooKeeperStartError, check_port, is_serving, server_command, tail

LOG_FILE = "zookeeper.log"
"""The server's output, in its directory."""

START_SECONDS = 100.0
_STOP_SECONDS = 60.0
_POLL_SECONDS = 0.02


def free_port(host: str = LOOPBACK) -> int:
    """A port that nobody listens on, below those that outgoing connections get: it stays free while the server is away."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), 50):
        try:
            check_port(port, host)
        except ZooKeeperStartError:
            continue
        return port
    raise ZooKeeperStartError(f"no free port found for ZooKeeper on {host} between 20000 and 32000")


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
