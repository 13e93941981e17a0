from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasps.api.groupings import Grouping
from pasps.api.splitting import Splitter
from pasps.groupings.load import LoadTable
from pasps.groupings.load_aware import fill
from tests.unit.groupings.harness import HandClock, choices_of, counts_of, rows_of, splitter_of, view_of

MS = 1e-3


def table_of(clock: HandClock, *replicas: tuple[float, float]) -> LoadTable:
    """One replica for each pair: seconds of work that it has, seconds a tuple costs it."""
    loads = LoadTable(len(replicas))
    for index, (waiting, each) in enumerate(replicas):
        loads.report(index, waiting, each, 0, clock.now())
    return loads


def sender(clock: HandClock, loads: LoadTable, *, band: float = 0.0, local: tuple[int, ...] = (), seed: int = 1) -> Splitter:
    tasks = len(loads.each)
    splitter = splitter_of(Grouping.LOAD_AWARE, band=band, clock=clock, seed=seed)
    splitter.refresh(view_of(range(tasks), tasks=tasks, loads=loads, local=local))
    return splitter


replicas_ = st.lists(st.tuples(st.floats(0, 0.2), st.floats(1e-4, 0.05)), min_size=2, max_size=8)


@given(replicas=replicas_, batches=st.lists(st.integers(1, 200), min_size=1, max_size=6), local=st.sets(st.integers(0, 7)), data=st.data())
@settings(max_examples=150)
def test_a_batch_is_split_as_if_tuple_by_tuple(
    replicas: list[tuple[float, float]], batches: list[int], local: set[int], data: st.DataObject
) -> None:
    band = data.draw(st.sampled_from([0.0, 5 * MS]))
    clock = HandClock()
    loads = table_of(clock, *replicas)
    near = tuple(sorted(index for index in local if index < len(replicas)))
    splitter = sender(clock, loads, band=band, local=near)
    work = [waiting for waiting, _ in replicas]
    for batch in batches:
        for _ in range(batch):
            least = min(work)
            allowed = [i for i in near if band and work[i] <= least + band] or range(len(work))
            chosen = min(allowed, key=work.__getitem__)
            work[chosen] += replicas[chosen][1]
        splitter.split(rows_of(batch))
        for index, expected in enumerate(work):
            # a tie, or what rounding makes one, may fall either way: at most one tuple's work
            assert loads.waiting(index, clock.now()) == pytest.approx(expected, abs=replicas[index][1] + 1e-6)
            work[index] = loads.waiting(index, clock.now())


