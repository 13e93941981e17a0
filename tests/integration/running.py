"""What the tests with real workers share: waiting with a deadline, calling commands, reading what sinks wrote, killing workers."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psutil

from pasps import RunningTopology, WorkerInfo

T = TypeVar("T")

PATIENCE_SECONDS = 100.0
"""What is waited for comes, unless something is broken: on a machine that is busy with others it may come late."""


def called(name: str, *words: str) -> int:
    """A command, with what it raises."""
    module = importlib.import_module(f"pasps.cli.{name}")
    parser = argparse.ArgumentParser()
    module.add(parser)
    code: int = getattr(module, name)(parser.parse_args(words))
    return code


def as_in_a_terminal() -> None:
    """For a process that is started: shells let what runs in the background ignore Ctrl-C, and that would be inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def until(condition: Callable[[], T], what: str | Callable[[], object], seconds: float = PATIENCE_SECONDS) -> T:
    """The first true value of the condition; polls, and fails with a message when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for {what if isinstance(what, str) else what()}")
        time.sleep(0.005)


def rows(directory: Path, component: str = "sink") -> list[list[int]]:
    """All lines that a component's instances wrote, whole ones only."""
    found = []
    for path in sorted(directory.glob(f"{component}-*.log")):
        found += [[int(value) for value in line.split()] for line in path.read_text().split("\n")[:-1]]
    return found


def written(directory: Path, component: str = "sink") -> int:
    """How many lines there are so far."""
    return sum(path.read_bytes().count(b"\n") for path in directory.glob(f"{component}-*.log"))


def finish(running: RunningTopology, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until all input is acked; says what is left when it is not."""
    if not running.wait_finished(seconds):
        stats = running.stats()
        parts = {name: (c.emitted, c.executed, c.queued, c.active) for name, c in stats.components.items()}
        errors = "\n".join(error.text for error in running.errors[-3:])
        raise AssertionError(
            f"not finished after {seconds:g} s: pending {stats.pending}, failed {stats.failed}, "
            f"(emitted, executed, queued, active) {parts}; {errors}"
        )


def worker(running: RunningTopology, name: str) -> WorkerInfo:
    """A live worker by its id."""
    return next(info for info in running.workers if info.id == name)


def spout_worker(running: RunningTopology, spout: str = "numbers") -> WorkerInfo:
    """Where the spout's only task runs."""
    return worker(running, running.stats().components[spout].replicas[0].worker)


def kill(info: WorkerInfo, number: int = signal.SIGKILL) -> None:
    os.kill(info.pid, number)


def until_replaced(running: RunningTopology, before: WorkerInfo) -> WorkerInfo:
    """The worker's next incarnation."""

    def found() -> WorkerInfo | None:
        return next((w for w in running.workers if w.id == before.id and w.incarnation > before.incarnation and w.port), None)

    now = until(found, f"a new process of worker {before.id}")
    assert now is not None
    assert now.pid != before.pid
    return now


def children() -> Iterator[psutil.Process]:
    """The worker processes of this process that are still there."""
    for process in psutil.Process().children(recursive=True):
        try:
            if "pasps.worker.process" in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except psutil.NoSuchProcess:
            continue


def no_children() -> None:
    """Fails when worker processes are left."""
    until(lambda: not list(children()), "the end of all worker processes")


def config(directory: Path, **more: Any) -> dict[str, Any]:
    """Keys of the tests (`total=5` means `test.total`) and of pasps (with their dots as given)."""
    found: dict[str, Any] = {"test.dir": str(directory), "topology.message.timeout.secs": 300}
    for name, value in more.items():
        found[name if "." in name else f"test.{name}"] = value
    return found
