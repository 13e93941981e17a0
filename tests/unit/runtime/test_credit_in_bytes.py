"""Large tuples are bounded by their bytes, not by their number alone; small ones never notice."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import pytest

from pasps import Bolt, Grouping, Spout, Topology, Tuple
from pasps.runtime.batch import Batch, Row
from pasps.runtime.target import Target, weight_of
from pasps.testing import StepRun

LIMIT, MOST_BYTES = 100, 100_000
HEAVY = 10_000


class Taken:
    """A door that keeps what it is given."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def accept(self, batch: Batch, weight: int = 0) -> None:
        self.rows += batch.rows


class Waits:
    def __init__(self) -> None:
        self.woken = 0

    def wake(self) -> None:
        self.woken += 1


def target() -> tuple[Target, Taken]:
    found, door = Target("bolt", 0, LIMIT, MOST_BYTES), Taken()
    found.door = door
    return found, door


def batch(*sizes: int) -> Batch:
    return Batch(0, 0, 0, [(index, "x" * size) for index, size in enumerate(sizes)])


def waiting_bytes(rows: list[Row]) -> int:
    return sum(len(row[1]) for row in rows)


def test_heavy_tuples_fill_the_bytes_long_before_the_number() -> None:
    sender, door = target()
    rest = sender.send(batch(*[HEAVY] * 50))
    assert rest is not None
    assert len(door.rows) + len(rest.rows) == 50
    assert 5 < len(door.rows) < 10
    assert sender.send(batch(HEAVY)) is not None
    sender.release(4)
    rest = sender.send(rest)
    assert rest is not None
    assert waiting_bytes(door.rows[4:]) < MOST_BYTES


def test_a_tuple_larger_than_all_that_may_wait_goes_alone() -> None:
    sender, door = target()
    assert sender.send(batch(10)) is None
    rest = sender.send(batch(5 * MOST_BYTES, 5 * MOST_BYTES))
    assert rest is not None
    assert len(rest.rows) == 1
    assert sender.room() == 0
    sender.release(2)
    assert sender.room() == LIMIT
    assert sender.send(rest) is None
    assert len(door.rows) == 3


def test_small_tuples_are_bounded_by_their_number_alone() -> None:
    sender, door = target()
    for _ in range(90):
        assert sender.send(batch(20)) is None
    rest = sender.send(batch(*[20] * 30))
    assert len(door.rows) == LIMIT
    assert rest is not None
    assert len(rest.rows) == 20


def test_credit_given_back_wakes_who_waits_and_forgetting_gives_all_back() -> None:
    sender, _ = target()
    waits = Waits()
    sender.send(batch(*[HEAVY] * 50))
    sender.wait(waits)
    sender.release(1)
    sender.wait(waits)
    sender.forget()
    assert waits.woken == 2
    assert (sender.room(), sender.outstanding_bytes) == (LIMIT, 0)


def test_who_waits_again_and_again_for_a_target_that_gives_nothing_back_is_woken_once() -> None:
    """As one that emits to several, of which one hangs: each time all are full it waits for any of them."""
    sender, _ = target()
    waits = Waits()
    sender.send(batch(*[HEAVY] * 50))
    for _ in range(1000):
        sender.wait(waits)
    sender.release(1)
    assert waits.woken == 1


@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_both_accounts_hold_and_end_at_zero(seed: int) -> None:
    random = Random(seed)
    sender, door = target()
    taken = 0
    for _ in range(400):
        sizes = [random.choice((5, 5, 5, 500, HEAVY, 3 * HEAVY)) for _ in range(random.randrange(1, 8))]
        sender.send(batch(*sizes))
        queued = door.rows[taken:]
        assert len(queued) == sender.outstanding <= LIMIT
        # those that were not weighed are light on average where it matters; here some batches are heavy without being looked at
        assert sender.outstanding_bytes <= MOST_BYTES
        count = random.randrange(0, len(queued) + 1)
        taken += count
        sender.release(count)
    sender.release(sender.outstanding)
    assert (sender.outstanding, sender.outstanding_bytes, sender.room()) == (0, 0, LIMIT)


