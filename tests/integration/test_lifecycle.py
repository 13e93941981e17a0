"""Bolts that wait, ticks, drain, pause, kill, hooks, misuse, strangers."""

from __future__ import annotations

import random
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from pasps import LocalCluster
from pasps.cluster.store.tokens import SECRET_VARIABLES
from pasps.errors import BusyError, ClosedError, DrainTimeoutError, InvalidError
from tests.integration.flow_topologies import SlowToEnd, Waiting, WithHolds, WithHooks
from tests.integration.running import PATIENCE_SECONDS, config, finish, no_children, rows, until, written
from tests.integration.test_set_active import ParkedStayStill
from tests.integration.topologies import Chain


def test_threads_and_coroutines_while_replicas_change(tmp_path: Path) -> None:
    total, parked = 6000, ParkedStayStill()
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Waiting, config=config(tmp_path, total=total, rate=2000))
        for step in range(24):
            name, pool = [("thread", 8), ("awaits", 4), ("batches", 4), ("keyed_thread", 8)][step % 4]
            running.set_active(name, [pool, 1, pool // 2][step // 4 % 3])
            parked.look(running)
        finish(running)
        parked.look(running)
        stats = running.stats()
        assert running.errors == []
    assert sorted(row[0] for row in rows(tmp_path)) == list(range(total))
    assert (stats.acked, stats.failed) == (total, 0)
    assert parked.seen > 20


@pytest.mark.skipif(sys.platform != "linux", reason="shows what a process was started with")
def test_workers_get_no_secret_of_a_cluster_by_their_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRET_VARIABLES:
        monkeypatch.setenv(name, "pasps:s3cret")
    monkeypatch.setenv("PASPS_HTTP_TOKEN", "of a spout")
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=10))
        for worker in running.workers:
            environment = Path(f"/proc/{worker.pid}/environ").read_bytes()
            assert b"s3cret" not in environment
            assert b"of a spout" in environment
        finish(running)


def lines(directory: Path, component: str) -> dict[str, list[str]]:
    return {path.name: path.read_text().split("\n")[:-1] for path in directory.glob(f"{component}-*.log")}


def test_hooks_and_ticks(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(WithHooks, config=config(tmp_path, total=1000))
        finish(running)
        until(lambda: sum(sum(x.startswith("tick") for x in of) >= 2 for of in lines(tmp_path, "hooks").values()) == 2, "two ticks of two")
        running.set_active("hooks", 4)
        until(lambda: all("tick 0.05" in of for of in lines(tmp_path, "hooks").values()), "a tick of all")
        running.set_active("hooks", 1)
        until(lambda: sum("deactivate" in of for of in lines(tmp_path, "hooks").values()) == 3, "three to be put out")
        running.kill()
    found = lines(tmp_path, "hooks")
    assert len(found) == 4
    for of in found.values():
        assert of[0] == "initialize"
        assert of[-1] == "close"
        assert of.count("close") == of.count("initialize") == 1
        assert "activate" in of
        if "deactivate" in of:
            assert of[of.index("deactivate") + 1 :] == ["close"], "a parked replica was given something"
    assert sum(of.count("process") for of in found.values()) == 1000


def test_drain_says_what_is_left_and_ends_when_nothing_is(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(WithHolds, config=config(tmp_path, total=300))
        until(lambda: running.stats().pending == 300, "all to be held")
        with pytest.raises(DrainTimeoutError, match="tracked tuples in flight: 300") as caught:
            running.drain(0.2)
        assert caught.value.left == {"tracked tuples in flight": 300, "kept by holds for a later ack": 300}
        (tmp_path / "release").touch()
        stats = running.drain(20)
        assert (stats.acked, stats.pending) == (300, 0)


def test_deactivate_and_activate(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=20_000, rate=5_000), active=False)
        assert running.stats().components["numbers"].emitted == 0
        running.activate()
        until(lambda: written(tmp_path) > 500, "tuples")
        running.deactivate()
        stopped = running.drain(20)
        assert stopped.components["numbers"].emitted == stopped.acked == written(tmp_path) < 20_000
        assert running.stats().components["numbers"].emitted == stopped.acked
        running.activate()
        finish(running)
    assert sorted(row[0] for row in rows(tmp_path)) == list(range(20_000))


def test_kill_without_waiting_and_use_after(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=10**9))
        until(lambda: written(tmp_path) > 100, "tuples")
        running.kill(wait=0)
        no_children()
        running.kill()
        for use in (running.stats, running.activate, running.deactivate, running.drain, lambda: running.set_active("work", 2)):
            with pytest.raises(ClosedError):
                use()
        with pytest.raises(ClosedError):
            running.wait_finished(1)
    with pytest.raises(ClosedError):
        cluster.submit(Chain, config=config(tmp_path, total=1))
    with pytest.raises(ClosedError):
        running.stats()
    cluster.close()


