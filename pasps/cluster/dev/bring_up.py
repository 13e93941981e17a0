"""Brings parts up: starts each as soon as what it needs is up, those that do not depend on each other at the same time, and waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event

from pasps.clock import Clock, Deadline
from pasps.cluster.dev.parts import Part
from pasps.cluster.dev.processes import ProcessRef
from pasps.cluster.dev.zookeeper_server import tail
from pasps.errors import BrokenError

_PAUSE_SECONDS = 0.1
_TAIL_LINES = 15


class ClusterStartError(BrokenError):
    """A part did not come up: which one, its log, and what can be done."""

    def __init__(self, part: str, problem: str, log: Path, log_end: str, cure: str) -> None:
        self.part, self.problem, self.log, self.cure = part, problem, log, cure
        words = f"\n{log} ends with:\n{log_end}" if log_end else f"; {log} is empty"
        super().__init__(f"{part} {problem}; {cure}{words}")


class BringUp:
    """States of a part: WAITING for what it needs -> STARTING -> UP. One that has a living process begins in STARTING."""

    def __init__(
        self,
        parts: Sequence[Part],
        processes: Mapping[str, ProcessRef],
        start: Callable[[Part], ProcessRef],
        exit_code: Callable[[int], int | None],
        log: Callable[[str], Path],
    ) -> None:
        """`processes` live already; `exit_code` tells of those that `start` made; `log` gives the file with a part's output."""
        self._parts = list(parts)
        self._processes = dict(processes)
        self._started: set[str] = set()
        self._start, self._exit_code, self._log = start, exit_code, log
        self._up: set[str] = set()
        self._missing: dict[str, str] = {}

    @property
    def done(self) -> bool:
        """Whether all are up."""
        return len(self._up) == len(self._parts)

    def run(self, clock: Clock, seconds: float, told: Callable[[str], None]) -> None:
        """Blocks until all are up; `told` gets a line for each that was started and came up.

        Raises:
            ClusterStartError: one ended, or the time is over.
        """
        deadline, began, pause = Deadline(clock, seconds), clock.now(), Event()
        while True:
            for part in self.step():
                if part.name in self._started:
                    told(f"{part.name} is up at {part.address} after {clock.now() - began:.1f} s")
            if self.done:
                return
            if deadline.expired():
                raise self._late(seconds)
            pause.wait(_PAUSE_SECONDS)

    def step(self) -> list[Part]:
        """Start what can start, ask all that started, and return those that have come up since the last step.

        Raises:
            ClusterStartError: one ended.
        """
        came = []
        for part in self._parts:
            if part.name in self._up:
                continue
            if part.name not in self._processes:
                if not self._up.issuperset(part.needs):
                    continue
                self._processes[part.name] = self._start(part)
                self._started.add(part.name)
            if not self._processes[part.name].alive:
                raise self._died(part)
            missing = part.probe()
            if missing is None:
                self._up.add(part.name)
                came.append(part)
            else:
                self._missing[part.name] = missing
        return came

    def _died(self, part: Part) -> ClusterStartError:
        pid, end = self._processes[part.name].pid, self._tail(part)
        code = self._exit_code(pid)
        taken = "address already in use" in end.lower()
        cure = "somebody has taken its port meanwhile, so `pasps cluster down` and then `pasps cluster up`" if taken else "see its log"
        ended = "" if code is None else f" with exit code {code}"
        return ClusterStartError(part.name, f"did not come up: process {pid} ended{ended}", self._log(part.name), end, cure)

    def _late(self, seconds: float) -> ClusterStartError:
        # the first in order: others may wait for it alone
        part = next(part for part in self._parts if part.name not in self._up)
        process = self._processes.get(part.name)
        if process is None:
            problem, cure = f"was not started in {seconds:g} s, it waits for {' and '.join(part.needs)}", "try again"
        else:
            problem = f"is not up after {seconds:g} s: process {process.pid} lives, but {self._missing.get(part.name)}"
            cure = "`pasps cluster down` and then `pasps cluster up`, with a longer --timeout on a busy machine"
        return ClusterStartError(part.name, problem, self._log(part.name), self._tail(part), cure)

    def _tail(self, part: Part) -> str:
        return tail(self._log(part.name), _TAIL_LINES)
