"""The order of the benchmark, and what it makes of passes that went well, badly, or not at all. The passes themselves are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pasps.api import Bolt, Spout, Topology, TopologyBuilder
from pasps.api.blueprint import Blueprint
from pasps.api.source import source_hash
from pasps.control.et_file import EtFile, execution_times_for, parse, written
from pasps.data.et_benchmark import Measured, Plan, Watcher, benchmark
from pasps.data.et_deliveries import Delivery, Output
from pasps.data.et_pass import Pace, PassRequest, PassResult
from pasps.data.et_sample import Sample


class Numbers(Spout):
    outputs = ["n"]

    def next_tuple(self) -> None: ...


class Pass(Bolt):
    outputs = ["n"]

    def process(self, tup: Any) -> None: ...


def flow() -> Blueprint:
    """numbers -> one -> two, three; two, three -> four; defined the other way round."""
    builder = TopologyBuilder()
    builder.set_bolt("four", Pass).shuffle_grouping("three").shuffle_grouping("two")
    builder.set_bolt("three", Pass).shuffle_grouping("one")
    builder.set_bolt("two", Pass).shuffle_grouping("one")
    builder.set_bolt("one", Pass).shuffle_grouping("numbers")
    builder.set_spout("numbers", Numbers)
    return builder.create_topology("flow")


FLOW = flow()
EVENTS = range(1, 101)
PLAN = Plan(1000, 3, 10, Pace(200.0, 30.0))


def handed_on(name: str, events: range | list[int] = EVENTS) -> Output:
    edges = [edge for edge in FLOW.edges if edge.source == name]
    return Output(tuple(Delivery(event, edge.index, 0, 1, (1,), b"") for event in events for edge in edges))


class Passes:
    """Every pass goes well, unless `change` makes another of it; notes what was asked for."""

    def __init__(self, change: Callable[[PassRequest, PassResult], PassResult] = lambda asked, result: result) -> None:
        self.asked: list[PassRequest] = []
        self._change = change

    def __call__(self, request: PassRequest) -> PassResult:
        self.asked.append(request)
        events = [arrival[0].event for arrival in request.arrivals]
        costs = tuple(9.0 if place < 10 else 1.0 + event % 2 for place, event in enumerate(events))
        result = PassResult(
            costs, emitted={"default": len(events)}, output=handed_on(request.bolt, events) if request.keep else Output(), cores=4
        )
        return self._change(request, result)


def benched(passes: Passes, plan: Plan = PLAN, watcher: Watcher | None = None) -> dict[str, Measured]:
    sample = Sample({"numbers": handed_on("numbers")}, len(EVENTS))
    return {each.bolt: each for each in benchmark(FLOW, sample, plan, passes, watcher or Watcher())}


def only(bolt: str, **changes: Any) -> Callable[[PassRequest, PassResult], PassResult]:
    return lambda asked, result: replace(result, **changes) if asked.bolt == bolt else result


def test_each_bolt_is_measured_after_those_that_feed_it_and_gets_what_they_handed_on() -> None:
    passes = Passes()
    found = benched(passes)
    asked = [request.bolt for request in passes.asked]
    assert asked[:3] == ["one"] * 3
    assert asked[-3:] == ["four"] * 3
    assert [len(request.arrivals) for request in passes.asked if request.bolt == "four"] == [200] * 3
    assert [request.keep for request in passes.asked[:3]] == [1000, 0, 0], "what it hands on is that of the first pass"
    assert list(found) == ["one", *asked[3:9:3], "four"]


def test_the_numbers_are_of_all_passes_without_the_warm_up() -> None:
    one = benched(Passes())["one"]
    assert one.summary is not None
    assert (one.summary.samples, one.summary.mean, len(one.costs)) == (90, 1.5, 270)
    assert one.summary.varies == pytest.approx(0.5 / 1.5, rel=0.02)
    assert (one.given, one.selectivity, one.notes, one.cores) == (100, {"default": 1.0}, (), 4)


def test_the_entries_make_a_file_that_holds_for_the_topology() -> None:
    found = benched(Passes())
    entries = {name: measured.entry(FLOW.components[name]) for name, measured in found.items()}
    file = EtFile("flow", {name: entry for name, entry in entries.items() if entry is not None}, "2025-03-04T14:03:05Z", {"cores": 4})
    read = parse(written(file), "flow.py.et.json")
    assert read == file
    assert read.operators["one"].source == source_hash(FLOW.components["one"])
    times = execution_times_for(FLOW, read, "flow.py.et.json")
    assert (times.warnings, set(times.seconds)) == ((), {"one", "two", "three", "four"})


def test_a_cost_of_nothing_is_still_above_0() -> None:
    one = benched(Passes(only("one", costs=(0.0,) * 100)))["one"]
    entry = one.entry(FLOW.components["one"])
    assert entry is not None
    assert entry.et_seconds > 0


# ---- what goes wrong


def test_a_bolt_that_raises_on_some_events_is_measured_and_told() -> None:
    one = benched(Passes(only("one", failed=3, errors=3, error="ValueError: 7")))["one"]
    assert (one.failed, one.error) == (3, "ValueError: 7")
    assert one.summary is not None


@pytest.mark.parametrize("counts", [{"failed": 100, "errors": 100}, {"failed": 100}, {"errors": 100}])
def test_a_bolt_that_fails_on_all_has_no_entry_and_others_go_on_without_it(counts: dict[str, int]) -> None:
    found = benched(Passes(only("two", error="OSError: no database", **counts)))
    assert found["two"].entry(FLOW.components["two"]) is None
    assert (found["two"].reason, found["two"].error) == ("it failed on all 100 tuples", "OSError: no database")
    assert found["four"].summary is not None
    assert found["four"].notes == ("without what comes from two, which has no measurement",)
    assert found["four"].given == 100


def test_a_bolt_that_cannot_be_run_is_not_tried_again() -> None:
    passes = Passes(only("one", costs=(), failure="OSError: no model"))
    found = benched(passes)
    assert [request.bolt for request in passes.asked] == ["one"]
    assert (found["one"].reason, found["one"].error) == ("it could not be run", "OSError: no model")
    assert found["two"].reason == "no tuple came to it, since one failed"
    assert found["four"].reason == "no tuple came to it in the sample"


def test_what_one_pass_found_counts_when_another_cannot_be_run() -> None:
    passes = Passes(
        lambda asked, result: replace(result, costs=(), failure="it died") if asked.bolt == "one" and not asked.keep else result
    )
    one = benched(passes)["one"]
    assert one.summary is not None
    assert (one.notes, one.error) == (("only 1 of 3 passes, since one could not be run",), "it died")


def test_a_pass_that_ran_out_of_time_is_told_and_nothing_behind_it_is_given_to_others() -> None:
    def slow(asked: PassRequest, result: PassResult) -> PassResult:
        if asked.bolt != "two":
            return result
        output = replace(handed_on("two", range(1, 41)), until=40)
        return replace(result, costs=(1.0,) * 40, output=output if asked.keep else Output())

    found = benched(Passes(slow))
    assert found["two"].notes == ("only 40 of 100 tuples in the 30 s of a pass",)
    assert found["four"].given == 80, "three is complete, but nobody can join what two has not seen"


def test_a_call_that_is_never_over_is_given_up() -> None:
    found = benched(Passes(only("one", costs=(1.0,) * 30, stuck=True)))
    assert found["one"].notes == ("a call was never over, and was given up",)
    assert found["one"].summary is not None
    found = benched(Passes(only("one", costs=(), stuck=True)))
    assert found["one"].reason == "its first call was never over, and was given up"


def refused_by_one(asked: PassRequest, result: PassResult) -> PassResult:
    return replace(result, output=Output(problem="TypeError: no")) if asked.bolt == "one" else result


def test_a_bolt_behind_one_whose_values_cannot_be_taken_on_says_so() -> None:
    assert benched(Passes(refused_by_one))["two"].reason == "no tuple came to it, since what one emitted cannot be pickled"


def test_of_a_few_tuples_et_is_a_guess_and_that_is_said() -> None:
    guess = "only {} counted, so et is a guess; more events say more"
    assert benched(Passes(), replace(PLAN, most=1))["one"].notes == (guess.format("1 tuple"),)
    assert benched(Passes(), replace(PLAN, most=18))["one"].notes == (guess.format("9 tuples"),)
    assert benched(Passes(), replace(PLAN, most=20))["one"].notes == ()


def test_values_that_could_not_be_taken_on_are_told() -> None:
    one = benched(Passes(refused_by_one))["one"]
    assert one.notes == ("tuples that it emitted were left out, for a value of theirs cannot be pickled: TypeError: no",)


def test_a_bolt_that_is_left_out_is_not_run_and_what_it_would_have_handed_on_is_missed() -> None:
    passes = Passes()
    found = benched(passes, replace(PLAN, skip=frozenset({"two"})))
    assert "two" not in {request.bolt for request in passes.asked}
    assert (found["two"].skipped, found["two"].summary) == (True, None)
    assert found["four"].notes == ("without what comes from two, which was left out",)
    found = benched(Passes(), replace(PLAN, skip=frozenset({"one"})))
    assert found["three"].reason == "no tuple came to it, since one was left out"
    assert not found["three"].skipped


def test_at_most_so_many_tuples_are_given() -> None:
    found = benched(Passes(), replace(PLAN, most=30))
    assert [found[name].given for name in ("one", "two", "four")] == [30, 30, 30]


def test_it_is_told_how_far_it_is() -> None:
    told: list[Any] = []

    class Telling(Watcher):
        def begins(self, plan: Any, tuples: int) -> None:
            told.append((plan.id, tuples))

        def passed(self, plan: Any, number: int) -> None:
            told.append(number)

        def done(self, plan: Any, measured: Measured) -> None:
            told.append(measured.bolt)

    benched(Passes(), replace(PLAN, skip=frozenset({"two", "three", "four"})), Telling())
    assert told[:5] == [("one", 100), 1, 2, 3, "one"]
    assert set(told[5:]) == {"two", "three", "four"}


class Alone(Topology):
    numbers = Numbers.spec()


def test_a_topology_without_bolts_has_nothing_to_measure() -> None:
    assert benchmark(Alone.blueprint(), Sample({}, 0), PLAN, Passes(), Watcher()) == []
