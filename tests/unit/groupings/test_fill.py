from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pasps.groupings.fill import fill

replicas = st.lists(st.tuples(st.floats(0, 1), st.floats(1e-4, 0.5)), min_size=1, max_size=12)


def greedy(count: int, levels: list[float], steps: list[float]) -> list[float]:
    """The keys that are given, one by one to the lowest."""
    levels = list(levels)
    given = []
    for _ in range(count):
        lowest = min(range(len(levels)), key=levels.__getitem__)
        given.append(levels[lowest])
        levels[lowest] += steps[lowest]
    return given


@given(replicas=replicas, count=st.integers(1, 300), data=st.data())
@settings(max_examples=300, deadline=None)
def test_the_counts_are_those_of_one_by_one(replicas: list[tuple[float, float]], count: int, data: st.DataObject) -> None:
    levels, steps = [level for level, _ in replicas], [step for _, step in replicas]
    order = data.draw(st.permutations(range(len(levels))))
    counts, last = fill(count, levels, steps, order)
    assert sum(counts) == count
    assert counts[last] > 0
    # ties may fall either way, so it is the keys that must be the same
    keys = sorted(level + unit * step for level, step, units in zip(levels, steps, counts, strict=True) for unit in range(units))
    assert all(abs(key - expected) < 1e-9 for key, expected in zip(keys, sorted(greedy(count, levels, steps)), strict=True))


def test_only_positions_of_the_order_get_anything() -> None:
    assert fill(5, [0.0, 9.0, 0.0], [1.0, 1.0, 1.0], [1, 2])[0] == [0, 0, 5]


def test_ties_fall_to_the_first_in_order() -> None:
    assert fill(5, [0.0] * 4, [1.0] * 4, [2, 3, 0, 1]) == ([1, 1, 2, 1], 2)
    assert fill(4, [0.0] * 4, [1.0] * 4, [2, 3, 0, 1])[1] == 1
