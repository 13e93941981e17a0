"""`pasps run` as users start it: a process of its own, with workers, signals and a terminal."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.run_process import PATIENCE_SECONDS, ROOT, Run, wait_until

WORDCOUNT = str(ROOT / "tests" / "integration" / "word_counting.py")
TWEETS = str(ROOT / "topologies" / "tweets" / "tweets.py")

PARTS = """
import time
from pasps import Bolt, EndOfInput, Grouping, ReliableSpout, Spout, TicklessBatchingBolt, Topology, bolt

class Numbers(Spout):
    outputs = ["n"]
    def initialize(self, conf, ctx):
        self.n, self.most = 0, conf.get("most", 100)
    def next_tuple(self):
        if self.n == self.most:
            raise EndOfInput
        self.emit([self.n], tup_id=self.n)
        self.n += 1
        return 0.001

class Sink(Bolt):
    def initialize(self, conf, ctx):
        if conf.get("refuse"):
            raise ConnectionError("no database here")
    def process(self, tup):
        print("seen", tup["n"])
        if tup["n"] % 10 == 3:
            raise ValueError(f"no {tup['n']}")

class Stuck(Bolt):
    def process(self, tup):
        time.sleep(3600)

class Sleepy(Stuck):
    def initialize(self, conf, ctx):
        time.sleep(3600)

class Forgetful(Bolt):
    auto_ack = False
    def process(self, tup):
        pass

class Ported(Numbers, ReliableSpout):
    pass

class Sums(TicklessBatchingBolt):
    outputs = ["key", "sum"]
    secs_between_batches = 0.1
    def initialize(self, conf, ctx):
        self.failed_once = False
    def group_key(self, tup):
        return tup.values.n % 2
    def process_batch(self, key, tups):
        if not self.failed_once:
            self.failed_once = True
            raise ValueError("the first batch")
        self.log(f"group {key}")
        self.emit([key, sum(tup.values.n for tup in tups)])

class Talks(Bolt):
    def process(self, tup):
        self.logger.debug("debugging %d", tup.values.sum)
        self.log(f"heard of {tup.values.key}", "warn")

class FromStreamparse(Topology):
    numbers = Ported.spec()
    sums = Sums.spec(inputs={numbers: Grouping.fields("n")}, par=2)
    talks = Talks.spec(inputs=[sums])

class Mistyped(Topology):
    class Wrong(Bolt):
        def process(self, tup):
            tup.values.m
    numbers = Numbers.spec()
    wrong = Wrong.spec(inputs=[numbers])

class Unfinished(Topology):
    class Untracked(Numbers):
        def next_tuple(self):
            self.emit([self.n])
            return 0.01
    numbers = Untracked.spec()
    sink = Sink.spec(inputs=[numbers])

class Total(Bolt):
    outputs = ["total"]
    def initialize(self, conf, ctx):
        self.total = 0
    def process(self, tup):
        self.total += 1
    def finish(self):
        self.emit([self.total])

class Endless(Total):
    execution = "thread"
    def finish(self):
        time.sleep(3600)

class Show(Bolt):
    def process(self, tup):
        print("total", tup["total"])

class Failing(Topology):
    numbers = Numbers.spec()
    sink = Sink.spec(inputs=[numbers])

class Stalled(Topology):
    numbers = Numbers.spec()
    stuck = Stuck.spec(inputs=[numbers])

class Slow(Topology):
    numbers = Numbers.spec()
    sleepy = Sleepy.spec(inputs=[numbers])

class Unacked(Topology):
    numbers = Numbers.spec()
    forgetful = Forgetful.spec(inputs=[numbers])

class Totals(Topology):
    numbers = Numbers.spec()
    total = Total.spec(inputs=[numbers])
    show = Show.spec(inputs=[total])

class Lingering(Topology):
    numbers = Numbers.spec()
    endless = Endless.spec(inputs=[numbers])
"""


Start = Callable[..., Run]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts runs; afterwards none of their processes and temporary files may be left."""
    runs: list[Run] = []

    def started(*arguments: str, **options: Any) -> Run:
        (folder := tmp_path / str(len(runs))).mkdir()
        # what is tested here needs no predictor
        runs.append(Run(folder, *arguments, "-o", "pasps.policy=static", **options))
        return runs[-1]

    yield started
    try:
        for run in runs:
            wait_until(lambda run=run: not any(process.is_running() for process in run.family), "end of its workers", run)  # type: ignore[misc]
            assert not list(run.scratch.iterdir())
    finally:
        for run in runs:
            run.clean_up()


