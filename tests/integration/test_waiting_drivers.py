"""Drivers that are started before anybody knows what for: what becomes of them, and that none is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from pasps.cluster.driver.__main__ import warmed
from pasps.cluster.launch.spark_java import begin_java
from pasps.cluster.master.driver_process import MOST_WAITING, REST_SECONDS, WAIT_SECONDS, DriverProcesses
from pasps.cluster.master.home import Home
from pasps.cluster.master.settings import Settings
from pasps.testing.clock import FakeClock
from tests.integration.running import until

pytestmark = pytest.mark.integration

STAND_IN = (sys.executable, str(Path(__file__).with_name("standin_driver.py")))


def settings(home: Path, *, ready: bool = False) -> Settings:
    """Of a master whose ZooKeeper and Spark are not there: who has no orders looks for neither."""
    return Settings(spark="spark://127.0.0.1:1", zookeeper="127.0.0.1:1", home=home, ready=ready)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the processes of a test have their temporary files."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with Home(tmp_path / "home") as made:
        yield made


def waiting(home: Path) -> list[psutil.Process]:
    """Those of that master that have no topology, or had none when they were started."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            words = process.cmdline()
            if "--waiting" in words and any(word.startswith(f"{home}/") for word in words):
                found.append(process)
    return found


def until_waiting(home: Home, number: int) -> list[psutil.Process]:
    """A process that has just begun has no command line for a moment."""
    return until(lambda: waiting(home.path) if len(waiting(home.path)) >= number else [], f"{number} that wait")


def with_java(home: Path) -> list[psutil.Process]:
    """One that waits, and its Java, once that is there."""
    for process in waiting(home):
        with suppress(psutil.NoSuchProcess):
            if java := [child for child in process.children() if "java" in child.name()]:
                return [process, *java]
    return []


