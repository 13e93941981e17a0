"""Every measure, by hand."""

from __future__ import annotations

import msgspec
import pytest

from pasps.control.plan import Plan
from pasps.errors import InvalidError
from pasps.metrics import Histogram
from pasps.report.errors_of_forecasts import Mean
from pasps.report.measures import measures_of
from pasps.report.observed import Output
from tests.unit.report.builders import bolt_plan, bolt_sample, forecast, line_of, made_up, record, sample, situation, terms


def test_saved_resources_are_weighted_by_time_and_count_draining_replicas() -> None:
    # 16 in the pools: 4 of 16 for 1 s, 8 of 16 for 3 s, the last stands for no time
    samples = [
        sample(1, {"a": bolt_sample(2), "b": bolt_sample(2)}),
        sample(2, {"a": bolt_sample(3, draining=1), "b": bolt_sample(4)}),
        sample(5, {"a": bolt_sample(8), "b": bolt_sample(8)}),
    ]
    measures = measures_of(samples, [], 10)
    assert measures.saved_resources == pytest.approx((0.75 * 1 + 0.5 * 3) / 4)
    assert measures.replicas.seconds == 4 * 1 + 8 * 3
    assert measures.replicas.most_seconds == 16 * 4
    assert measures.seconds == 4


def test_throughput_degradation_is_the_mean_over_whole_intervals_with_input() -> None:
    # 100 came and 80 left, 100 and 120, nothing and nothing, and 5 s that are no whole interval
    samples = [
        sample(0),
        sample(10, due=100, acked=80),
        sample(20, due=200, acked=200),
        sample(30, due=200, acked=200),
        sample(35, due=900, acked=200),
    ]
    assert measures_of(samples, [], 10).throughput_degradation == Mean(pytest.approx(0.2), 2, left_out=1)  # type: ignore[arg-type]


def test_intervals_begin_with_the_topology() -> None:
    samples = [sample(second, due=10 * second, acked=max(0, 10 * (second - 1))) for second in range(1, 21)]
    measures = measures_of(samples, [], 10)
    # 90 of the first 100; then 100 of 100
    assert measures.throughput_degradation == Mean(pytest.approx(0.05), 2)  # type: ignore[arg-type]


def test_a_log_whose_beginning_is_gone_is_measured_from_its_first_sample() -> None:
    samples = [sample(1000, due=5000, acked=5000), sample(1010, due=5100, acked=5050)]
    measures = measures_of(samples, [], 10)
    assert measures.throughput_degradation == Mean(0.5, 1)
    assert measures.events.received == 5100


def test_latency_is_that_of_all_events() -> None:
    latency = Histogram()
    latency.add(0.010, 98)
    latency.add(2.0, 2)
    measures = measures_of([sample(1, acked=100, latency=latency.buckets, latency_total=latency.total)], [], 10)
    assert measures.latency is not None
    assert measures.latency.mean == pytest.approx((0.98 + 4.0) / 100)
    assert measures.latency.p50 == pytest.approx(0.010, rel=0.05)
    assert measures.latency.p99 == pytest.approx(2.0, rel=0.05)


def test_events_are_counted_from_being_due() -> None:
    events = measures_of([sample(1, due=1000, acked=990, failed=7, replayed=5)], [], 10, lost=2, duplicated=3).events
    assert (events.received, events.processed, events.share, events.unfinished) == (1000, 990, 0.99, 10)
    assert (events.failed, events.replayed, events.lost, events.duplicated) == (7, 5, 2, 3)
    assert events.output == Output("acked")


def test_events_that_are_acked_twice_do_not_hide_those_that_wait() -> None:
    # a spout's worker died: 50 were emitted again and acked again, 40 are in flight
    events = measures_of([sample(1, due=100, acked=100, replayed=50, pending=40)], [], 10).events
    assert (events.received, events.processed, events.share, events.unfinished, events.at_most) == (100, 60, 0.6, 40, True)


def test_what_waits_in_the_source_is_unfinished_too() -> None:
    events = measures_of([sample(1, due=100, acked=95, pending=10, backlog=20)], [], 10).events
    assert (events.processed, events.share, events.unfinished, events.at_most) == (70, 0.7, 30, False)


@pytest.mark.parametrize(("replayed", "at_most"), [(0, False), (7, False), (8, True)])
def test_replays_of_what_failed_are_no_acks_twice(replayed: int, at_most: bool) -> None:
    assert measures_of([sample(1, due=100, acked=90, failed=7, replayed=replayed)], [], 10).events.at_most is at_most


def test_more_is_never_left_than_came() -> None:
    events = measures_of([sample(1, due=100, acked=150, replayed=120, pending=120)], [], 10).events
    assert (events.processed, events.share, events.unfinished) == (0, 0.0, 100)
    events = measures_of([sample(1, due=100, acked=150, replayed=50)], [], 10).events
    assert (events.processed, events.share, events.unfinished) == (100, 1.0, 0)