@contextmanager
def interrupted_when(sign: Path, times: int = 1) -> Iterator[None]:
    """Ctrl-C for what is done meanwhile, as soon as the file is there; a second one a moment later."""

    def interrupt() -> None:
        until(sign.exists, f"the file {sign.name}")
        for _ in range(times):
            came.clear()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            until(came.is_set, "the signal")

    def handle(number: int, frame: FrameType | None) -> None:
        came.set()
        if any(of.name == "kill" for of in traceback.extract_stack(frame)):  # a second one may come when that is over
            raise KeyboardInterrupt

    came, before = threading.Event(), signal.signal(signal.SIGINT, handle)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("sign", "wait", "times"), [("asleep", 60.0, 1), ("closing", 0.0, 1), ("closing", 0.0, 2), ("asleep", 60.0, 2)])
def test_kill_that_is_interrupted_leaves_no_worker(tmp_path: Path, sign: str, wait: float, times: int) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(SlowToEnd, config=config(tmp_path, total=300, closes=1.0))
        until(lambda: running.stats().pending == 300, "all to be held")
        with interrupted_when(tmp_path / sign, times):
            running.kill(wait=wait)
        no_children()
        running.kill()
        with pytest.raises(ClosedError):
            running.stats()
        cluster.submit(Chain, config=config(tmp_path, total=10)).kill(wait=0)


def test_kill_while_others_wait(tmp_path: Path) -> None:
    """Calls of other threads end with ClosedError rather than never."""
    ends: list[type[BaseException] | None] = []

    def wait() -> None:
        try:
            running.wait_finished()
        except ClosedError as error:
            ends.append(type(error))
        else:
            ends.append(None)

    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=10**9))
        thread = threading.Thread(target=wait)
        thread.start()
        until(lambda: written(tmp_path) > 100, "tuples")
        running.kill(wait=0)
        thread.join(PATIENCE_SECONDS)
        assert ends == [ClosedError]


def test_wrong_calls_change_nothing(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, name="one", config=config(tmp_path, total=1000, rate=2000))
        version = running.stats().table_version
        for component, count, message in [
            ("work", 7, r"expected 1 to 6 replicas of 'work' \(its pool\), got 7"),
            ("work", 0, "expected 1 to 6"),
            ("work", True, "expected 1 to 6"),
            ("work", 2.0, "expected 1 to 6"),
            ("numbers", 1, r"expected the id of a bolt \(work, keyed, sink\), got 'numbers'"),
            ("nobody", 1, "got 'nobody'"),
        ]:
            with pytest.raises(InvalidError, match=message):
                running.set_active(component, count)  # type: ignore[arg-type]
        assert running.stats().table_version == version
        assert running.set_active("work", 3) == version  # as many as there are: nothing to do
        with pytest.raises(BusyError, match="'one' runs in this cluster"):
            cluster.submit(Chain, name="one", config=config(tmp_path, total=10))
        finish(running)
        running.kill()
        again = cluster.submit(Chain, name="one", config=config(tmp_path, total=0))
        finish(again)


def test_two_topologies_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with LocalCluster(workers=1) as cluster:
        one = cluster.submit(Chain, name="one", config=config(tmp_path / "a", total=3000))
        two = cluster.submit(Chain, name="two", config=config(tmp_path / "b", total=2000))
        finish(two)
        two.kill()
        finish(one)
    assert sorted(row[0] for row in rows(tmp_path / "a")) == list(range(3000))
    assert sorted(row[0] for row in rows(tmp_path / "b")) == list(range(2000))


def test_strangers_at_the_data_ports_disturb_nobody(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=20_000, rate=10_000))
        pids = [info.pid for info in running.workers]
        sent = [b"GET / HTTP/1.1\r\n\r\n", random.Random(1).randbytes(5000), b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x00\x00\x00\x00"]
        for info in running.workers:
            for data in sent:
                with socket.create_connection((info.host, info.port), 5) as stranger:
                    stranger.settimeout(10)
                    stranger.sendall(data)
                    until(lambda stranger=stranger: _is_cut(stranger), f"the end of the connection that sent {data[:20]!r}")  # type: ignore[misc]
        with socket.create_connection((running.workers[0].host, running.workers[0].port)):  # connects, and says nothing
            finish(running)
        assert [info.pid for info in running.workers] == pids
        stats = running.stats()
        assert (stats.acked, stats.failed) == (20_000, 0)
    assert sorted(row[0] for row in rows(tmp_path)) == list(range(20_000))


def _is_cut(stranger: socket.socket) -> bool:
    try:
        return stranger.recv(4096) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True
