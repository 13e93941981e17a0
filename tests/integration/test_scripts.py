"""Scripts as users write them, in processes of their own: classes of `__main__`, Ctrl-C, and parents that die."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.running import as_in_a_terminal, until

HEAD = """
import collections, dataclasses, os, sys, time
from pasps import *

@dataclasses.dataclass
class Word:
    text: str
    length: int

class Words(Spout):
    outputs = ["word"]
    def initialize(self, conf, ctx):
        self.left = list(range(conf["test.total"]))
    def next_tuple(self):
        if not self.left:
            raise EndOfInput
        n = self.left.pop()
        self.emit([Word(f"w{n % 7}", 2)], tup_id=n)
    def fail(self, n):
        self.left.append(n)

@bolt(outputs=["text", "word"])
def unpack(word):
    return word.text, Word(word.text + "!", word.length + 1)

class Count(Bolt):
    outputs = ["text", "count"]
    def initialize(self, conf, ctx):
        self.counts = collections.Counter()
        self.sleep = conf.get("test.sleep", 0)
    def process(self, tup):
        time.sleep(self.sleep)
        assert tup.values.word == Word(tup.values.text + "!", 3), tup
        self.counts[tup.values.text] += 1
        self.emit([tup.values.text, self.counts[tup.values.text]])

class Most(Bolt):
    def initialize(self, conf, ctx):
        self.most = {}
    def process(self, tup):
        text, count = tup.values
        self.most[text] = max(count, self.most.get(text, 0))
    def close(self):
        print("most", sorted(self.most.items()), flush=True)

class WordCount(Topology):
    words = Words.spec()
    unpacked = unpack.spec(inputs={words: Grouping.SHUFFLE}, par=2)
    count = Count.spec(inputs={unpacked: Grouping.fields("text")}, par=2, pool=4)
    most = Most.spec(inputs={count: Grouping.GLOBAL})
"""

RUNS_TO_ITS_END = (
    HEAD
    + """
with LocalCluster(workers=2) as cluster:
    running = cluster.submit(WordCount, config={"test.total": 700})
    running.set_active("count", 4)
    assert running.wait_finished(100)
    assert not running.errors, running.errors
    running.kill()
"""
)

GOES_ON = (
    HEAD
    + """
with LocalCluster(workers=2) as cluster:
    running = cluster.submit(WordCount, config={"test.total": 10**6, "test.sleep": 0.01})
    print("pids", *[info.pid for info in running.workers], flush=True)
    running.wait_finished()
"""
)

FORGETS_TO_CLOSE = (
    HEAD
    + """
cluster = LocalCluster(workers=2)
running = cluster.submit(WordCount, config={"test.total": 10**6, "test.sleep": 0.01})
print("pids", *[info.pid for info in running.workers], flush=True)
"""
)

CRASHES = (
    FORGETS_TO_CLOSE
    + """
os._exit(9)
"""
)

RAISES = (
    HEAD
    + """
with LocalCluster(workers=2) as cluster:
    running = cluster.submit(WordCount, config={"test.total": 10**6, "test.sleep": 0.01})
    print("pids", *[info.pid for info in running.workers], flush=True)
    raise RuntimeError("a mistake of the script")
"""
)

INTERRUPTED_WHILE_IT_STARTS = (
    HEAD
    + """
class Dawdles(Bolt):
    def initialize(self, conf, ctx):
        print("pid", os.getpid(), flush=True)
        time.sleep(60)
    def process(self, tup):
        pass

class Never(Topology):
    words = Words.spec()
    dawdles = Dawdles.spec(inputs=[words])

with LocalCluster(workers=1) as cluster:
    cluster.submit(Never, config={"test.total": 1})
"""
)


class Script:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.process: subprocess.Popen[str]

    def start(self, text: str) -> None:
        path = self._directory / "script.py"
        path.write_text(text)
        command = [sys.executable, str(path)]
        options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": self._directory, "text": True}
        # sets one signal, which is safe beside threads
        self.process = subprocess.Popen(command, preexec_fn=as_in_a_terminal, **options)  # noqa: PLW1509

    def workers(self) -> list[psutil.Process]:
        """The processes whose pids the script prints first, without those that have ended since."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("pid"):
            raise AssertionError(f"no pids: {line!r}; {self.process.communicate(timeout=20)}")
        pids = line.split()[1:]
        assert pids
        return [process for pid in pids if (process := process_of(int(pid))) is not None]

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=100)
        return self.process.returncode, out, err


def process_of(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    made = Script(tmp_path)
    yield made
    if made.process.poll() is None:
        made.process.kill()
    made.process.communicate(timeout=60)


def gone(workers: list[psutil.Process]) -> bool:
    return not any(worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE for worker in workers)


def test_classes_of_main_travel(script: Script) -> None:
    script.start(RUNS_TO_ITS_END)
    code, out, err = script.end()
    assert (code, err) == (0, "")
    assert out == f"most {[(f'w{i}', 100) for i in range(7)]}\n"


def test_ctrl_c_ends_everything(script: Script) -> None:
    script.start(GOES_ON)
    workers = script.workers()
    for process in (script.process, *workers):  # as a terminal does: the whole group
        process.send_signal(signal.SIGINT)
    code, out, err = script.end()
    assert code in (1, -signal.SIGINT, 130)
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert "most [" in out, "close() was not called"
    until(lambda: gone(workers), "the end of the workers")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_parent_that_is_killed_leaves_nobody(script: Script, number: signal.Signals) -> None:
    script.start(GOES_ON)
    workers = script.workers()
    script.process.send_signal(number)
    assert script.end()[0] != 0
    until(lambda: gone(workers), "the end of the workers")


@pytest.mark.parametrize(("text", "code"), [(CRASHES, 9), (RAISES, 1), (FORGETS_TO_CLOSE, 0)], ids=["crashes", "raises", "forgets"])
def test_a_parent_that_ends_leaves_nobody(script: Script, text: str, code: int) -> None:
    script.start(text)
    workers = script.workers()
    ended, _, err = script.end()
    assert ended == code
    assert ("a mistake of the script" in err) == (text is RAISES)
    until(lambda: gone(workers), "the end of the workers")


def test_ctrl_c_while_it_starts(script: Script) -> None:
    script.start(INTERRUPTED_WHILE_IT_STARTS)
    workers = script.workers()
    script.process.send_signal(signal.SIGINT)
    code, _, err = script.end()
    assert code in (1, -signal.SIGINT, 130)
    assert "KeyboardInterrupt" in err
    until(lambda: gone(workers), "the end of the workers")