def test_without_tracking_output_is_what_the_ends_executed_in_events_of_the_input() -> None:
    # an event makes 2.5 tuples at the end
    seen = situation(1, line_of("split", "count"), shares={"split": 1.0, "count": 2.5})
    samples = [
        sample(0, {"split": bolt_sample(), "count": bolt_sample()}),
        sample(10, {"split": bolt_sample(executed=100), "count": bolt_sample(executed=200)}, due=100),
    ]
    measures = measures_of(samples, [record(1, 1, Plan({}), situation=seen)], 10)
    assert measures.events.output == Output("executed", ("count",), 2.5)
    assert (measures.events.processed, measures.events.share) == (80, 0.8)
    assert measures.throughput_degradation.value == pytest.approx(0.2)


def test_without_tracking_and_decisions_output_is_not_known() -> None:
    measures = measures_of([sample(1, due=100)], [], 10)
    assert measures.events.output == Output("unknown")
    assert (measures.events.processed, measures.events.share, measures.events.unfinished) == (None, None, None)
    assert measures.throughput_degradation == Mean()


def test_errors_of_predictions_are_those_of_the_cycles() -> None:
    # 100 expected and 80 came: 0.25; 1 s each, two replicas asked for, and 100 · 0.2 / 10 = 2 were, 80 need 1.6, so 2
    plan = Plan({"count": bolt_plan(1, terms(100, execution_seconds=0.2))}, 100)
    decision = record(1, 10, plan, situation=situation(10, line_of("count"), forecast=forecast(10, 10)))
    measures = measures_of([sample(10, due=500), sample(20, due=580)], [decision], 10)
    assert measures.input_error == Mean(0.25, 1)
    assert measures.replica_error == Mean(0.0, 1)
    assert measures.decisions.cycles == 1


def test_activations_are_the_changes_between_samples() -> None:
    actives = [2, 5, 3, 3, 4]
    samples = [sample(second, {"count": bolt_sample(active)}) for second, active in enumerate(actives, 1)]
    bolt = measures_of(samples, [], 10).bolts["count"]
    assert (bolt.activations, bolt.deactivations) == (3 + 1, 2)
    assert (bolt.pool, bolt.most_active) == (8, 5)
    assert bolt.mean_active == (2 + 5 + 3 + 3) / 4


def test_utilisation_is_execution_of_the_replicas_time() -> None:
    samples = [
        sample(0, {"count": bolt_sample(2, seconds=3.0)}),
        sample(10, {"count": bolt_sample(1, draining=1, seconds=15.0, executed=400, queued=9)}),
        sample(20, {"count": bolt_sample(1, seconds=18.0, executed=500)}),
    ]
    bolt = measures_of(samples, [], 10).bolts["count"]
    assert bolt.replica_seconds == 40
    assert bolt.utilisation == pytest.approx(15 / 40)
    assert (bolt.executed, bolt.most_queued) == (500, 9)


def test_incomplete_samples_go_into_no_number() -> None:
    samples = [sample(0), sample(5, due=3, complete=False), sample(10, due=100, acked=100)]
    measures = measures_of(samples, [], 10)
    assert (measures.samples, measures.incomplete_samples) == (2, 1)
    assert measures.throughput_degradation == Mean(0.0, 1)


def test_input_that_falls_for_a_while_is_not_counted_twice() -> None:
    samples = [sample(0), sample(10, due=100, acked=100), sample(20, due=60, acked=100), sample(30, due=150, acked=150)]
    measures = measures_of(samples, [], 10)
    assert measures.events.received == 150
    assert measures.throughput_degradation == Mean(0.0, 2, left_out=1)


def test_a_static_run_has_no_predictions() -> None:
    samples, records = made_up(60, 10, elastic=False)
    measures = measures_of(samples, records, 10)
    assert (measures.input_error, measures.replica_error) == (Mean(), Mean())
    assert measures.saved_resources == pytest.approx(0.5)
    assert measures.replicas.activations == 0


def test_an_empty_run_has_no_numbers() -> None:
    measures = measures_of([], [], 30)
    assert (measures.saved_resources, measures.latency, measures.events.share, measures.seconds) == (None, None, None, 0)
    assert measures.bolts == {}


def test_one_sample_is_a_run() -> None:
    measures = measures_of([sample(1, due=5, acked=5)], [], 30)
    assert measures.saved_resources == 7 / 8
    assert measures.bolts["count"].utilisation is None


def test_measures_are_json() -> None:
    measures = measures_of(*made_up(60, 10), 10)
    read = msgspec.json.decode(msgspec.json.encode(measures))
    assert read["bolts"]["count"]["pool"] == 8
    assert read["input_error"]["counted"] == 5


def test_an_interval_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidError, match="expected an interval above 0 s, got 0"):
        measures_of([], [], 0)
