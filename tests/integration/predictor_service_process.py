"""One predictor service as a process, for its tests, and the models of a package that does everything wrong."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

PATIENCE_SECONDS = 100.0

MODELS = """
import os, pathlib, time
from predictor_service.model import Model

def sleepy(samples, horizon, step_seconds):
    time.sleep(max(samples))
    return [1.0] * horizon

def stuck(samples, horizon, step_seconds):
    pathlib.Path(__file__).with_name("stuck.mark").touch()
    while True:
        pass

def deadly(samples, horizon, step_seconds):
    os.kill(os.getpid(), 9)

def fragile(samples, horizon, step_seconds):
    mark = pathlib.Path(__file__).with_name("fragile.mark")
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    return [1.0] * horizon

def loud(samples, horizon, step_seconds):
    print("not for the parent", flush=True)
    raise ZeroDivisionError("of no use")

def model(predict):
    return Model(name=predict.__name__, about="", predict=predict)

SLEEPY, STUCK, DEADLY, FRAGILE, LOUD = map(model, (sleepy, stuck, deadly, fragile, loud))
"""

ENTRY_POINTS = """
[predictor_service.models]
a = bad_models:SLEEPY
b = bad_models:STUCK
c = bad_models:DEADLY
d = bad_models:FRAGILE
e = bad_models:LOUD
f = bad_models:MISSING
g = no_such_module:MODEL
"""


def install_bad_models(folder: Path) -> dict[str, str]:
    """An installed package as the service finds it; returns the environment that makes it findable."""
    (folder / "bad_models.py").write_text(MODELS)
    info = folder / "bad_models-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-models\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return {"PYTHONPATH": str(folder)}


class Service:
    """Running when made; `clean_up` when the test is over."""

    def __init__(self, *options: str, environment: dict[str, str] | None = None, command: tuple[str, ...] = ("predictor_service",)) -> None:
        self.process = psutil.Popen(
            [sys.executable, "-m", *command, "--port", "0", *options],
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.line = self.process.stdout.readline()
        assert self.line.startswith("predictor listening on http://127.0.0.1:"), self.process.stderr.read()
        self.port = int(self.line.rsplit(":", 1)[1])
        self.family: list[psutil.Process] = []

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and JSON, or text when it is none, over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, json.loads(text) if answer.headers["Content-Type"] == "application/json" else text
        finally:
            connection.close()

    def predict(self, model: str, samples: list[float], horizon: int = 3) -> tuple[int, Any]:
        return self.call("POST", "/v1/predict", {"model": model, "samples": samples, "horizon": horizon})

    def wait_ready(self) -> None:
        """Until every process has its libraries; remembers them."""
        wait_until(lambda: self.call("GET", "/healthz")[1]["status"] == "ready", "ready service")
        self.family = self.process.children(recursive=True)

    def fitting(self) -> list[psutil.Process]:
        """The processes that fit: the children of the fork server, which is the service's only child."""
        return [child for server in self.process.children() for child in server.children()]

    def wait_ended(self) -> int:
        """Its exit code; fails when it leaves a process behind or wrote a traceback."""
        code = self.process.wait(PATIENCE_SECONDS)
        wait_until(lambda: not alive(self.family), "end of all its processes")
        told = self.process.stderr.read()
        assert "Traceback" not in told, told
        assert self.process.stdout.read() == ""
        return int(code)

    def clean_up(self) -> None:
        for process in {self.process, *self.family}:
            if process.is_running():
                process.kill()
        self.process.wait(PATIENCE_SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def wait_until(condition: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"no {what} after {seconds} s"
        time.sleep(0.01)
