"""A PostgreSQL server of the tests' own, from the binaries that are installed; its data are gone with it.

It listens on a Unix socket, where everybody is trusted, and on a loopback port, where a password is asked for.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import psutil
import psycopg

from tests.integration.running import until

_NO_SYNC = ("fsync=off", "full_page_writes=off")
"""What is committed is with the operating system, which outlives a killed server."""
_ACCESS = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
PASSWORD = "quite secret: @/%"


class PostgresServer:
    """Starts with the first `start`; `kill` ends it as a power failure does, and `start` brings it back on the same port."""

    def __init__(self) -> None:
        self._binaries = _binaries()
        self._directory = Path(tempfile.mkdtemp(prefix="pg-"))  # short, for the socket's path
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = _owner()
        if self._owner is not None:
            os.chown(self._directory, self._owner.pw_uid, self._owner.pw_gid)

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Not as root: PostgreSQL refuses that."""
        owner = self._owner
        with (self._directory / "log").open("ab") as log:
            return subprocess.Popen(
                [self._binaries / program, *arguments],
                stdout=log,
                stderr=log,
                cwd=self._directory,
                user=None if owner is None else owner.pw_uid,
                group=None if owner is None else owner.pw_gid,
                extra_groups=None if owner is None else [],
            )

    @property
    def data(self) -> Path:
        return self._directory / "data"

    def start(self) -> None:
        """Back when it answers."""
        if not self.data.exists():
            made = self._run("initdb", "-D", str(self.data), "-U", "tester", "-E", "UTF8", "--locale=C", "--no-sync", "--auth=trust")
            assert made.wait(100) == 0, self.log()
            (self.data / "pg_hba.conf").write_text(_ACCESS)
        settings = [part for setting in _NO_SYNC for part in ("-c", setting)]
        place = ("-k", str(self._directory), "-h", "127.0.0.1", "-p", str(self.port))
        self._process = self._run("postgres", "-D", str(self.data), *place, *settings)
        until(self._answers, lambda: f"PostgreSQL to answer: {self.log()}")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        try:
            psycopg.connect(self.address("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def log(self) -> str:
        return (self._directory / "log").read_text(errors="replace")[-4000:]

    def address(self, database: str) -> str:
        """For psycopg."""
        return f"host={self._directory} port={self.port} user=tester dbname={database}"

    def url(self, database: str, user: str = "tester") -> str:
        """For `sql.url`, by the socket."""
        return f"postgresql+psycopg://{user}@/{database}?host={self._directory}&port={self.port}"

    def tcp_url(self, database: str) -> str:
        """For `sql.url`, by the port: user `guarded` must give PASSWORD."""
        return f"postgresql+psycopg://guarded@127.0.0.1:{self.port}/{database}"

    def create(self, database: str) -> None:
        """An empty database."""
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{database}"'.encode())

    def kill(self) -> None:
        """Everything at once, with SIGKILL; back when all of it is gone."""
        assert self._process is not None
        parts = psutil.Process(self._process.pid).children(recursive=True)
        self._process.kill()
        self._process.wait(60)
        for part in parts:
            with contextlib.suppress(psutil.NoSuchProcess):
                part.kill()
        _, left = psutil.wait_procs(parts, 10)
        assert not left

    def stop(self) -> None:
        """For good."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(60)
        shutil.rmtree(self._directory)


def _binaries() -> Path:
    """The newest of Debian's, else those on the path."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = shutil.which("initdb")
    assert installed or found, "these tests need a PostgreSQL server: apt-get install postgresql"
    return installed[-1].parent if installed else Path(str(found)).parent


def _owner() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
