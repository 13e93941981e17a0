"""What comes to a bolt: all of its sources by event, whole events, and nothing that could not be complete."""

from __future__ import annotations

from typing import Any

from pasps.api import Bolt, Spout, Stream, TopologyBuilder
from pasps.api.blueprint import Blueprint
from pasps.data.et_deliveries import Delivery, Output, input_of


class Numbers(Spout):
    outputs = ["n"]

    def next_tuple(self) -> None: ...


class Two(Bolt):
    outputs = [Stream(["n"]), Stream(["n"], "other")]

    def process(self, tup: Any) -> None: ...


def blueprint() -> Blueprint:
    """numbers -> left, right -> join; join reads both streams of left."""
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("left", Two).shuffle_grouping("numbers")
    builder.set_bolt("right", Two).shuffle_grouping("numbers")
    builder.set_bolt("join", Two).shuffle_grouping("right").shuffle_grouping("left").shuffle_grouping("left", "other")
    return builder.create_topology("diamond")


FLOW = blueprint()
EDGES = {(edge.source, edge.stream): edge.index for edge in FLOW.edges if edge.target == "join"}


def sent(event: int, source: str = "left", stream: str = "default", count: int = 1) -> Delivery:
    return Delivery(event, EDGES[source, stream], 0, 7, (1,) * count, f"{source} {stream} {event}".encode())


def shown(found: Any) -> list[list[str]]:
    return [[delivery.rows.decode() for delivery in arrival] for arrival in found.arrivals]


def test_inputs_are_merged_by_event_and_then_in_the_order_of_the_topology() -> None:
    outputs = {"left": Output((sent(1), sent(2), sent(4))), "right": Output((sent(1, "right"), sent(3, "right"), sent(4, "right")))}
    found = input_of(FLOW, "join", outputs, 100)
    assert shown(found) == [
        ["left default 1"], ["right default 1"], ["left default 2"], ["right default 3"], ["left default 4"], ["right default 4"],
    ]  # fmt: skip
    assert (found.tuples, found.until, found.missing) == (6, None, ())


def test_what_one_source_hands_on_for_one_event_arrives_together_and_in_its_order() -> None:
    outputs = {"left": Output((sent(1, stream="other"), sent(1, count=3), sent(1, stream="other"))), "right": Output()}
    found = input_of(FLOW, "join", outputs, 100)
    assert shown(found) == [["left other 1", "left default 1", "left other 1"]]
    assert found.tuples == 5


def test_what_is_for_other_bolts_is_left_alone() -> None:
    of_numbers = Output((Delivery(1, FLOW.components["left"].inputs[0].index, 0, 1, (1,), b"for left"),))
    assert shown(input_of(FLOW, "left", {"numbers": of_numbers}, 10)) == [["for left"]]
    assert input_of(FLOW, "right", {"numbers": of_numbers}, 10).arrivals == ()


def test_at_most_so_many_tuples_but_whole_arrivals() -> None:
    outputs = {"left": Output((sent(1, count=2), sent(2, count=2), sent(3))), "right": Output()}
    found = input_of(FLOW, "join", outputs, 3)
    assert shown(found) == [["left default 1"], ["left default 2"]]
    assert (found.tuples, found.until) == (4, 2)
    assert input_of(FLOW, "join", outputs, 5).until is None


def test_nothing_is_taken_beyond_where_a_source_is_complete() -> None:
    right = tuple(sent(event, "right") for event in (1, 2, 3))
    outputs = {"left": Output((sent(1), sent(2)), until=2), "right": Output(right)}
    found = input_of(FLOW, "join", outputs, 100)
    assert shown(found)[-1] == ["right default 2"]
    assert found.until == 2


def test_an_edge_that_was_cut_matters_only_to_who_reads_it() -> None:
    other = max(edge.index for edge in FLOW.edges) + 1
    right = tuple(sent(event, "right") for event in (1, 2))
    kept = {"left": Output((sent(1), sent(2)), cuts={other: 1}), "right": Output(right)}
    assert input_of(FLOW, "join", kept, 100).until is None
    cut = {"left": Output((sent(1),), cuts={EDGES["left", "other"]: 1}), "right": Output(right)}
    assert shown(input_of(FLOW, "join", cut, 100)) == [["left default 1"], ["right default 1"]]


def test_a_source_of_which_nothing_is_known_is_named() -> None:
    found = input_of(FLOW, "join", {"right": Output((sent(1, "right"),))}, 100)
    assert found.missing == ("left",)
    assert shown(found) == [["right default 1"]]