def test_the_batches_do_not_matter_for_blocking_bolts() -> None:
    def counts(size: int) -> Counter[int]:
        clock = HandClock()
        splitter = sender(clock, table_of(clock, (0, 10 * MS), (0.055, 10 * MS), (0.3, 20 * MS), (0.0, 30 * MS)))
        total: Counter[int] = Counter()
        for _ in range(120 // size):
            total += counts_of(rows_of(size), splitter.split(rows_of(size)))
        return total

    assert counts(1) == counts(8) == counts(120)


def test_ties_go_round_robin_from_a_random_start() -> None:
    first = Counter[int]()
    for seed in range(200):
        clock = HandClock()
        splitter = sender(clock, table_of(clock, *[(0.0, 10 * MS)] * 4), seed=seed)
        turns = []
        for _ in range(8):
            turns += choices_of(splitter, rows_of(1))
            clock.seconds += 1.0
        assert turns == [(turns[0] + i) % 4 for i in range(8)]
        first[turns[0]] += 1
    assert min(first[index] for index in range(4)) > 25


def test_a_replica_slowed_ten_times_gets_about_a_tenth() -> None:
    clock = HandClock()
    each = [1 * MS] * 7 + [10 * MS]
    loads = table_of(clock, *[(0.0, seconds) for seconds in each])
    splitter = sender(clock, loads)
    counts = Counter[int]()
    for _ in range(500):  # 16 tuples in 2 ms is what the eight can just not do
        counts += counts_of(rows_of(16), splitter.split(rows_of(16)))
        clock.seconds += 2 * MS
    assert 0.08 < counts[7] / (sum(counts.values()) / 8) < 0.15
    assert max(counts[i] for i in range(7)) - min(counts[i] for i in range(7)) < 20


def test_senders_of_one_worker_share_what_they_know() -> None:
    clock = HandClock()
    loads = table_of(clock, *[(0.0, 10 * MS)] * 4)
    senders = [sender(clock, loads, seed=seed) for seed in range(8)]
    counts = Counter[int]()
    for splitter in senders:
        counts.update(choices_of(splitter, rows_of(1)))
    assert counts == dict.fromkeys(range(4), 2)


def test_senders_of_many_workers_do_not_pile_onto_one_replica() -> None:
    counts = Counter[int]()
    for seed in range(400):
        clock = HandClock()
        counts.update(choices_of(sender(clock, table_of(clock, *[(0.0, 2e-6)] * 8), seed=seed), rows_of(1)))
    assert max(counts.values()) < 2 * 400 / 8


def test_cheap_tuples_go_out_in_long_stretches() -> None:
    clock = HandClock()
    splitter = sender(clock, table_of(clock, *[(0.0, 2e-6)] * 8))
    assert len(splitter.split(rows_of(20))) == 1
    assert len(splitter.split(rows_of(64))) <= 3
    picks = splitter.split(rows_of(512))
    assert len(picks) == 8
    assert all(isinstance(pick, slice) and pick.stop - pick.start >= 25 for _, pick in picks)


@given(each=st.floats(1e-7, 49e-6), batches=st.lists(st.integers(1, 600), min_size=1, max_size=30))
@settings(max_examples=60)
def test_stretches_cost_no_more_than_their_length_in_balance(each: float, batches: list[int]) -> None:
    clock = HandClock()
    loads = table_of(clock, *[(0.0, each)] * 4)
    splitter = sender(clock, loads)
    for batch in batches:
        splitter.split(rows_of(batch))
        assert max(loads.finish) - max(clock.now(), min(loads.finish)) <= 101e-6


def test_a_replica_in_the_same_worker_is_preferred_within_the_band() -> None:
    clock = HandClock()
    loads = table_of(clock, (0.0, MS), (0.0, MS), (0.0, MS), (0.0, MS))
    splitter = sender(clock, loads, band=5 * MS, local=(2,))
    assert [choices_of(splitter, rows_of(1)) for _ in range(6)] == [[2]] * 6  # up to 5 ms above the others, that included
    assert choices_of(splitter, rows_of(1)) != [2]
    clock.seconds += 10.0
    assert counts_of(rows_of(26), splitter.split(rows_of(26))) == {2: 10, 0: 5, 1: 5, 3: 6} or loads.waiting(
        2, clock.now()
    ) == pytest.approx(0.010, abs=1.1 * MS)
    without = sender(clock, table_of(clock, *[(0.0, MS)] * 4), band=0.0, local=(2,))
    assert sorted(choices_of(without, rows_of(4))) == [0, 1, 2, 3]


def test_who_has_no_room_is_passed_over_while_another_has() -> None:
    clock = HandClock()
    room = {0: 0, 1: 3, 2: 100}
    splitter = splitter_of(Grouping.LOAD_AWARE, clock=clock)
    loads = table_of(clock, (0.0, MS), (0.0, MS), (0.5, MS))
    splitter.refresh(view_of(range(3), tasks=3, loads=loads, room=room.__getitem__))
    assert set(choices_of(splitter, rows_of(1))) == {1}
    assert counts_of(rows_of(50), splitter.split(rows_of(50))) == {1: 3, 2: 47}


@given(
    rooms=st.lists(st.integers(-2, 40), min_size=2, max_size=8),
    count=st.integers(1, 200),
    each=st.sampled_from([1e-6, 20e-6, 10 * MS]),
    seed=st.integers(0, 99),
)
@settings(max_examples=200)
def test_no_room_is_exceeded_unless_all_are_used_up(rooms: list[int], count: int, each: float, seed: int) -> None:
    clock, random = HandClock(), Random(seed)
    loads = table_of(clock, *[(random.random() / 10, each) for _ in rooms])
    splitter = splitter_of(Grouping.LOAD_AWARE, clock=clock, seed=seed)
    splitter.refresh(view_of(range(len(rooms)), tasks=len(rooms), loads=loads, room=rooms.__getitem__))
    counts = counts_of(rows_of(count), splitter.split(rows_of(count)))
    have = [max(0, room) for room in rooms]
    if count <= sum(have):
        assert all(counts[index] <= room for index, room in enumerate(have))
    else:
        assert all(counts[index] >= room for index, room in enumerate(have))


def test_the_split_charges_what_it_gives() -> None:
    clock = HandClock()
    loads = table_of(clock, (0.0, MS), (0.0, 2 * MS))
    splitter = sender(clock, loads)
    for size in (1, 7, 64, 1, 64):
        if size == 64:
            clock.seconds += 10.0  # what is given counts from now, not from when they became idle
        before = [loads.waiting(i, clock.now()) for i in range(2)]
        counts = counts_of(rows_of(size), splitter.split(rows_of(size)))
        for index in range(2):
            assert loads.waiting(index, clock.now()) - before[index] == pytest.approx(counts[index] * loads.each[index])


def test_one_active_replica_gets_all_and_is_charged() -> None:
    clock = HandClock()
    loads = table_of(clock, (0.0, MS), (0.0, MS))
    splitter = splitter_of(Grouping.LOAD_AWARE, clock=clock)
    splitter.refresh(view_of([1], tasks=2, loads=loads, room=lambda _: 0))
    assert splitter.split(rows_of(5)) == [(1, None)]
    assert loads.waiting(1, clock.now()) == pytest.approx(5 * MS)


@given(
    queues=st.lists(st.tuples(st.floats(0, 0.2), st.floats(1e-4, 0.05), st.integers(1, 9)), min_size=2, max_size=8),
    batches=st.lists(st.integers(1, 200), min_size=1, max_size=6),
)
@settings(max_examples=100)
def test_a_queue_fills_by_its_part_of_a_tuple_for_each_replica(queues: list[tuple[float, float, int]], batches: list[int]) -> None:
    clock = HandClock()
    loads = table_of(clock, *[(waiting, each) for waiting, each, _ in queues])
    weights = {index: weight for index, (_, _, weight) in enumerate(queues)}
    splitter = splitter_of(Grouping.LOAD_AWARE, clock=clock)
    splitter.refresh(view_of(weights, tasks=len(queues), loads=loads, weights=weights))
    for batch in batches:
        before = [loads.waiting(index, clock.now()) for index in weights]
        counts = counts_of(rows_of(batch), splitter.split(rows_of(batch)))
        after = [loads.waiting(index, clock.now()) for index in weights]
        parts = [each / weight for _, each, weight in queues]
        for index, part in enumerate(parts):
            assert after[index] - before[index] == pytest.approx(counts[index] * part)
            if counts[index]:  # nobody was lower when it got its last one
                assert after[index] - part <= min(after) + 1e-6


def test_queues_that_have_nothing_get_the_share_of_their_replicas() -> None:
    clock = HandClock()
    loads = table_of(clock, *[(0.0, 10 * MS)] * 3)
    splitter = splitter_of(Grouping.LOAD_AWARE, clock=clock)
    splitter.refresh(view_of(range(3), tasks=3, loads=loads, weights={0: 4, 2: 5}))
    assert counts_of(rows_of(600), splitter.split(rows_of(600))) == {0: 240, 1: 60, 2: 300}


def test_one_queue_is_charged_for_all_its_replicas() -> None:
    clock = HandClock()
    loads = table_of(clock, (0.0, MS), (0.0, MS))
    splitter = splitter_of(Grouping.LOAD_AWARE, clock=clock)
    splitter.refresh(view_of([1], tasks=2, loads=loads, weights={1: 4}))
    assert splitter.split(rows_of(8)) == [(1, None)]
    assert loads.waiting(1, clock.now()) == pytest.approx(2 * MS)


positions_ = st.lists(st.tuples(st.floats(0, 1), st.floats(1e-4, 0.5)), min_size=1, max_size=12)


def greedy(count: int, levels: list[float], steps: list[float]) -> list[float]:
    """The keys that are given, one by one to the lowest."""
    levels = list(levels)
    given = []
    for _ in range(count):
        lowest = min(range(len(levels)), key=levels.__getitem__)
        given.append(levels[lowest])
        levels[lowest] += steps[lowest]
    return given


@given(positions=positions_, count=st.integers(1, 300), data=st.data())
@settings(max_examples=300, deadline=None)
def test_fill_gives_the_counts_of_one_by_one(positions: list[tuple[float, float]], count: int, data: st.DataObject) -> None:
    levels, steps = [level for level, _ in positions], [step for _, step in positions]
    order = data.draw(st.permutations(range(len(levels))))
    counts, last = fill(count, levels, steps, order)
    assert sum(counts) == count
    assert counts[last] > 0
    # ties may fall either way, so it is the keys that must be the same
    keys = sorted(level + unit * step for level, step, units in zip(levels, steps, counts, strict=True) for unit in range(units))
    assert all(abs(key - expected) < 1e-9 for key, expected in zip(keys, sorted(greedy(count, levels, steps)), strict=True))


@given(
    positions=st.lists(st.tuples(st.sampled_from([0.0, 1e9]) | st.floats(0, 1e12), st.floats(1e-7, 0.1)), min_size=2, max_size=12),
    count=st.integers(1, 2000),
)
@settings(max_examples=300, deadline=None)
def test_fill_gives_all_however_far_apart_the_levels_are(positions: list[tuple[float, float]], count: int) -> None:
    levels, steps = [level for level, _ in positions], [step for _, step in positions]
    counts, last = fill(count, levels, steps, range(len(levels)))
    assert sum(counts) == count
    assert min(counts) >= 0 < counts[last]


def test_fill_gives_ties_to_the_first_in_order() -> None:
    assert fill(5, [0.0] * 4, [1.0] * 4, [2, 3, 0, 1]) == ([1, 1, 2, 1], 2)
    assert fill(4, [0.0] * 4, [1.0] * 4, [2, 3, 0, 1])[1] == 1
