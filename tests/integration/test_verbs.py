"""The verbs of another terminal, on a `pasps run` that is a process of its own."""

from __future__ import annotations

import json
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from pasps.cli.control_client import ControlClient
from pasps.cli.find_run import moment
from pasps.errors import InvalidError, TimeoutExpiredError
from pasps.topology.run_list import known_runs
from tests.integration.run_process import PATIENCE_SECONDS, ROOT, Run, pasps, wait_until

pytestmark = pytest.mark.integration

WORDCOUNT = str(ROOT / "tests" / "integration" / "word_counting.py")
STATIC = ("-o", "pasps.policy=static")
Start = Callable[..., Run]

UNACKED = """
from pasps import Bolt, Spout, Topology

class Numbers(Spout):
    outputs = ["n"]
    def next_tuple(self):
        self.emit([1], tup_id=1)
        return 0.01

class Forgetful(Bolt):
    auto_ack = False
    def initialize(self, conf, ctx):
        if conf.get("refuse"):
            raise ConnectionError("no database here")
    def process(self, tup):
        pass

class Unacked(Topology):
    numbers = Numbers.spec()
    forgetful = Forgetful.spec(inputs=[numbers])
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """The base directory of one user; its path is short, as sockets need it."""
    with tempfile.TemporaryDirectory(prefix="pasps-home-") as place:
        yield Path(place)


@pytest.fixture
def start(tmp_path: Path, home: Path) -> Iterator[Start]:
    """Starts word counts, each on one worker."""
    runs: list[Run] = []

    def started(*arguments: str, **options: Any) -> Run:
        (folder := tmp_path / str(len(runs))).mkdir()
        runs.append(Run(folder, WORDCOUNT, "--json", "--workers", "1", *STATIC, *arguments, **{"home": home, **options}))
        return runs[-1]

    yield started
    for run in runs:
        run.clean_up()


@pytest.fixture
def topology_file(tmp_path: Path) -> str:
    """A topology that never drains."""
    path = tmp_path / "unacked_topology.py"
    path.write_text(UNACKED)
    return str(path)


def flowing(run: Run) -> str:
    """Waits until it runs; its run directory."""
    run.wait_flowing()
    return str(run.lines()[0]["run_dir"])


def test_a_run_is_listed_watched_scaled_and_ended_from_another_terminal(start: Start, home: Path) -> None:
    run = start("--name", "wc")
    run_dir = flowing(run)
    assert Path(run_dir).parent == home / "runs"

    (listed,) = json.loads(pasps(home, "list", "--json").stdout)
    assert (listed["name"], listed["state"], listed["pid"], listed["run_dir"]) == ("wc", "running", run.process.pid, run_dir)

    scaled = pasps(home, "scale", "wc", "count=6", "split=3")
    assert (scaled.returncode, scaled.stdout) == (0, "count: 2 -> 6 active\nsplit: 2 -> 3 active\n"), scaled.stderr

    told = json.loads(pasps(home, "status", "--json").stdout)
    assert (told["state"], told["stats"]["components"]["count"]["active"], told["elastic"]["policy"]) == ("running", 6, "static")
    assert told["stats"]["emitted_first"] > 0

    refused = pasps(home, "scale", "cuont=3")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "did you mean 'count'?" in refused.stderr

    top = [json.loads(line) for line in pasps(home, "top", "wc", "--json", "--count", "2", "--interval", "0.2").stdout.splitlines()]
    assert [line["type"] for line in top] == ["progress"] * 2
    assert (top[1]["components"]["count"]["active"], top[1]["emitted_per_second"] > 0) == (6, True)

    killed = pasps(home, "kill", "wc", "--wait", "20")
    assert (killed.returncode, killed.stderr) == (0, "")
    assert "drained" in killed.stdout
    assert run.end() == 0, run.err.read_text()
    summary = run.lines()[-1]
    assert (summary["ended"], summary["left"], summary["run_dir"]) == ("stopped", {}, run_dir)
    assert summary["emitted"] == summary["acked"] > 0
    assert json.loads((Path(run_dir) / "summary.json").read_text()) == summary

    assert pasps(home, "list").stdout == "no topology runs\n"
    assert [line["state"] for line in json.loads(pasps(home, "list", "--all", "--json").stdout)] == ["ended"]
    gone = pasps(home, "status", "wc")
    assert gone.returncode == 6
    assert f"see {run_dir}/summary.json" in gone.stderr


def test_a_worker_that_was_killed_is_mentioned(start: Start, home: Path) -> None:
    run = start("--workers", "2")
    flowing(run)
    with ControlClient(known_runs(home)[0]) as client:
        assert client.call("status")["lost"] == 0
        victim = client.call("status")["workers"][1]
        psutil.Process(victim["pid"]).kill()

        def replaced() -> bool:
            workers = client.call("status")["workers"]
            return len(workers) == 2 and all(worker["pid"] != victim["pid"] for worker in workers)

        wait_until(replaced, "worker in its place", run)
        told = client.call("status")
        (loss,) = told["losses"]
        assert told["lost"] == 1
        assert told["errors"] == [], "it was no exception of user code"
    said = f"worker {victim['id']} died: its process was ended by SIGKILL"
    assert loss["text"].startswith(said)
    shown = pasps(home, "status").stdout
    assert f"lost       1 worker, and started again; at {moment(loss['time'])} {said}" in shown
    shown = pasps(home, "errors").stdout
    assert f"{moment(loss['time'])}  a worker:\n    {said}" in shown


def test_spouts_stop_and_start_and_errors_are_shown(start: Start, home: Path) -> None:
    run = start()
    flowing(run)
    assert pasps(home, "deactivate").stdout == "word-count is inactive\n"
    with ControlClient(known_runs(home)[0]) as client:

        def emitted() -> int:
            return int(client.call("status")["stats"]["emitted_first"])

        def quiet() -> bool:
            before = emitted()
            time.sleep(0.1)
            return before == emitted()

        wait_until(quiet, "quiet", run)
        assert known_runs(home)[0].state == "inactive"
        before = emitted()
        assert client.call("activate") == {"state": "running"}
        wait_until(lambda: emitted() > before, "more tuples", run)
        assert client.call("errors") == {"errors": []}
        assert client.call("kill", {"wait": 20}, PATIENCE_SECONDS)["ended"] == "stopped"
    assert run.end() == 0


def test_a_killed_run_is_lost_and_its_name_is_free(start: Start, home: Path) -> None:
    killed = start("--name", "wc")
    lost_dir = flowing(killed)
    killed.process.send_signal(signal.SIGKILL)
    killed.end()
    assert pasps(home, "list").stdout == "no topology runs\n"
    (lost,) = json.loads(pasps(home, "list", "--all", "--json").stdout)
    assert (lost["state"], lost["run_dir"]) == ("lost", lost_dir)
    told = pasps(home, "status", lost_dir)
    assert (told.returncode, "is gone without a word" in told.stderr) == (6, True)
    again = start("--name", "wc", "-o", "wordcount.sentences=10")
    assert again.end() == 0, again.err.read_text()


def test_two_of_one_name_are_told_apart_by_their_directories(start: Start, home: Path, tmp_path: Path) -> None:
    deep = tmp_path / ("deep" * 20) / "run"
    first, second = start("--name", "wc"), start("--name", "wc", "--run-dir", str(deep))
    directories = [flowing(first), flowing(second)]
    assert directories[1] == str(deep)
    ambiguous = pasps(home, "kill", "wc")
    assert ambiguous.returncode == 2
    assert all(f"  wc  {directory}" in ambiguous.stderr for directory in directories)

    # its socket would have had too long a path
    place = Path(json.loads((deep / "run.json").read_text())["socket"])
    assert (place.is_relative_to(deep), place.is_socket()) == (False, True)
    taken = start("--run-dir", str(deep))
    assert (taken.end(), "topology 'wc' runs in it" in taken.err.read_text()) == (2, True)

    assert pasps(home, "kill", str(deep)).returncode == 0
    assert second.end() == 0
    assert not place.parent.exists()
    assert pasps(home, "kill", "wc").returncode == 0
    assert first.end() == 0


def test_a_run_that_does_not_answer_is_given_up_on(start: Start, home: Path) -> None:
    run = start()
    flowing(run)
    (known,) = known_runs(home)
    try:
        run.process.send_signal(signal.SIGSTOP)
        with (
            ControlClient(known) as client,
            pytest.raises(TimeoutExpiredError, match=r"did not answer 'status' within 0\.3 s: it is busy or"),
        ):
            client.call("status", seconds=0.3)
        assert [line["state"] for line in json.loads(pasps(home, "list", "--json").stdout)] == ["running"]
    finally:
        run.process.send_signal(signal.SIGCONT)
    run.process.send_signal(signal.SIGINT)
    assert run.end() == 0


def test_a_shorter_wait_from_elsewhere_ends_a_drain(home: Path, topology_file: str, tmp_path: Path) -> None:
    run = Run(tmp_path, topology_file, "--workers", "1", *STATIC, "--drain-timeout", "100", home=home)
    try:
        wait_until(lambda: "running; " in run.out.read_text(), "start", run)
        run.family = set(run.process.children(recursive=True))
        run.process.send_signal(signal.SIGINT)
        wait_until(lambda: "draining" in run.out.read_text(), "drain", run)
        (known,) = known_runs(home)
        assert known.state == "draining"
        with ControlClient(known) as client, pytest.raises(InvalidError, match="is draining, so its spouts stay as they are"):
            client.call("activate")
        with ThreadPoolExecutor(1) as pool, ControlClient(known) as patient:
            told = pool.submit(patient.call, "kill", {"wait": 100}, PATIENCE_SECONDS)
            killed = pasps(home, "kill", "--wait", "0.2")
            assert killed.returncode == 4, killed.stderr
            assert "not drained; left: " in killed.stdout
            # both who asked for the end are told how it was
            assert told.result()["left"]
        assert run.end() == 4
        assert "interrupted, not drained in time" in run.out.read_text()
    finally:
        run.clean_up()


def test_many_terminals_at_once(start: Start, home: Path) -> None:
    run = start()
    flowing(run)
    (known,) = known_runs(home)

    def terminal(number: int) -> int:
        complete = 0
        with ControlClient(known) as client:
            for turn in range(5):
                client.call("scale", {"bolts": {"count": 1 + (number + turn) % 8}}, PATIENCE_SECONDS)
                complete += client.call("status", seconds=PATIENCE_SECONDS)["stats"]["complete"]
        return complete

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(terminal, range(4))) == [5] * 4
    assert pasps(home, "kill").returncode == 0
    assert run.end() == 0


def test_a_start_that_fails_leaves_nothing_behind(home: Path, topology_file: str, tmp_path: Path) -> None:
    refused = pasps(home, "run", topology_file, "--workers", "1", *STATIC, "-o", "refuse=true")
    assert (refused.returncode, "no database here" in refused.stderr) == (3, True)
    assert not list((home / "runs").iterdir())
    (tmp_path / "file").touch()
    nowhere = pasps(tmp_path / "file", "run", topology_file)
    assert nowhere.returncode == 3
    assert "give another one with --run-dir, or another place for all with PASPS_HOME" in nowhere.stderr