def is_gone(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() == psutil.STATUS_ZOMBIE
    return True


def until_gone(processes: list[psutil.Process]) -> None:
    until(lambda: all(map(is_gone, processes)), lambda: f"the end of {processes}")


def said(home: Home, name: str) -> str:
    """What the stand-in of that topology has noted of itself, once it has its orders."""
    file = home.driver(name) / "started.txt"
    return until(lambda: file.exists() and file.read_text(), f"the driver of {name} to have read its orders") or ""


def test_of_one_that_is_not_needed_nothing_is_left(home: Home, temporary: Path) -> None:
    drivers = DriverProcesses(settings(home.path), home, "t0ken")
    prepared = drivers.prepare()
    processes = until(lambda: with_java(home.path), "a driver with Spark's Java")
    assert processes is not None
    assert "t0ken" not in str(processes[0].environ())
    prepared.drop()
    until_gone(processes)
    drivers.reap()
    assert [*home.incoming.iterdir(), *temporary.iterdir()] == []
    assert drivers.own("counting") is None


MASTER = """
import sys, time
from pathlib import Path
from pasps.cluster.launch.spark_java import begin_java
from pasps.cluster.driver.__main__ import warmed
from pasps.cluster.master.driver_process import DriverProcesses
from pasps.cluster.master.home import Home
from pasps.cluster.master.settings import Settings

with Home(Path(sys.argv[1])) as home:
    drivers = DriverProcesses(Settings(spark="spark://127.0.0.1:1", zookeeper="127.0.0.1:1", home=home.path), home, "t0ken")
    prepared = drivers.prepare()
    prepared.keep_for("counting")
    time.sleep(600)
"""


def test_it_ends_with_its_master_when_that_is_killed_between(tmp_path: Path, temporary: Path) -> None:
    master = subprocess.Popen([sys.executable, "-c", MASTER, str(tmp_path / "home")])
    try:
        processes = until(lambda: with_java(tmp_path / "home"), "a driver with Spark's Java")
    finally:
        master.kill()
        master.wait()
    assert processes is not None
    until_gone(processes)
    assert list(temporary.iterdir()) == []
    with Home(tmp_path / "home") as home:
        assert list(home.incoming.iterdir()) == []


def test_the_driver_of_its_topology_is_that_process_and_its_log_is_where_it_belongs(home: Home) -> None:
    drivers = DriverProcesses(settings(home.path), home, "t0ken", STAND_IN)
    drivers.prepare().keep_for("counting")
    (process,) = until_waiting(home, 1)
    (home.path / "package.zip").touch()
    drivers.start("others", 1, str(home.path / "package.zip"))
    drivers.start("counting", 7, str(home.path / "package.zip"))
    assert said(home, "counting") == f"7 {process.pid}\n"
    assert not said(home, "others").endswith(f" {process.pid}\n")
    for name, epoch in (("counting", 7), ("others", 1)):
        until(lambda name=name: drivers.own(name).exit_code is not None, "its end: it finds no ZooKeeper")  # type: ignore[misc,union-attr]
        assert "127.0.0.1:1" in drivers.last_words(name, epoch)
    assert list(home.incoming.iterdir()) == []


def test_one_that_has_died_meanwhile_is_replaced_by_another(home: Home) -> None:
    drivers = DriverProcesses(settings(home.path), home, "t0ken", STAND_IN)
    drivers.prepare().keep_for("counting")
    (process,) = until_waiting(home, 1)
    os.kill(process.pid, signal.SIGKILL)
    until_gone([process])
    (home.path / "package.zip").touch()
    drivers.start("counting", 1, str(home.path / "package.zip"))
    assert said(home, "counting") != f"1 {process.pid}\n"
    until(lambda: drivers.own("counting").exit_code is not None, "its end: it finds no ZooKeeper")  # type: ignore[union-attr]


def test_not_more_than_a_few_wait_and_none_for_ever(home: Home) -> None:
    clock = FakeClock()
    drivers = DriverProcesses(settings(home.path), home, "t0ken", STAND_IN, clock)
    prepared = [drivers.prepare() for _ in range(3 * MOST_WAITING)]
    processes = until_waiting(home, MOST_WAITING)
    for number, one in enumerate(prepared):
        one.keep_for(f"counting-{number}")
    drivers.reap()
    assert waiting(home.path) == processes
    clock.advance(WAIT_SECONDS + 1)
    drivers.reap()
    until_gone(processes)
    drivers.prepare()
    last = until_waiting(home, 1)
    drivers.close()
    until_gone(last)
    drivers.reap()


def test_one_that_is_kept_ready_is_the_next_driver_and_another_takes_its_place_later(home: Home) -> None:
    clock = FakeClock()
    drivers = DriverProcesses(settings(home.path, ready=True), home, "t0ken", STAND_IN, clock)
    drivers.have_ready()
    assert waiting(home.path) == [], "what begins has better use for the machine"
    clock.advance(REST_SECONDS + 1)
    for _ in range(3):
        drivers.have_ready()
    (ready,) = until_waiting(home, 1)
    drivers.prepare().keep_for("counting")
    (home.path / "package.zip").touch()
    drivers.start("counting", 1, str(home.path / "package.zip"))
    assert said(home, "counting") == f"1 {ready.pid}\n"
    until(lambda: drivers.own("counting").exit_code is not None, "its end: it finds no ZooKeeper")  # type: ignore[union-attr]
    drivers.have_ready()
    assert waiting(home.path) == []
    clock.advance(REST_SECONDS + 1)
    drivers.have_ready()
    (second,) = until_waiting(home, 1)
    os.kill(second.pid, signal.SIGKILL)
    until_gone([second])
    clock.advance(REST_SECONDS + 1)
    drivers.have_ready()
    (third,) = until_waiting(home, 1)
    drivers.close()
    until_gone([third])
    drivers.reap()
    assert list(home.incoming.iterdir()) == []


def test_those_that_die_while_they_are_ready_take_nobody_s_place(home: Home) -> None:
    clock = FakeClock()
    drivers = DriverProcesses(settings(home.path, ready=True), home, "t0ken", STAND_IN, clock)
    for _ in range(MOST_WAITING):
        clock.advance(REST_SECONDS + 1)
        drivers.have_ready()
        (ready,) = until_waiting(home, 1)
        os.kill(ready.pid, signal.SIGKILL)
        until_gone([ready])
        instead = drivers.prepare()
        processes = until_waiting(home, 1)
        instead.drop()
        until_gone(processes)
        drivers.reap()
    drivers.prepare()
    last = until_waiting(home, 1)
    drivers.close()
    until_gone(last)
    drivers.reap()
    assert list(home.incoming.iterdir()) == []


def test_why_those_that_are_kept_ready_end_is_said_and_they_are_begun_less_and_less_often(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    failing = (sys.executable, "-c", "import sys; sys.exit('no such library')")
    drivers = DriverProcesses(settings(home.path, ready=True), home, "t0ken", failing, clock)

    def said() -> list[str]:
        return [record.getMessage() for record in caplog.records if "kept ready" in record.getMessage()]

    def begun() -> int:
        return len(list(home.incoming.iterdir()))

    clock.advance(REST_SECONDS + 1)
    drivers.have_ready()
    for number, pause in enumerate((REST_SECONDS, 2 * REST_SECONDS, 4 * REST_SECONDS), start=1):
        until(lambda: all(b"no such" in file.read_bytes() for file in home.incoming.iterdir()), "its end")
        until(lambda: not drivers.lives_ready, "its end")
        clock.advance(pause - 1)
        drivers.have_ready()
        assert len(said()) == number - 1
        clock.advance(2)
        drivers.have_ready()
        assert (len(said()), begun()) == (number, 1)
    assert said()[0] == "the driver that was kept ready has ended with status 1: no such library"
    until(lambda: not drivers.lives_ready, "the end of the last")
    drivers.close()
    drivers.reap()
    assert begun() == 0


def test_one_that_has_tried_everything_out_has_a_java_that_takes_an_application(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    java = begin_java()
    assert java is not None
    try:
        assert warmed(java) is java
        gateway = java.gateway()
        context = gateway.jvm.JavaSparkContext(
            gateway.jvm.SparkConf(False).setMaster("local[1]").setAppName("next").set("spark.ui.enabled", "false")
        )
        assert context.getConf().get("spark.app.name") == "next"
        context.stop()
        gateway.shutdown()
        assert not java.ended
    finally:
        java.end()
    assert java.ended
    assert warmed(java) is None, "it has ended, and another one is started later"
    assert [path for path in temporary.iterdir() if path.name.startswith("pasps-")] == []
