"""Who is taken for dead and who is not; what does not come back, what cannot live, and what is said of it."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

import psutil
import pytest

from pasps import LocalCluster, RunningTopology
from pasps.cli import exit_codes
from pasps.errors import BrokenError, CrashLoopError, DrainTimeoutError
from pasps.topology.worker_link import WorkerLink
from pasps.topology.workforce import Workforce
from tests.integration.faulty_topologies import Functions, WithAFullPlace, WithASickPlace, WithGoesAway, WithTrips
from tests.integration.flow_topologies import Everything
from tests.integration.run_process import Run
from tests.integration.running import PATIENCE_SECONDS, config, finish, kill, rows, until, until_replaced, written

ROOT = Path(__file__).parents[2]


def pids(running: RunningTopology) -> list[int]:
    return [info.pid for info in running.workers]


@pytest.mark.timeout(600)
def test_a_worker_at_full_speed_is_never_taken_for_dead(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(Functions, config=config(tmp_path))
        before, end = pids(running), time.monotonic() + 60
        while time.monotonic() < end:  # no condition: a minute of it is what the test is about
            assert pids(running) == before
            assert running.stats().complete
            time.sleep(5)
        assert running.troubles == []
        (tmp_path / "enough").touch()
        finish(running)
        assert running.stats().failed == 0
        assert pids(running) == before
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_an_endless_loop_is_named_and_its_worker_lives(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(WithTrips, config=config(tmp_path, total=2000, rate=1000, trip="loop"))
        before = pids(running)
        (trouble,) = until(lambda: running.troubles, "the endless loop to be told")
        assert "has not come back from component 'trips', task " in trouble
        assert "faulty_topologies.py:" in trouble
        (stuck,) = [info.stuck for info in running.workers if info.stuck is not None]
        assert stuck.component == "trips"
        assert stuck.task in running.blueprint.components["trips"].tasks
        with pytest.raises(DrainTimeoutError, match="has not come back from component 'trips'"):
            running.drain(0.1)
        running.activate()
        (tmp_path / "enough").touch()
        finish(running)
        assert running.troubles == []
        assert pids(running) == before
        running.kill()
    said = capfd.readouterr().err
    assert "component 'trips', task " in said
    assert "in loop\n    time.monotonic()" in said or "in loop\n    while not" in said
    assert "the worker's loop is back after" in said
    assert {row[0] for row in rows(tmp_path)} == set(range(2000))


def test_code_that_keeps_the_interpreter_to_itself_is_busy_and_not_gone(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(WithTrips, config=config(tmp_path, total=2000, rate=1000, trip="loop_in_c"))
        before = pids(running)
        finish(running)
        assert pids(running) == before
        assert running.stats().failed == 0
    assert {row[0] for row in rows(tmp_path)} == set(range(2000))


@pytest.mark.parametrize(
    ("trip", "told"),
    [
        ("exit_in_a_task", "sys.exit in user code"),
        ("interrupt_in_a_callback", "KeyboardInterrupt in user code"),
        ("stop_the_loop", "user code stopped the worker's event loop"),
        ("cancel_all_tasks", None),
    ],
)
def test_what_user_code_does_to_the_event_loop_ends_no_worker(tmp_path: Path, trip: str, told: str | None) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(WithTrips, config=config(tmp_path, total=2000, rate=4000, trip=trip))
        before = pids(running)
        finish(running)
        assert pids(running) == before
        assert running.stats().failed == 0
        errors = running.errors
        running.kill(wait=5)
    assert {row[0] for row in rows(tmp_path)} == set(range(2000))
    if told is None:
        assert errors == []
        return
    (error,) = errors
    assert (error.component, error.text.startswith("worker w")) == ("", True)
    assert told in error.text


@pytest.mark.parametrize(
    ("trip", "cause"), [("exit", "ended with status 7"), ("crash", "ended by SIGSEGV"), ("sleep_in_c", "it did not answer for")]
)
def test_a_worker_that_cannot_live_is_told_with_what_kills_it(tmp_path: Path, trip: str, cause: str) -> None:
    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(WithTrips, config=config(tmp_path, total=200, trip=trip))
        with pytest.raises(CrashLoopError, match=f"worker w0 cannot live: it died 5 times .* {cause}"):
            running.wait_finished(PATIENCE_SECONDS)
        assert all(error.text.startswith("worker w0 ") and cause in error.text for error in running.errors)
        assert "worker w0 cannot live: it died 5 times" in running.errors[-1].text
        assert cause in running.troubles[0]


def test_a_worker_that_is_killed_again_and_again_is_named_and_the_others_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a minute of five seconds, and half a dozen deaths; a life is of one second, too long for so many of them in such a minute
    monkeypatch.setattr("pasps.topology.lives.WINDOW_SECONDS", 5.0)
    monkeypatch.setattr("pasps.topology.lives.PATIENCE_SECONDS", 10.0)
    monkeypatch.setattr("pasps.topology.lives.MOST_KILLS", 6)
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(WithAFullPlace, config=config(tmp_path, total=1_000_000, rate=500))
        with pytest.raises(CrashLoopError, match=r"worker w1 cannot live: it died \d+ times within .* ended by SIGKILL"):
            running.wait_finished(90)
        (error,) = running.errors
        assert "worker w1 cannot live" in error.text
        assert "ended by SIGKILL" in running.troubles[0]
        (tmp_path / "enough").touch()
        ((total,),) = until(lambda: rows(tmp_path, "numbers"), "the end of input")
        until(lambda: {row[0] for row in rows(tmp_path)} == set(range(total)), "the others to finish")
        assert [info.incarnation for info in running.workers if info.id == "w0"] == [1]


def test_what_ended_a_worker_that_joins_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = Workforce.connect

    async def killed(self: Workforce, link: WorkerLink, peers: Collection[str]) -> None:
        if link.incarnation > 1:
            os.kill(link.pid, signal.SIGKILL)
        await connect(self, link, peers)

    monkeypatch.setattr(Workforce, "connect", killed)
    monkeypatch.setattr("pasps.topology.lives.MOST_KILLS", 4)
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(WithAFullPlace, config=config(tmp_path, total=1_000_000, rate=500))
        (trouble,) = until(lambda: running.troubles, "the worker that cannot live")
        assert "worker w1 cannot live: it died 4 times within a minute, the last time because its process was ended by SIGKILL" in trouble


def test_who_kills_workers_on_purpose_has_made_no_crash_loop(tmp_path: Path) -> None:
    draw = random.Random(1)
    with LocalCluster(workers=3) as cluster:
        running = cluster.submit(Everything, config=config(tmp_path, total=8000, rate=1000, cut_at=[]))
        for step in range(12):
            until(lambda step=step: written(tmp_path) >= step * 600, lambda: f"the flow to go on: {running.stats()}")  # type: ignore[misc]
            kill(draw.choice(until(lambda: running.workers, "somebody to kill")))
            assert running.troubles == []
        finish(running)
        assert running.errors == []
        assert running.troubles == []
    assert {row[0] for row in rows(tmp_path)} == set(range(8000))


def test_healthy_parts_go_on_beside_a_worker_that_cannot_live(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(WithASickPlace, config=config(tmp_path, total=1_000_000, rate=500))
        (trouble,) = until(lambda: running.troubles, "the worker that cannot live")
        assert "worker w1 cannot live: it died 5 times within a minute, the last time because its process ended with status 7" in trouble
        with pytest.raises(CrashLoopError, match="worker w1 cannot live"):
            running.wait_finished()
        before = written(tmp_path)
        until(lambda: written(tmp_path) > before + 1000, "the others to go on")
        assert [info.incarnation for info in running.workers if info.id == "w0"] == [1]
        running.set_active("bolt", 1)


def told_away(running: RunningTopology) -> str | None:
    """What a change is refused with, once it says why."""
    with pytest.raises(BrokenError) as refused:
        running.set_active("bolt", 3)
    return str(refused.value) if "the database is away" in str(refused.value) else None


def test_without_any_worker_changes_are_refused_and_waiting_says_why(tmp_path: Path) -> None:
    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(WithGoesAway, config=config(tmp_path, total=2000, rate=1000))
        until(lambda: written(tmp_path) > 10, "tuples")
        (victim,) = running.workers
        (tmp_path / "away").touch()
        kill(victim)
        until(lambda: not running.workers, "its end")
        # that it is away is known only once the next one has tried to start
        refusal = until(lambda: told_away(running), "the refusal to name it")
        assert refusal.startswith(f"set_active('bolt', 3): no worker of topology {running.name!r} is alive: ")
        with pytest.raises(CrashLoopError, match="the database is away"):
            running.wait_finished(PATIENCE_SECONDS)
        with pytest.raises(DrainTimeoutError, match="the database is away"):
            running.drain(0.2)
        (tmp_path / "away").unlink()
        running.activate()
        until_replaced(running, victim)
        running.set_active("bolt", 3)
        until(lambda: running.stats().complete, "its counters")


@pytest.mark.timeout(600)
def test_pasps_run_goes_on_and_its_exit_code_tells(tmp_path: Path) -> None:
    source = tmp_path / "trips.py"
    source.write_text("from tests.integration.faulty_topologies import WithTrips\n\n\nclass Tripping(WithTrips):\n    pass\n")
    keys = config(tmp_path, total=200, trip="exit") | {"topology.max.spout.pending": 100}
    options = [part for key, value in keys.items() for part in ("-o", f"{key}={value}")]
    run = Run(tmp_path, str(source), "--workers", "1", "--drain-timeout", "1", "--json", *options)
    try:
        until(lambda: any("worker w0 cannot live" in told for line in run.lines() for told in line["troubles"]), run.err.read_text, 120)
        assert run.process.is_running()
        run.process.terminate()
        code, summary = run.end(), run.lines()[-1]
    finally:
        run.clean_up()
    assert "ended with status 7" in summary["troubles"][0]
    assert any("worker w0 cannot live" in report["text"] for report in summary["reports"])
    assert code == summary["exit_code"]
    assert code in (exit_codes.LEFT_OVER, exit_codes.FAILED)


_PARENT = """
import sys
from pathlib import Path
from pasps import LocalCluster
from tests.integration.faulty_topologies import WithTrips
from tests.integration.running import config
cluster = LocalCluster(workers=1)
running = cluster.submit(WithTrips, config=config(Path(sys.argv[1]), total=2000, trip="loop"))
print(running.workers[0].pid, flush=True)
while not running.troubles:
    pass
print("stuck", flush=True)
sys.stdin.read()
"""


def test_a_worker_that_does_not_come_back_ends_with_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PARENT, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        assert parent.stdout.readline() == "stuck\n"
        parent.send_signal(signal.SIGKILL)
    until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, "the worker's end")