@pytest.fixture
def topology_file(tmp_path: Path) -> str:
    path = tmp_path / "some_parts.py"
    path.write_text(PARTS)
    return str(path)


def test_a_finite_run_counts_exactly_and_exits_with_0(start: Start, tmp_path: Path) -> None:
    counts = tmp_path / "counts.txt"
    options = ["-o", "wordcount.sentences=1000", "-o", "wordcount.rate=null", "-o", f"wordcount.output={counts}"]
    run = start(WORDCOUNT, "--json", "--workers", "2", "--scale", "count=6", "--name", "wc", *options)
    assert run.end() == 0, run.err.read_text()
    summary = run.lines()[-1]
    assert (summary["type"], summary["topology"], summary["ended"], summary["exit_code"]) == ("summary", "wc", "finished", 0)
    assert (summary["emitted"], summary["acked"], summary["failed"], summary["replayed"], summary["left"]) == (1000, 1000, 0, 0, {})
    assert {name: part["executed"] for name, part in summary["components"].items()} == {
        "sentences": 0, "split": 1000, "count": 6400, "totals": 6400,
    }  # fmt: skip
    assert summary["components"]["count"]["active"] == 6
    assert {line["type"] for line in run.lines()[:-1]} == {"progress"}
    sentences = Path(WORDCOUNT).read_text().partition("SENTENCES = (")[2].partition("\n)")[0]
    expected = Counter(re.findall(r"\w+", sentences))
    assert counts.read_text() == "".join(f"{word} {200 * count}\n" for word, count in sorted(expected.items()))


def test_after_the_duration_it_drains_and_prints_a_summary(start: Start) -> None:
    run = start(TWEETS, "--duration", "1", "--workers", "1", "-o", "tweets.rate=200")
    assert run.end() == 0, run.err.read_text()
    text = run.out.read_text()
    assert "draining" in text
    assert "tweets: the time is over, drained after" in text
    assert re.search(r"user_class \d+/\d+", text)