@pytest.mark.parametrize("seed", range(5))
def test_heavy_ones_among_many_small_are_found_soon(seed: int) -> None:
    """One in ten is large: a look at every batch, or at one of each, would cost too much or miss them."""
    random = Random(seed)
    sender, door = target()
    taken, most = 0, []
    for step in range(3000):
        sender.send(batch(HEAVY if step > 200 and random.random() < 0.1 else 5))
        most.append(waiting_bytes(door.rows[taken:]))
        if len(door.rows) - taken > 90:
            taken += 1
            sender.release(1)
    assert max(most[1000:]) < 2 * MOST_BYTES


@dataclass
class Page:
    text: str


class WithState:
    def __init__(self, text: str) -> None:
        self.text = text


@dataclass(slots=True)
class SlottedPage:
    title: str
    text: str


class Named(NamedTuple):
    text: str


class Text(str):
    __slots__ = ()

    def __len__(self) -> int:
        raise RuntimeError("no")


class Texts(list[str]):
    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")


class Hostile:
    def __sizeof__(self) -> int:
        raise RuntimeError("no")

    def __len__(self) -> int:
        raise RuntimeError("no")

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10**6,
        b"x" * 10**6,
        ["x" * 1000] * 1000,
        {"a": {"b": ("x" * 10**6,)}},
        {str(i): "x" * 1000 for i in range(1000)},
        Page("x" * 10**6),
        [WithState("x" * 10**6)],
        bytearray(10**6),
        SlottedPage("one", "x" * 10**6),
        Named("x" * 10**6),
        OrderedDict(text="x" * 10**6),
        Text("x" * 10**6),
        Texts(["x" * 10**6]),
        {f"field{i}": i for i in range(40)} | {"text": "x" * 10**6},
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_weight_is_found_wherever_it_is(value: Any) -> None:
    assert 900_000 < weight_of([(1, value)]) < 1_300_000


def test_weighing_runs_no_code_of_the_user() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert 500 < weight_of([(Hostile(), loop, "x" * 500)]) < 1000


@pytest.mark.parametrize("value", [(part for part in ()), iter([]), open, len, str, type("Made", (), {})])
def test_what_is_no_container_weighs_what_it_is(value: object) -> None:
    assert 0 <= weight_of([(value,)]) < 5_000


class Pages(Spout):
    outputs = ["number", "page"]

    def next_tuple(self) -> float | None:
        return None


class Pass(Bolt):
    outputs = ["number", "page"]

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


class Slow(Pass):
    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        await asyncio.sleep(0.01)
        super().process(tup)


class Crawl(Topology):
    config = {"pasps.receive.buffer.bytes": 20 * HEAVY, "topology.max.spout.pending": 1000}
    pages = Pages.spec()
    one = Slow.spec(inputs={pages: Grouping.SHUFFLE}, par=2)
    two = Pass.spec(inputs={one: Grouping.fields("number")}, par=2, pool=4)


@pytest.mark.parametrize("workers", [1, 2])
def test_no_inbox_holds_more_bytes_than_it_may(workers: int) -> None:
    rows = [[number, "x" * HEAVY] for number in range(300)]
    with StepRun(Crawl, workers, inputs={"pages": rows}) as run:
        most = 0
        while not run.finished():
            run.advance(0.01)
            for worker in run.workers.values():
                for name, targets in worker.targets.items():
                    sharers = 2 // workers if worker.hosting.shared[name] else 1
                    most = max([most, *(target.outstanding / sharers for target in targets)])
        assert 0 < most <= 20
        assert sorted(row[0] for row in run.emitted["two"]["default"]) == list(range(300))
        assert run.verdicts.failed["pages"] == []
