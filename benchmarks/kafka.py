"""`python -m benchmarks.kafka`: messages a second of `KafkaSpout` with one task and with two, on a Kafka of its own.

The broker is that of the tests (tests/integration/kafka_broker.py), whose jars are fetched when they are not there. Each run reads
the same topic of four partitions with a group of its own; the cases take turns. `1:1` is one task in a worker, and one bolt; `2:1`
two tasks in two workers, and one bolt in one of them, to which the other's messages travel; `2:2` a bolt in each. `--load 1` has a
busy loop beside it, as another program on the machine.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from confluent_kafka import Producer

from pasps import BatchBolt, LocalCluster, RunningTopology, Topology, TopologyContext, Tuple
from pasps.connectors.kafka import KafkaRecord, KafkaSpout
from tests.integration.kafka_broker import KafkaBroker, jars

_PARTITIONS = 4
_TOPIC = "messages"
_ENTRY = f"<dq{_PARTITIONS}q"
"""When a batch came, how many messages it had, and behind which offset of each partition (0: it had none of it)."""
_LOOK_SECONDS = 0.02
_MOST_SECONDS = 300.0
_STEP_SECONDS = 0.1


class Records(KafkaSpout):
    """Where a message stands is all that is handed on."""

    outputs = ("partition", "offset")

    def values(self, record: KafkaRecord) -> tuple[int, int]:
        """See `KafkaSpout`."""
        return record.partition, record.offset


class Sink(BatchBolt):
    """Writes down what came, a line for each batch."""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """One file each."""
        self._file = (Path(conf["benchmark.directory"]) / f"{os.getpid()}-{ctx.task_id}").open("wb", buffering=0)

    def process_batch(self, tuples: Sequence[Tuple]) -> None:
        """At once, so that it is known from outside."""
        behind = dict.fromkeys(range(_PARTITIONS), 0)
        for tup in tuples:
            partition, offset = tup.values
            behind[partition] = offset + 1
        self._file.write(struct.pack(_ENTRY, time.monotonic(), len(tuples), *behind.values()))


@dataclass(frozen=True, slots=True)
class Use:
    """What processes have used so far."""

    at: float
    workers: float
    broker: float
    switches: int
    """How often a worker's thread gave its core away, because it waited or because it had to."""


