"""The line spout in real workers: files grow, are rotated and truncated, workers are killed, and every line comes through."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pasps import LocalCluster, Topology
from pasps.connectors.lines import LineSpout
from tests.integration.running import config, finish, kill, rows, spout_worker, until, until_replaced
from tests.integration.topologies import Pass, WriteDown

pytestmark = pytest.mark.integration


class Numbered(LineSpout):
    """Lines that are numbers."""

    outputs = ("n", "key")

    def values(self, line: str | bytes, path: str, line_id: str) -> Sequence[Any]:
        return int(line), int(line_id.partition(":")[2])


class Follow(Topology):
    config = {"topology.max.spout.pending": 500, "lines.scan.seconds": 0.1}
    numbers = Numbered.spec()
    work = Pass.spec(inputs=[numbers], par=2)
    sink = WriteDown.spec(inputs=[work], par=2)


class Writer:
    """Writes numbers to a log, one file after the other, as a program does whose log is rotated by renaming."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written = 0
        self.rotations = 0
        self.rotate = threading.Event()
        self.stop = threading.Event()

    def write(self) -> None:
        """Until `stop` is set."""
        file = self.path.open("a")
        while not self.stop.is_set():
            # each number in two pieces: a line that is not complete is no line
            file.write(f"{self.written:0>6}"[:3])
            file.flush()
            file.write(f"{self.written:0>6}\n"[3:])
            file.flush()
            self.written += 1
            if self.rotate.is_set():
                self.rotate.clear()
                self.rotations += 1
                self.path.rename(f"{self.path}.{self.rotations}")
                file.write(f"{self.written}\n")  # to the renamed one
                self.written += 1
                file.close()
                file = self.path.open("a")
            time.sleep(0.0005)
        file.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        thread = threading.Thread(target=self.write)
        thread.start()
        try:
            yield
        finally:
            self.stop.set()
            thread.join()


def numbers(directory: Path) -> set[int]:
    return {number for number, _ in rows(directory)}


@pytest.mark.parametrize("pattern", ["app.log", "app.log*"])
def test_every_line_comes_through_while_the_log_is_rotated_and_the_worker_is_killed(tmp_path: Path, pattern: str) -> None:
    log = tmp_path / "app.log"
    writer = Writer(log)
    with LocalCluster(workers=2) as cluster, writer.writing():
        running = cluster.submit(Follow, config=config(tmp_path, **{"lines.path": str(tmp_path / pattern)}))
        until(lambda: len(numbers(tmp_path)) > 200, "the first lines")
        victim = spout_worker(running)  # asks for counters, and so keeps the position
        kill(victim)
        writer.rotate.set()  # while nobody reads
        until_replaced(running, victim)
        until(lambda: writer.rotations == 1, "a rotation")
        mark = writer.written
        until(lambda: len(numbers(tmp_path)) > mark + 100, "lines after the crash")
        writer.rotate.set()
        until(lambda: writer.rotations == 2, "another rotation")
        until(lambda: len(numbers(tmp_path)) > mark + 300, "lines after the second rotation")
        writer.stop.set()
        until(lambda: numbers(tmp_path) == set(range(writer.written)), lambda: missing(tmp_path, writer.written))
        until(lambda: running.stats().pending == 0, "all acks")
        stats = running.stats()
        assert stats.components["numbers"].backlog == 0
        assert [error.text for error in running.errors] == []
    assert writer.rotations == 2


def missing(directory: Path, written: int) -> str:
    return f"{written} lines; missing {sorted(set(range(written)) - numbers(directory))[:20]}"


def test_a_truncated_log_is_followed_from_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text("".join(f"{number}\n" for number in range(1_000)))
    with LocalCluster(workers=1) as cluster:
        cluster.submit(Follow, config=config(tmp_path, **{"lines.path": str(log)}))
        until(lambda: numbers(tmp_path) == set(range(1_000)), "the first thousand")
        os.truncate(log, 0)
        with log.open("a") as file:
            file.write("".join(f"{number}\n" for number in range(1_000, 1_500)))
        until(lambda: numbers(tmp_path) == set(range(1_500)), "what came after")


def test_files_that_are_not_followed_are_read_once_by_all_tasks_though_a_worker_is_killed(tmp_path: Path) -> None:
    total = 40 * 1_000
    for number in range(40):
        lines = range(number * 1_000, (number + 1) * 1_000)
        (tmp_path / f"{number}.txt").write_text("\n".join(map(str, lines)))

    class Batch(Topology):
        config = {"topology.max.spout.pending": 300, "lines.follow": False}
        numbers = Numbered.spec(par=3)
        work = Pass.spec(inputs=[numbers], par=2)
        sink = WriteDown.spec(inputs=[work], par=2)

    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Batch, config=config(tmp_path, **{"lines.path": str(tmp_path / "*.txt")}))
        until(lambda: running.stats().acked > total // 10, "some of it")
        kill(spout_worker(running))
        finish(running)
        stats = running.stats()
        assert numbers(tmp_path) == set(range(total)), missing(tmp_path, total)
        assert stats.pending == 0
        assert [error.text for error in running.errors] == []
