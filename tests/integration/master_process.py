"""Masters as processes, with stand-in drivers; run as a program this is such a master."""

from __future__ import annotations

import argparse
import http.client
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from pasps.cli.master import announce
from pasps.cluster.master.serve import serve
from pasps.cluster.master.settings import Settings
from pasps.cluster.package.make import PackageRequest, build_package
from tests.integration.running import PATIENCE_SECONDS, until
from tests.integration.standin_driver import BEHAVIOUR, STARTED

ROOT = Path(__file__).parents[2]
TOKEN = "t0ken"
SESSION_SECONDS = 4.0
TOPOLOGY = """
from pasps import Bolt, Spout, Topology

class Lines(Spout):
    outputs = ["line"]
    def next_tuple(self):
        return None

class Count(Bolt):
    def process(self, tup):
        pass

class Counting(Topology):
    lines = Lines.spec()
    count = Count.spec(inputs=[lines], pool=4)
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    for option in ("zookeeper", "home", "packages"):
        parser.add_argument(f"--{option}")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    settings = Settings(
        spark="spark://127.0.0.1:7077",
        zookeeper=options.zookeeper,
        home=Path(options.home),
        port=0,
        packages=options.packages,
        session_seconds=SESSION_SECONDS,
        token=os.environ.get("PASPS_TOKEN"),
    )
    driver = str(ROOT / "tests" / "integration" / "standin_driver.py")
    serve(settings, announce, (sys.executable, driver))


class MasterProcess:
    """Answers when it is made."""

    def __init__(self, connect: str, home: Path, packages: Path | None = None, token: str | None = TOKEN) -> None:
        self.home = home
        command = [sys.executable, "-m", "tests.integration.master_process", "--zookeeper", connect, "--home", str(home)]
        environment = {key: value for key, value in os.environ.items() if key != "PASPS_TOKEN"}
        self._log = home.with_suffix(".log")
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *(["--packages", str(packages)] if packages else [])],
                env=environment if token is None else {**environment, "PASPS_TOKEN": token},
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.token = token

    def wait_up(self) -> MasterProcess:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("master listening on http://127.0.0.1:"), self.said()
        self.port = int(line.rsplit(":", 1)[1])
        return self

    def said(self) -> str:
        return self._log.read_text()

    def ask(self, method: str, path: str, body: bytes | Mapping[str, Any] | None = None, token: str | None = None) -> tuple[int, Any]:
        """Status and JSON, and for a redirection where to."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            content = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
            connection.request(method, path, content, {"Authorization": f"Bearer {token or self.token}"})
            answer = connection.getresponse()
            said = answer.read()
            return answer.status, answer.headers["Location"] if answer.status == 307 else json.loads(said)
        finally:
            connection.close()

    def leads(self) -> bool:
        return bool(self.ask("GET", "/healthz")[1]["leads"])

    def topology(self, name: str) -> Any:
        return self.ask("GET", f"/v1/topologies/{name}")[1]

    def until_runs(self, name: str, epoch: int = 1) -> dict[str, Any]:
        """What its driver says of itself once it runs."""

        def runs() -> dict[str, Any] | None:
            shown = self.topology(name)
            return shown["driver"] if (shown.get("state"), shown.get("epoch")) == ("running", epoch) else None

        return until(runs, lambda: f"{name} to run: {self.topology(name)}, {self.said()}") or {}

    def started(self, name: str) -> list[int]:
        """The epochs of the drivers that it started."""
        path = self.home / "topologies" / name / STARTED
        return [int(line.split()[0]) for line in path.read_text().splitlines()] if path.exists() else []

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)

    def clean_up(self) -> None:
        """End it, and the drivers that it started."""
        if self.process.poll() is None:
            self.kill()
        assert self.process.stdout is not None
        self.process.stdout.close()
        home = f"{self.home}/"
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            if any(word.startswith(home) for word in words):
                end_driver(process.pid)


def end_driver(pid: int) -> None:
    """Only a stand-in."""
    try:
        process = psutil.Process(pid)
        if any("standin_driver" in word for word in process.cmdline()):
            process.kill()
    except psutil.NoSuchProcess:
        pass


@contextmanager
def masters(*started: MasterProcess) -> Iterator[list[MasterProcess]]:
    """Answering; more may be added to the list."""
    known = [*started]
    try:
        yield [master.wait_up() for master in known] and known
    finally:
        for master in known:
            master.clean_up()


def package(directory: Path, name: str, behaviour: str = "", text: str = TOPOLOGY) -> bytes:
    """A real one."""
    file = directory / "counting.py"
    file.write_text(text)
    target = directory / f"{name}.zip"
    build_package(PackageRequest(file, name=name, options={BEHAVIOUR: behaviour} if behaviour else {}), target)
    return target.read_bytes()


if __name__ == "__main__":
    main()