@pytest.mark.parametrize(("number", "ended"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_signal_to_the_whole_group_drains(start: Start, number: signal.Signals, ended: str) -> None:
    run = start(WORDCOUNT, "--json", "--workers", "2", start_new_session=True)
    run.wait_flowing()
    os.killpg(run.process.pid, number)
    assert run.end() == 0, run.err.read_text()
    summary = run.lines()[-1]
    assert (summary["ended"], summary["left"], summary["workers_lost"]) == (ended, {}, 0)
    assert summary["emitted"] == summary["acked"] > 0


def test_a_second_signal_ends_a_run_that_does_not_drain(start: Start, topology_file: str) -> None:
    run = start(topology_file, "--topology", "Stalled", "--json", "--workers", "2", "--drain-timeout", "100")
    wait_until(lambda: bool(run.lines()), "line", run)
    run.family = set(run.process.children(recursive=True))
    run.process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while run.process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.3)
        run.process.send_signal(signal.SIGINT)
    assert run.end() == 130, run.err.read_text()
    assert "Traceback" not in run.err.read_text()
    assert (run.lines()[-1]["ended"], run.lines()[-1]["signal"]) == ("killed", signal.SIGINT)


def test_a_drain_that_takes_too_long_says_what_is_left(start: Start, topology_file: str) -> None:
    run = start(topology_file, "--topology", "Unacked", "--no-tty", "--workers", "1", "--duration", "0.3", "--drain-timeout", "0.3")
    assert run.end() == 4, run.err.read_text()
    assert "the time is over, not drained in time" in run.out.read_text()
    assert "tracked tuples in flight: " in run.out.read_text().partition("\nleft")[2]


@pytest.mark.parametrize(("arguments", "ended"), [([], "finished"), (["-o", "most=1000000", "--duration", "1"], "duration")])
def test_what_bolts_say_at_the_end_is_in_the_summary(start: Start, topology_file: str, arguments: list[str], ended: str) -> None:
    run = start(topology_file, "--topology", "Totals", "--json", "--workers", "2", *arguments)
    assert run.end() == 0, run.err.read_text()
    summary = run.lines()[-1]
    assert (summary["ended"], summary["left"]) == (ended, {})
    assert summary["components"]["show"]["executed"] == 1
    assert summary["acked"] > 0
    assert f"total {summary['acked']}\n" in run.err.read_text()


def test_a_finish_that_takes_too_long_is_named(start: Start, topology_file: str) -> None:
    run = start(topology_file, "--topology", "Lingering", "--no-tty", "--workers", "1", "--duration", "0.3", "--drain-timeout", "6")
    assert run.end() == 4, run.err.read_text()
    assert "waiting for finish() of endless" in run.out.read_text()
    assert "endless.finish(): 1" in run.out.read_text().partition("\nleft")[2]


def test_a_bolt_that_raises_is_reported_and_ends_with_5(start: Start, topology_file: str) -> None:
    run = start(topology_file, "--topology", "failing", "--json", "--workers", "1")
    assert run.end() == 5, run.err.read_text()
    summary = run.lines()[-1]
    assert (summary["ended"], summary["acked"], summary["failed"], summary["unreplayed"]) == ("finished", 90, 10, 10)
    assert summary["components"]["sink"]["errors"] == 10
    assert summary["reports"][0]["text"].endswith("ValueError: no 3")
    # what a bolt prints does not get between the JSON lines
    assert "seen 0" in run.err.read_text()


def test_an_initialize_that_raises_is_told_with_its_traceback_alone(start: Start, topology_file: str) -> None:
    run = start(topology_file, "--topology", "Failing", "--workers", "2", "-o", "refuse=true")
    assert run.end() == 3
    told = run.err.read_text()
    assert "ConnectionError: no database here" in told
    assert f'File "{topology_file}"' in told
    assert "pasps/worker/" not in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "topology.max.spout.pendin=5"], "nearest known name is 'topology.max.spout.pending'"),
        (["-o", "topology.workers=many"], "must be an integer"),
        (["--scale", "cuont=2"], "did you mean 'count'?"),
        (["--scale", "count=9"], "expected 1 to 8 replicas"),
        (["--topology", "WordCuont"], "did you mean 'WordCount'?"),
        (["--workers", "0"], "expected a whole number of at least 1"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_starts(start: Start, arguments: list[str], words: str) -> None:
    run = start(WORDCOUNT, *arguments)
    assert run.end() == 2
    assert words in run.err.read_text()
    assert "Traceback" not in run.err.read_text()
    assert run.out.read_text() == ""


def test_workers_vanish_with_a_killed_parent(start: Start) -> None:
    run = start(WORDCOUNT, "--json", "--workers", "2")
    run.wait_flowing()
    run.process.kill()
    assert run.end() == -signal.SIGKILL
    wait_until(lambda: not any(process.is_running() for process in run.family), "end of its workers", run)
    assert not list(run.scratch.iterdir())


def test_a_reader_that_leaves_ends_the_run_quietly(start: Start) -> None:
    read, write = os.pipe()
    run = start(WORDCOUNT, "--json", "--workers", "1", stdout=write)
    os.close(write)
    wait_until(lambda: bool(select.select([read], [], [], 0)[0]), "first line", run)
    run.family = set(run.process.children(recursive=True))
    os.close(read)
    assert run.end() == 128 + signal.SIGPIPE
    assert run.err.read_text() == ""


def test_the_live_view_is_drawn_and_gives_the_terminal_back(start: Start, topology_file: str) -> None:
    ours, theirs = os.openpty()
    terminal = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    run = start(topology_file, "--topology", "Failing", "--workers", "1", "-o", "most=null", **terminal)
    os.close(theirs)
    shown = bytearray()

    def read() -> bool:
        """Take what there is; False at the end."""
        try:
            if select.select([ours], [], [], 0.05)[0]:
                shown.extend(os.read(ours, 65536))
        except OSError:  # Linux says so when the other end is closed
            return False
        return True

    def has(*words: bytes) -> bool:
        read()
        return all(word in shown for word in words)

    wait_until(lambda: has(b"executed/s", b"seen 12", b"last error", b"ValueError: no 3"), "table", run)
    assert b"\x1b[?25l" in shown  # the cursor is hidden
    run.family = set(run.process.children(recursive=True))
    run.process.send_signal(signal.SIGINT)
    while read():
        pass
    assert run.end() == 5
    # visible again before the summary, which nothing is drawn over
    view, _, summary = bytes(shown).rpartition(b"\x1b[?25h")
    assert b"draining" in view
    assert b"failing: interrupted, drained after" in summary
    assert b"\x1b[1A" not in summary.partition(b"interrupted")[2]
    os.close(ours)


def test_a_signal_before_it_runs_ends_it_at_once(start: Start, tmp_path: Path, topology_file: str) -> None:
    run = start(topology_file, "--topology", "Slow", "--no-tty", "--workers", "2")
    wait_until(lambda: len(run.process.children()) == 2, "workers", run)
    run.family = set(run.process.children())
    run.process.send_signal(signal.SIGTERM)
    assert run.end() == 128 + signal.SIGTERM
    assert run.err.read_text() == "pasps run: ended before it ran\n"


def test_a_lost_worker_costs_nothing_that_is_tracked(start: Start) -> None:
    run = start(TWEETS, "--json", "--workers", "2", "-o", "tweets.rows=4000")
    run.wait_flowing()
    min(run.family, key=lambda process: process.pid).kill()
    assert run.end() == 0, run.err.read_text()
    summary = run.lines()[-1]
    assert (summary["ended"], summary["workers_lost"], summary["workers"]) == ("finished", 1, 2)
    assert summary["components"]["count"]["executed"] >= 4000 or summary["replayed"]


@pytest.mark.parametrize(("level", "seen"), [(None, {"INFO", "WARNING"}), ("ERROR", set()), ("DEBUG", {"DEBUG", "INFO", "WARNING"})])
def test_components_of_streamparse_run_and_what_they_log_is_seen(
    start: Start, topology_file: str, monkeypatch: pytest.MonkeyPatch, level: str | None, seen: set[str]
) -> None:
    monkeypatch.delenv("PASPS_LOG", raising=False)
    if level is not None:
        monkeypatch.setenv("PASPS_LOG", level)
    run = start(topology_file, "--topology", "FromStreamparse", "--json", "--workers", "2")
    assert run.end() == 5, run.err.read_text()
    summary = run.lines()[-1]
    assert (summary["ended"], summary["unreplayed"], summary["pending"], summary["emitted"]) == ("finished", 0, 0, 100)
    assert summary["failed"] == summary["replayed"] > 0
    assert summary["acked"] == 100
    assert any("ValueError: the first batch" in report["text"] for report in summary["reports"])
    logged = re.findall(r"(\w+) pasps\.component\.(sums|talks): (group|heard of|debugging) \d", run.err.read_text())
    assert {words[0] for words in logged} == seen
    assert {words[1] for words in logged} == ({"sums", "talks"} if seen else set())


def test_a_wrong_field_name_is_told_with_those_that_there_are(start: Start, topology_file: str) -> None:
    run = start(topology_file, "--topology", "Mistyped", "--json", "--workers", "1", "-o", "most=3")
    assert run.end() == 5
    assert "AttributeError: a tuple's values have no field 'm'; there are 'n'" in run.lines()[-1]["last_error"]


@pytest.mark.parametrize(("topology", "tracked"), [("Unacked", True), ("Unfinished", False)])
def test_a_summary_says_that_nothing_is_tracked_only_where_nothing_was(
    start: Start, topology_file: str, topology: str, tracked: bool
) -> None:
    run = start(topology_file, "--topology", topology, "--no-tty", "--workers", "2", "--drain-timeout", "0", "-o", "most=null")
    flowing = r"pending [1-9]" if tracked else r"seen 0"
    wait_until(lambda: re.search(flowing, run.out.read_text()) is not None, "tuples", run)
    run.family = set(run.process.children(recursive=True))
    max(run.family, key=lambda process: process.pid).kill()
    wait_until(lambda: "is gone" in run.err.read_text(), "loss", run)
    wait_until(lambda: len(set(run.process.children()) - run.family) == 1, "other worker", run)
    run.family |= set(run.process.children(recursive=True))
    lines = len(run.out.read_text().splitlines())
    wait_until(lambda: "workers 2/2" in "".join(run.out.read_text().splitlines()[lines:]), "view of both", run)
    run.process.send_signal(signal.SIGINT)
    run.end()
    text = run.out.read_text()
    assert re.search(r"workers +1 lost", text)
    assert ("nothing is tracked" in text) is not tracked
