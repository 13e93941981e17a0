"""OSG in real workers: senders come to RUN, and again after every change; nothing is lost, doubled, or left waiting.

Also with the load-aware shuffle of Storm before it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pasps import Bolt, Grouping, LocalCluster, RunningTopology, Topology, Tuple
from pasps.api.groupings import OsgOptions
from pasps.groupings import GroupingType, Sender, option
from pasps.groupings.osg import OsgObserver, OsgSplitter, State
from tests.integration.faulty_topologies import UntilEnough
from tests.integration.paper_topologies import Papers
from tests.integration.running import config, finish, kill, rows, spout_worker, until, until_replaced
from tests.integration.topologies import WriteDown

ROUNDS_PER_KEY = 300
RATE, SENDERS = 300, 2
WINDOW = 200
"""So long that a sketch comes seldom, as measured in what it takes to ask all tasks: on a machine that others use as well."""


@dataclass(frozen=True)
class NotedOptions(OsgOptions):
    """And where to note what state a sender is in."""

    directory: str = option(".", "where files are")


class NotedSplitter(OsgSplitter):
    """Writes down each state that it comes to, and for how many replicas."""

    def __init__(self, at: Sender) -> None:
        super().__init__(at)
        path = Path(at.options.directory) / f"sender-{at.task}-{os.getpid()}.states"
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def _enter(self, state: State) -> None:
        super()._enter(state)
        os.write(self._file, f"{state.name} {len(self.given)}\n".encode())


NOTED_OSG = GroupingType(
    "noted-osg", "OSG that says how it is", NotedSplitter, observer=OsgObserver, options=NotedOptions, takes_fields=True
)


class Compute(Bolt):
    """What a tuple costs goes by its key."""

    outputs = ("n", "key")

    def process(self, tup: Tuple) -> None:
        for number in range(ROUNDS_PER_KEY * (1 + tup.values.key)):
            hash(number)
        self.emit(tup.values)


class ThreadCompute(Compute):
    """The same on threads of their own."""

    execution = "thread"


def topology(directory: Path) -> type[Topology]:
    """Two senders, a bolt that computes and one on threads."""

    class Osg(Topology):
        numbers = UntilEnough.spec(par=SENDERS)
        work = Compute.spec(inputs={numbers: of(directory)}, par=3, pool=4)
        threads = ThreadCompute.spec(inputs={work: Grouping.osg("key", window=WINDOW)}, par=2, pool=3)
        sink = WriteDown.spec(inputs={threads: Grouping.GLOBAL})

    return Osg


def of(directory: Path) -> Any:
    # stable is what a machine makes it that others use as well
    return Grouping.of(NOTED_OSG, "key", window=WINDOW, mu=0.5, directory=str(directory))


def states(directory: Path) -> dict[str, list[tuple[str, int]]]:
    """What each sender in each process came to: the state, and for how many replicas."""
    found = {}
    for path in sorted(directory.glob("sender-*.states")):
        lines = [line.split() for line in path.read_text().split("\n")[:-1]]
        found[path.stem] = [(state, int(replicas)) for state, replicas in lines]
    return found


def runs(directory: Path, replicas: int, since: Mapping[str, int] = MappingProxyType({})) -> bool:
    """Whether as many senders as there are have come to RUN for so many replicas, after so many states that they came to before."""
    news = [of_one[since.get(name, 0) :] for name, of_one in states(directory).items()]
    return sum((State.RUN.name, replicas) in of_one for of_one in news) >= SENDERS


def end(running: RunningTopology, directory: Path) -> set[int]:
    """Have the input end, and wait for all that came of it; returns the numbers that there were."""
    (directory / "enough").touch()
    until(lambda: {path.name.split("-")[1] for path in directory.glob("numbers-*.log") if path.stat().st_size} == {"0", "1"}, "both ends")
    finish(running)
    return numbers_of(directory)


def numbers_of(directory: Path) -> set[int]:
    """What the senders emitted, by what they wrote down at the end."""
    counts: dict[int, int] = {}
    for path in directory.glob("numbers-*.log"):
        for line in path.read_text().split():
            counts[int(path.name.split("-")[1])] = int(line)
    return {task + SENDERS * number for task, count in counts.items() for number in range(count)}


def executed(running: RunningTopology) -> dict[tuple[str, int], int]:
    """Tuples of each replica so far."""
    components = running.stats().components
    return {(bolt, number): one.executed for bolt in ("storm", "osg") for number, one in components[bolt].replicas.items()}


def used(running: RunningTopology, before: Mapping[tuple[str, int], int], replicas: int) -> bool:
    """Whether so many replicas of both bolts have executed more since then."""
    now = executed(running)
    working = [bolt for (bolt, number), count in now.items() if count > before.get((bolt, number), 0)]
    return all(working.count(bolt) >= replicas for bolt in ("storm", "osg"))


def test_senders_come_to_run_and_nothing_is_lost_or_doubled_by_changes(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(topology(tmp_path), config=config(tmp_path, total=10_000_000, rate=RATE))
        for replicas in (3, 4, 2):
            running.set_active("work", replicas)
            until(lambda count=replicas: runs(tmp_path, count), lambda: f"both senders in RUN; they came to {states(tmp_path)}")
            running.set_active("threads", replicas - 1)
        numbers = end(running, tmp_path)
        stats = running.stats()
        assert (stats.failed, stats.replayed, stats.pending, stats.acked) == (0, 0, 0, len(numbers))
        assert {name: component.queued for name, component in stats.components.items() if component.queued} == {}
        assert [error.text for error in running.errors] == []
        assert sorted(row[0] for row in rows(tmp_path)) == sorted(numbers)


def test_after_the_load_aware_shuffle_of_storm_replicas_of_both_workers_are_used_and_nothing_is_lost(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Papers, config=config(tmp_path, total=10_000_000, rate=40))
        for replicas in (4, 2, 3):
            before = executed(running)
            for bolt in ("storm", "osg"):
                running.set_active(bolt, replicas)
            until(lambda count=replicas, before=before: used(running, before, count), f"work for {replicas} replicas of both bolts")
        numbers = end(running, tmp_path)
        stats = running.stats()
        assert (stats.failed, stats.replayed, stats.pending, stats.acked) == (0, 0, 0, len(numbers))
        for bolt in ("storm", "osg"):
            places = {replica.worker for replica in stats.components[bolt].replicas.values() if replica.executed}
            assert places == {info.id for info in running.workers}
        assert [error.text for error in running.errors] == []
        assert sorted(row[0] for row in rows(tmp_path)) == sorted(numbers)


def test_a_killed_worker_loses_nothing_and_stalls_no_sender(tmp_path: Path) -> None:
    with LocalCluster(workers=3) as cluster:
        running = cluster.submit(topology(tmp_path), config=config(tmp_path, total=10_000_000, rate=RATE))
        until(lambda: runs(tmp_path, 3), lambda: f"both senders in RUN; they came to {states(tmp_path)}")
        host = spout_worker(running)
        victim = next(info for info in running.workers if info.id != host.id)
        before = {name: len(of_one) for name, of_one in states(tmp_path).items()}
        kill(victim)
        until_replaced(running, victim)
        until(lambda: runs(tmp_path, 3, since=before), lambda: f"both senders in RUN again; they came to {states(tmp_path)}")
        numbers = end(running, tmp_path)
        stats = until(lambda: s if (s := running.stats()).complete else None, "a snapshot of all workers")
        assert stats is not None
        assert stats.pending == 0
        assert [error.text for error in running.errors] == []
        assert {row[0] for row in rows(tmp_path)} == numbers