@dataclass(frozen=True, slots=True)
class Result:
    """One run; what was used is from the first batch to the last one, and `started` what the workers had used before."""

    seconds: float
    arrived: int
    batches: int
    longest_gap: float
    started: float
    workers: float
    broker: float
    switches: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser("python -m benchmarks.kafka", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000, help="in the topic, of 100 bytes each")
    parser.add_argument("--rounds", type=int, default=3, help="of each; the medians are told too")
    parser.add_argument("--load", type=int, default=0, help="busy loops beside it")
    parser.add_argument("--cases", nargs="+", default=["1:1", "2:1", "2:2"], help="TASKS:BOLTS; each task has a worker of its own")
    wanted = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, _broker(Path(directory)) as broker:
        _fill(broker, wanted.messages)
        print("| tasks:bolts | messages/s | CPU s of workers | of the broker | to start | switches | batch | twice | longest gap |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        found: dict[str, list[Result]] = {case: [] for case in wanted.cases}
        with _load(wanted.load):
            for number in range(wanted.rounds):
                for case in wanted.cases:
                    place = Path(directory) / f"{number}-{case.replace(':', '-')}"
                    place.mkdir()
                    tasks, bolts = map(int, case.split(":"))
                    found[case].append(_run(broker, place, tasks, bolts, wanted.messages))
                    print(_line(case, [found[case][-1]], wanted.messages), flush=True)
        for case, results in found.items():
            print(_line(f"**{case}**, median", results, wanted.messages))
    return 0


def _line(name: str, results: Sequence[Result], messages: int) -> str:
    def of(field: str) -> float:
        return float(median(getattr(result, field) for result in results))

    rate, batch, twice = messages / of("seconds"), of("arrived") / of("batches"), of("arrived") - messages
    used = f"{of('workers'):.2f} | {of('broker'):.2f} | {of('started'):.2f} | {of('switches'):,.0f}"
    return f"| {name} | {rate:,.0f} | {used} | {batch:.0f} | {twice:,.0f} | {of('longest_gap'):.2f} s |"


@contextmanager
def _broker(directory: Path) -> Iterator[KafkaBroker]:
    broker = KafkaBroker(directory / "broker", jars(600.0))
    try:
        broker.start()
        broker.topic(_TOPIC, _PARTITIONS)
        yield broker
    finally:
        broker.kill()


@contextmanager
def _load(count: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _fill(broker: KafkaBroker, messages: int) -> None:
    producer = Producer({"bootstrap.servers": broker.brokers, "linger.ms": 20, "batch.num.messages": 10_000})
    for number in range(messages):
        while True:
            try:
                producer.produce(_TOPIC, b"%0100d" % number, partition=number % _PARTITIONS)
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(60):
        raise AssertionError("the broker did not take all messages")


def _run(broker: KafkaBroker, directory: Path, tasks: int, bolts: int, messages: int) -> Result:
    class Reading(Topology):
        records = Records.spec(par=tasks)
        sink = Sink.spec(inputs=[records], par=bolts)

    config = {
        "kafka.brokers": broker.brokers,
        "kafka.topics": [_TOPIC],
        "kafka.group": directory.name,
        "benchmark.directory": str(directory),
    }
    with LocalCluster(workers=tasks) as cluster:
        running = cluster.submit(Reading, config=config)
        uses = _watch(running, broker, directory, messages)
        stats = running.drain(30)
        errors = [error.text for error in running.errors]
        running.kill()
    if errors or stats.failed or stats.pending:
        raise AssertionError(f"{stats}, {errors}")
    entries = _entries(directory)
    gaps = [after[0] - before[0] for before, after in pairwise(entries)]
    first, last = _at(uses, entries[0][0]), _at(uses, entries[-1][0])
    return Result(
        seconds=entries[-1][0] - entries[0][0],
        arrived=sum(entry[1] for entry in entries),
        batches=len(entries),
        longest_gap=max(gaps, default=0.0),
        started=first.workers,
        workers=last.workers - first.workers,
        broker=last.broker - first.broker,
        switches=last.switches - first.switches,
    )


def _watch(running: RunningTopology, broker: KafkaBroker, directory: Path, messages: int) -> list[Use]:
    """Until all messages have come."""
    uses, server = [], psutil.Process(broker.pid)
    workers = [psutil.Process(worker.pid) for worker in running.workers]
    end, look_at = time.monotonic() + _MOST_SECONDS, 0.0
    while time.monotonic() < end:
        uses.append(_use(workers, server))
        if time.monotonic() >= look_at:
            look_at = time.monotonic() + _STEP_SECONDS
            if sum(max(ends) for ends in zip(*(entry[2:] for entry in _entries(directory)), strict=True)) >= messages:
                return [*uses, _use(workers, server)]
        time.sleep(_LOOK_SECONDS)
    raise AssertionError(f"not all messages have come: {running.stats()}, {[error.text for error in running.errors]}")


def _use(workers: Sequence[psutil.Process], server: psutil.Process) -> Use:
    used = [worker.cpu_times() for worker in workers]
    given = [worker.num_ctx_switches() for worker in workers]
    served = server.cpu_times()
    return Use(
        time.monotonic(),
        sum(times.user + times.system for times in used),
        served.user + served.system,
        sum(switches.voluntary + switches.involuntary for switches in given),
    )


def _at(uses: Sequence[Use], moment: float) -> Use:
    return next((use for use in uses if use.at >= moment), uses[-1])


def _entries(directory: Path) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    size = struct.calcsize(_ENTRY)
    for path in directory.iterdir():
        raw = path.read_bytes()
        found += struct.iter_unpack(_ENTRY, raw[: len(raw) // size * size])
    return sorted(found)


if __name__ == "__main__":
    sys.exit(main())
