"""Random histories of a log and its reader: it grows, is rotated, lines wait, fail or are acked, the worker dies; no line is lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from pasps.connectors.lines import LineId
from pasps.testing import FakeClock
from tests.unit.connectors.line_runs import Lines

SEEDS = range(38, 50)
STEPS = 120


class History:
    """A log, what was written to it, and a spout without a topology around it: what the runtime does, `seed` does."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.random = Random(seed)
        self.log = directory / "app.log"
        self.log.touch()
        self.clock = Lines.clock.of_run = FakeClock()
        self.only_this_name = self.random.random() < 0.5
        self.config = {
            "lines.path": str(self.log) if self.only_this_name else f"{self.log}*",
            "lines.scan.seconds": 0.3,
            "lines.rotated.seconds": self.random.choice([2, 60]),
            "lines.pending": self.random.choice([5, 10_000]),
        }
        self.written: list[str] = []
        self.rest = ""
        """What is still to be written of the last of them."""
        self.rotations = 0
        self.saved: bytes | None = None
        self.errors: list[str] = []
        self.lines: dict[str, str] = {}
        """By id: whatever happens, it is the same line."""
        self.done: set[str] = set()
        self.begin()

    def begin(self) -> None:
        """A worker takes the spout up."""
        self.in_flight: dict[LineId, str] = {}
        position = None if self.saved is None else msgspec.msgpack.decode(self.saved)
        context: Any = SimpleNamespace(
            component_id="lines", task_index=0, position=position, component_tasks=lambda _: [1], report_error=self.errors.append
        )
        self.spout = Lines()
        vars(self.spout).update(ctx=context, emit=self.emit, emit_batch=self.emit_batch, save_position=self.save)
        self.spout.initialize(self.config, context)

    # ---- what a spout is given

    def emit(self, row: Sequence[Any], tup_id: LineId) -> None:
        line, _, name = row
        assert self.lines.setdefault(name, line) == line
        self.in_flight[tup_id] = line

    def emit_batch(self, rows: Sequence[Sequence[Any]], tup_ids: Sequence[LineId]) -> None:
        for row, tup_id in zip(rows, tup_ids, strict=True):
            self.emit(row, tup_id)

    def save(self, value: Any) -> None:
        self.saved = msgspec.msgpack.encode(value)

    # ---- what happens

    def step(self) -> None:
        self.clock.advance(self.random.choice([0.01, 0.1, 0.5]))
        self.random.choices([self.write, self.rotate, self.look, self.settle, self.die], [30, 8, 35, 18, 6])[0]()

    def write(self) -> None:
        """Some lines, the last one often not to its end."""
        text = self.rest
        for _ in range(self.random.choice([1, 2, 3, 4, 5, 600])):
            line = f"{len(self.written)}{'x' * self.random.choice([0, 5, 100])}"
            self.written.append(line)
            text += f"{line}\n"
        cut = len(text) - self.random.choice([0, 0, 2])
        self.rest = text[cut:]
        self.append(text[:cut])

    def append(self, text: str) -> None:
        with self.log.open("a") as file:
            file.write(text)

    def rotate(self) -> None:
        if self.rest or not self.log.stat().st_size:
            return
        if self.only_this_name:  # else nobody could know of a file that nobody had seen
            for _ in range(3):
                self.clock.advance(0.5)
                self.look()
        self.rotations += 1
        self.log.rename(f"{self.log}.{self.rotations}")
        self.log.touch()

    def look(self) -> None:
        """The runtime asks for lines, or, while the topology holds back, for the backlog alone."""
        if self.random.random() < 0.2:
            self.spout.backlog()
            return
        for _ in range(self.random.choice([1, 5])):
            self.spout.next_tuple()

    def settle(self) -> None:
        """Half of the lines are acked, some fail, the others go on waiting."""
        for tup_id in list(self.in_flight):
            fate = self.random.random()
            if fate < 0.5:
                self.ack(tup_id)
            elif fate < 0.55:
                del self.in_flight[tup_id]
                self.spout.fail(tup_id)

    def ack(self, tup_id: LineId) -> None:
        self.done.add(self.in_flight.pop(tup_id))
        self.spout.ack(tup_id)

    def die(self) -> None:
        self.spout.close()
        self.begin()

    def end(self) -> None:
        """Nothing more is written, and everything is acked."""
        self.append(self.rest)
        for _ in range(60):
            self.clock.advance(0.5)
            self.spout.next_tuple()
            for tup_id in list(self.in_flight):
                self.ack(tup_id)
        self.spout.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_line_comes_through_and_keeps_its_id(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, seed)
    for _ in range(STEPS):
        history.step()
    history.end()
    assert history.done == set(history.written)
    assert history.spout.backlog() == 0
    assert history.errors == []
