"""What is wrong in a spout is told as that spout's; no worker ends, nothing is lost, and the other spouts go on."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from pasps import EndOfInput, LocalCluster, Spout, Topology, TopologyContext, Tuple
from pasps.errors import WorkerStartError
from tests.integration.faulty_spouts import KINDS, ODD_BACKLOGS, ODD_POSITIONS, ODD_RETURNS, Reads, mistakes
from tests.integration.running import config, finish, kill, rows, spout_worker, until, until_replaced

TOTAL = 1000


def test_no_mistake_of_a_spout_ends_a_worker_or_loses_a_tuple(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(mistakes(), config=config(tmp_path, total=TOTAL))
        pids = [info.pid for info in running.workers]
        finish(running)

        def told() -> dict[str, str]:
            running.stats()  # each asks for the backlog once more
            found: defaultdict[str, str] = defaultdict(str)
            for error in running.errors:
                found[error.component] += error.text
            return found

        wanted = {f"raises_{kind}": type(make()).__name__ for kind, make in KINDS.items()}
        wanted |= {f"says_{kind}": "backlog() returns a whole number of events" for kind in ODD_BACKLOGS}
        wanted |= {f"says_{kind}": "next_tuple() returns None, or seconds until" for kind in ODD_RETURNS}
        wanted |= {"says_huge": "a position has 524288 bytes at most", "says_function": "save_position takes None, numbers"}
        wanted |= {"elsewhere": "component 'elsewhere', stream 'default': emit was called elsewhere"}
        assert {*ODD_POSITIONS} == {"huge", "function"}
        until(lambda: all(text in told()[name] for name, text in wanted.items()), lambda: f"{wanted} in {told()}")
        assert "says_numpy" not in told()
        raised = {method for method in ("next_tuple", "ack", "backlog", "due_at", "activate") if f"in {method}\n" in told()["raises_exit"]}
        assert raised == {"next_tuple", "ack", "backlog", "due_at", "activate"}
        stats = running.stats()
        assert stats.components["says_numpy"].backlog == 3
        assert [info.pid for info in running.workers] == pids
        names = {name: spec for name, spec in stats.components.items() if name != "sink"}
        assert {name: (spout.acked, spout.failed) for name, spout in names.items()} == dict.fromkeys(names, (TOTAL, 0))
    by_spout: defaultdict[int, list[int]] = defaultdict(list)
    for task, number in rows(tmp_path):
        by_spout[task].append(number)
    assert len(by_spout) == len(names)
    assert all(sorted(numbers) == list(range(TOTAL)) for numbers in by_spout.values())


class Exits(Spout):
    """Leaves `initialize` by an exit: at the start, or in place of a worker that died, twice."""

    outputs = ("n", "key")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        tries = Path(conf["test.dir"]) / "tries"
        if conf.get("test.at_start") or (ctx.restarted and tries.read_text().count("x") < 2):
            with tries.open("a") as file:
                file.write("x")
            raise SystemExit(5)
        tries.touch()
        self.next = ctx.position or 0

    def next_tuple(self) -> float | None:
        if self.next == 300:
            raise EndOfInput
        self.emit((self.next, 0), tup_id=self.next)
        self.next += 1
        return 0.005

    def ack(self, tup_id: int) -> None:
        self.save_position(tup_id + 1)


class Exiting(Topology):
    numbers = Exits.spec()
    sink = Reads.spec(inputs=[numbers])


def test_an_exit_in_initialize_is_named_at_the_start(tmp_path: Path) -> None:
    with (
        LocalCluster(workers=1) as cluster,
        pytest.raises(WorkerStartError, match=r"(?s)in initialize.*SystemExit: 5.*component 'numbers': initialize was left by SystemExit"),
    ):
        cluster.submit(Exiting, config=config(tmp_path, at_start=True))


def test_an_exit_in_initialize_after_a_crash_is_tried_again(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Exiting, config=config(tmp_path))
        until(lambda: len(rows(tmp_path)) > 50, "tuples")
        before = spout_worker(running)
        kill(before)
        until_replaced(running, before)
        finish(running)
        assert len([error for error in running.errors if "SystemExit: 5" in error.text]) == 2
    assert {row[1] for row in rows(tmp_path)} == set(range(300))


class TooSlow(Reads):
    """Takes longer than the time-out for the first tuples."""

    execution = "thread"

    def process(self, tup: Tuple) -> None:
        if tup.values[0] < 2:
            time.sleep(0.7)
        super().process(tup)


class Slow(Topology):
    numbers = Exits.spec()
    sink = TooSlow.spec(inputs=[numbers])


def test_a_time_out_that_is_too_short_is_told(tmp_path: Path) -> None:
    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(Slow, config=config(tmp_path) | {"topology.message.timeout.secs": 0.2})
        until(lambda: any("the time-out is shorter than the work takes" in error.text for error in running.errors), "the report")
        assert "topology.message.timeout.secs is 0.2" in next(e.text for e in running.errors if "time-out" in e.text)
