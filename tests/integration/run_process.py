"""One `pasps run` as a process, and other commands beside it, for the tests of the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 100.0


class Run:
    """One `pasps run`, its output in files; ends whatever it left when the test is over. `home` is where its directory is kept."""

    def __init__(self, folder: Path, *arguments: str, home: Path | None = None, **options: Any) -> None:
        self.out, self.err = folder / "out", folder / "err"
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        # a path that is short enough for sockets, which pytest's own are not
        self._own_home = None if home is not None else Path(tempfile.mkdtemp(prefix="pasps-home-"))
        self.home = home or self._own_home
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = psutil.Popen(
                [sys.executable, "-m", "pasps", "run", *arguments],
                cwd=ROOT,
                env={**os.environ, "TMPDIR": str(self.scratch), "TERM": "xterm", "PASPS_HOME": str(self.home)},
                **{"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err, **options},
            )
        self.family: set[psutil.Process] = set()

    def lines(self) -> list[dict[str, Any]]:
        """The JSON objects so far."""
        return [json.loads(line) for line in self.out.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def wait_flowing(self) -> None:
        """Until tuples have been counted; remembers the workers."""
        wait_until(lambda: any(line.get("emitted", 0) for line in self.lines()), "a line with emitted tuples", self)
        self.family = set(self.process.children(recursive=True))
        assert self.family

    def end(self) -> int:
        """Its exit code."""
        return int(self.process.wait(PATIENCE_SECONDS))

    def clean_up(self) -> None:
        alive = [process for process in {self.process, *self.family} if process.is_running()]
        for process in alive:
            process.kill()
        psutil.wait_procs(alive, 5)
        if self._own_home is not None:
            shutil.rmtree(self._own_home, ignore_errors=True)


def pasps(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Another command, in another process, to its end."""
    command = [sys.executable, "-m", "pasps", *arguments]
    environment = {**os.environ, "PASPS_HOME": str(home)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)


def wait_until(condition: Callable[[], bool], what: str, run: Run, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"no {what} after {seconds} s\n{run.out.read_text()[-2000:]}\n{run.err.read_text()[-2000:]}"
        time.sleep(0.02)
