"""A stream of exactly the length and peak that are wanted, whose joints are smooth."""

from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pasps.data.arrays import np
from pasps.data.compose import Composed, compose
from pasps.data.series import series_of
from pasps.data.stretches import Pool, Wanted
from pasps.data.trace_input import read_local
from pasps.errors import InvalidError
from tests.unit.data.test_stretches import pool_of
from tests.unit.data.traces import STEP, spiky

TRACES = [spiky(1, 1500), spiky(2, 1500, mean=40), spiky(3, 1500, mean=20_000)]
RATES = Path(__file__).parents[4] / "shared" / "data" / "rates"


def check(composed: Composed, wanted: Wanted) -> None:
    """What holds for every stream."""
    counts = np.array(composed.counts)
    assert len(counts) == wanted.length
    assert counts.max() == wanted.peak
    assert counts.min() >= 0
    assert wanted.spikes in (None, len(composed.taken))
    changes = np.abs(np.diff(counts))
    ends = [taken.onset + taken.stretch.spike.rows for taken in composed.taken]
    steepest = [changes[taken.onset : end - 1].max() for taken, end in zip(composed.taken, ends, strict=True)]
    for place in range(1, len(ends)):
        joint = changes[ends[place - 1] - 1 : composed.taken[place].onset]
        assert joint.max() <= max(steepest[place - 1], steepest[place]) + 1  # a count is rounded
    highest = max(float(taken.stretch.level_values.max()) for taken in composed.taken)
    for taken, end in zip(composed.taken, ends, strict=True):
        inside, body = counts[taken.onset : end], taken.stretch.body
        scale = float(inside.sum() / body.sum())
        assert scale >= 0.99 * wanted.peak / highest - 1  # all in one proportion, the highest row to the peak
        assert inside == pytest.approx(body * scale, abs=1.5)
    sources = [(taken.stretch.source, taken.stretch.row) for taken in composed.taken]
    assert len(set(sources)) == len(sources)


@settings(max_examples=20)
@given(
    length=st.integers(60, 500),
    peak=st.integers(200, 100_000),
    seed=st.integers(0, 10_000),
    smooth_rows=st.sampled_from((1, 5, 12)),
    share=st.sampled_from((None, 40, 60, 90)),
)
def test_a_stream_is_what_is_wanted(length: int, peak: int, seed: int, smooth_rows: int, share: int | None) -> None:
    wanted = Wanted(length, peak, None if share is None else max(1, length // share), seed, smooth_rows)
    check(compose(pool_of(wanted, *TRACES)), wanted)


def test_the_same_traces_and_seed_give_the_same_stream() -> None:
    wanted = Wanted(600, 800, seed=4)
    assert compose(pool_of(wanted, *TRACES)).counts == compose(pool_of(wanted, *reversed(TRACES))).counts
    assert compose(pool_of(wanted, *TRACES)).counts != compose(pool_of(Wanted(600, 800, seed=5), *TRACES)).counts


def test_it_has_spikes_up_and_down() -> None:
    composed = compose(pool_of(Wanted(600, 800, spikes=9), *TRACES))
    assert sum(taken.stretch.spike.up for taken in composed.taken) == 6
    assert sum(not taken.stretch.spike.up for taken in composed.taken) == 3


def test_the_spikes_of_the_stream_are_those_that_were_taken() -> None:
    composed = compose(pool_of(Wanted(600, 20_000, spikes=5, seed=1), TRACES[2]))
    assert len(composed.spikes) == 5
    for taken, found in zip(composed.taken, composed.spikes, strict=True):
        assert abs(found.onset - taken.onset) <= 5
        assert found.magnitude == pytest.approx(taken.stretch.spike.magnitude, rel=0.2)
        assert found.slope == pytest.approx(taken.stretch.spike.slope, rel=0.2)


def test_levels_of_traces_do_not_matter() -> None:
    few, many = TRACES[1], series_of("many", TRACES[1].times, TRACES[1].counts * 1000)
    wanted = Wanted(600, 10_000, spikes=6)
    composed = compose(pool_of(wanted, few, many))
    before = [np.median(composed.counts[taken.onset - 4 : taken.onset]) for taken in composed.taken]
    assert max(before) < 3 * min(before)


def test_a_length_beyond_the_spikes_is_refused_with_the_most() -> None:
    wanted = Wanted(5000, 800, spikes=2)
    with pytest.raises(InvalidError, match=r"5,000 rows cannot be composed: 2 of the \d+ spikes that fit reach [\d,]+ rows at most"):
        compose(pool_of(wanted, spiky(1, 600)))
    with pytest.raises(InvalidError, match=r"the \d+ spikes that fit reach [\d,]+ rows at most; ask for a shorter stream"):
        compose(pool_of(Wanted(5000, 800), spiky(1, 600)))


def test_the_most_that_is_named_can_be_had() -> None:
    with pytest.raises(InvalidError) as refused:
        compose(pool_of(Wanted(5000, 800), spiky(1, 600)))
    most = int(str(refused.value).partition(" rows at most")[0].rpartition(" ")[2].replace(",", ""))
    pool = pool_of(Wanted(5000, 800), spiky(1, 600))
    shorter = Pool(Wanted(most, 800), pool.ups, pool.downs)
    check(compose(shorter), shorter.wanted)


def test_more_spikes_than_there_are_are_refused() -> None:
    with pytest.raises(InvalidError, match=r"60 spikes are wanted, and the traces have \d+ that fit; ask for fewer"):
        compose(pool_of(Wanted(6000, 800, spikes=60), spiky(1, 900)))


@pytest.mark.parametrize("counts", [[7.0] * 300, [0.0] * 300, [5.0]])
def test_traces_without_spikes_are_refused(counts: list[float]) -> None:
    flat = series_of("flat", [place * STEP for place in range(len(counts))], counts)
    with pytest.raises(InvalidError, match=rf"{len(counts)} rows in 1 traces have no spike of 1.5 to 10 times"):
        compose(pool_of(Wanted(100, 800), flat))


@pytest.mark.parametrize("name", ["twitter_volume_AAPL", "worldcup98_per_minute"])
def test_streams_of_real_traces(name: str) -> None:
    path = RATES / f"{name}.csv"
    if not path.is_file():
        pytest.skip(f"the real traces are not there: {RATES}")
    trace = read_local(path)
    for wanted in (Wanted(600, 800), Wanted(600, 800, spikes=6, smooth_rows=5, seed=3)):
        composed = compose(pool_of(wanted, trace))
        check(composed, wanted)
        assert len(composed.taken) >= 4
        assert composed.spikes
