"""The stretches that a stream can be made of."""

from __future__ import annotations

import pickle
from itertools import permutations
from typing import Any

import pytest

from pasps.data.series import Series, series_of
from pasps.data.spikes import find_spikes
from pasps.data.stretches import FADE_ROWS, Pool, Stretch, Wanted, alternating, order_of, stretches_of
from pasps.data.windows import moving_average
from pasps.errors import InvalidError
from tests.unit.data.traces import STEP, spiky

WANTED = Wanted(600, 800)


def pool_of(wanted: Wanted, *traces: Series) -> Pool:
    pool = Pool(wanted)
    for trace in traces:
        pool.look_at(trace)
    return pool


@pytest.mark.parametrize("smooth_rows", [1, 5])
def test_what_is_taken_is_what_the_trace_has_there(smooth_rows: int) -> None:
    trace, wanted = spiky(1), Wanted(600, 800, smooth_rows=smooth_rows)
    found = list(stretches_of(trace, wanted))
    values = moving_average(trace.counts, smooth_rows)
    spikes = {spike.onset: spike for spike in find_spikes(trace.counts, wanted.share_rows, smooth_rows)}
    assert len(found) > 20
    for stretch in found:
        assert stretch.values.tolist() == values[stretch.row : stretch.row + len(stretch.values)].tolist()
        assert stretch.spike == spikes[stretch.spike.onset]
        assert stretch.time == trace.times[stretch.spike.onset]
        assert (stretch.source, stretch.step_seconds) == ("spiky-1.csv", 60.0)
        assert stretch.quiet_rows <= min(len(stretch.lead), len(stretch.tail)) - FADE_ROWS // 2
        assert len(stretch.lead) + len(stretch.body) + len(stretch.tail) == len(stretch.values)
        assert stretch.body.tolist() == (values[stretch.spike.onset : stretch.spike.end + 1] / stretch.spike.before).tolist()


def test_the_quiet_around_a_spike_ends_where_another_begins() -> None:
    trace = spiky(2)
    spikes = find_spikes(trace.counts, WANTED.share_rows)
    for stretch in stretches_of(trace, WANTED):
        for other in spikes:
            if other.onset != stretch.spike.onset:
                overlap = min(other.end, stretch.row + len(stretch.values) - 1) - max(other.onset, stretch.row) + 1
                assert overlap <= stretch.quiet_rows + FADE_ROWS  # what it cannot do without


def test_a_stretch_does_not_cross_a_gap() -> None:
    whole = spiky(3)
    times = whole.times.copy()
    times[1500:] += 10 * STEP
    for stretch in stretches_of(series_of("gap", times, whole.counts), WANTED):
        assert stretch.row >= 1500 or stretch.row + len(stretch.values) <= 1500


def test_magnitudes_are_kept_within_what_is_wanted() -> None:
    sizes = [stretch.spike.magnitude for stretch in stretches_of(spiky(1), Wanted(600, 800, least_magnitude=2, most_magnitude=3))]
    assert sizes
    assert all(2 <= size <= 3 or 1 / 3 <= size <= 1 / 2 for size in sizes)


def test_a_pool_is_the_same_in_whatever_order_and_parts_it_is_filled() -> None:
    traces = [spiky(seed, 1500) for seed in (1, 2, 3)]
    pools = [pool_of(Wanted(100, 800, spikes=3), *order) for order in permutations(traces)]
    one, *others = (pool_of(Wanted(100, 800, spikes=3), trace) for trace in traces)
    for other in others:
        one = pickle.loads(pickle.dumps(one)).merge(other)
    for pool in [*pools, one]:
        assert [places(pool.ups), places(pool.downs)] == [places(pools[0].ups), places(pools[0].downs)]
        assert (pool.traces, pool.rows, pool.spikes) == (3, 4500, pools[0].spikes)
    assert len(pools[0].ups) == 12


def places(stretches: list[Stretch]) -> list[tuple[str, int]]:
    return [(stretch.source, stretch.row) for stretch in stretches]


def test_seeds_take_others() -> None:
    orders = {tuple(places(pool_of(Wanted(100, 800, spikes=3, seed=seed), spiky(1)).ups)) for seed in range(5)}
    assert len(orders) == 5


def test_the_name_of_a_trace_does_not_matter() -> None:
    here = spiky(1)
    there = series_of("/elsewhere/x.csv", here.times, here.counts)
    assert [s.row for s in pool_of(WANTED, here).ups] == [s.row for s in pool_of(WANTED, there).ups]


def test_larger_spikes_come_first_more_often() -> None:
    every = [stretch.spike for stretch in stretches_of(spiky(1), Wanted(600, 800, spikes=8)) if stretch.spike.up]
    first: list[float] = []
    for seed in range(200):
        first += [size for _, size in sorted((order_of(seed, spike), spike.size) for spike in every)[:8]]
    assert sum(first) / len(first) > 1.02 * sum(spike.size for spike in every) / len(every)


def test_two_up_then_one_down_then_what_is_left() -> None:
    ups, downs = list("abcde"), list("XYZW")
    assert "".join(alternating(ups, downs)) == "abXcdYeZW"  # type: ignore[arg-type]
    assert "".join(alternating(ups, [])) == "abcde"  # type: ignore[arg-type]
    assert "".join(alternating([], downs)) == "XYZW"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"length": 19}, "length: expected at least 20 rows, got 19"),
        ({"peak": 0}, "peak: expected at least 1, got 0"),
        ({"spikes": 0}, "spikes: expected at least 1"),
        ({"smooth_rows": 0}, "smooth rows: expected at least 1"),
        ({"spikes": 61}, "length: 61 spikes need at least 610 rows, got 600"),
        ({"least_magnitude": 1.0}, "magnitude: expected 1 < least < most, got 1 and 10"),
        ({"least_magnitude": 3.0, "most_magnitude": 2.0}, "got 3 and 2"),
    ],
)
def test_what_cannot_be_wanted_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidError, match=said):
        Wanted(**{"length": 600, "peak": 800, **values})


@pytest.mark.parametrize("counts", [[7.0] * 300, [0.0] * 300, [5.0]])
def test_traces_without_spikes_have_no_stretches(counts: list[float]) -> None:
    assert list(stretches_of(series_of("flat", [place * STEP for place in range(len(counts))], counts), WANTED)) == []
