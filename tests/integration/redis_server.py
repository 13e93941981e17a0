"""A Redis of the test's own: Debian's `redis-server` on loopback, with a free port, its data in a directory of the test."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from tests.integration.running import until

_SECONDS = 100.0


class RedisServer:
    """Writes an append-only file, so that it goes on after `kill` and `start` where it was."""

    def __init__(self, directory: Path, *options: str) -> None:
        found = shutil.which("redis-server")
        assert found, "these tests start a redis-server, and there is none; on Debian: apt-get install redis-server (or: make servers)"
        self._program, self._directory, self._options = found, directory, options
        self._process: subprocess.Popen[bytes] | None = None
        with self.free_port() as port:
            self.port = port
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client = Redis.from_url(self.url, protocol=2, decode_responses=True)

    def start(self) -> None:
        self._directory.mkdir(exist_ok=True)
        where = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._directory), "--daemonize", "no"]
        kept = ["--appendonly", "yes", "--save", "", "--logfile", "redis.log"]
        self._process = subprocess.Popen([self._program, *where, *kept, *self._options])
        until(self._answers, lambda: f"redis-server: {(self._directory / 'redis.log').read_text()}", _SECONDS)

    def kill(self) -> None:
        """As if its process had crashed."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_SECONDS)
            self._process = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It takes connections and commands, and answers nothing meanwhile."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.client.close()
        self.kill()

    @staticmethod
    @contextmanager
    def free_port() -> Iterator[int]:
        """A port at which nobody listens, and nobody will meanwhile."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            yield int(probe.getsockname()[1])

    def _answers(self) -> bool:
        try:
            self.client.ping()
        except RedisError as error:
            return str(error).startswith(("NOAUTH", "Authentication required"))
        return True
