from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

from pasps import Bolt, Grouping, Topology
from pasps.testing import complete_topology
from topologies.dns.dns_traffic import Messages
from topologies.dns.flow_features import FEATURES, Features, FlowTable, Moments, Vector, described, registered
from topologies.dns.parsing import Message

QUERY = Message(40, name="www.ab12.test", record="A")
ANSWER = Message(100, is_answer=True, name="www.ab12.test", record="A", code="NOERROR")
FAILURE = Message(60, is_answer=True, name="x.test", record="TXT", code="NXDOMAIN")


def named(vector: Vector) -> dict[str, float]:
    return dict(zip(FEATURES, vector, strict=True))


def test_moments_are_mean_and_deviation() -> None:
    moments = Moments()
    assert (moments.mean, moments.deviation) == (0, 0)
    for value in (2, 4, 4, 4, 5, 5, 7, 9):
        moments.add(value)
    assert (moments.mean, moments.deviation) == (5, 2)


def test_a_flow_is_counted_from_its_first_message() -> None:
    flows = FlowTable()
    flows.add("a>b", 10.0, QUERY)
    flows.add("a>b", 10.5, ANSWER)
    found = named(flows.add("a>b", 12.0, Message(60, name="other.test", record="TXT")))
    assert found["messages"] == pytest.approx(math.log1p(3))
    assert found["bytes"] == pytest.approx(math.log1p(200))
    assert (found["query_size_mean"], found["query_size_deviation"], found["answer_size_mean"]) == (50, 10, 100)
    assert (found["gap_mean"], found["gap_deviation"]) == (1.0, 0.5)
    assert (found["address_share"], found["data_record_share"], found["new_domain_share"]) == (0.5, 0.5, 1.0)
    assert (found["nxdomain_share"], found["error_share"]) == (0.0, 0.0)
    assert named(flows.add("a>b", 12.1, FAILURE))["nxdomain_share"] == 0.5


def test_flows_are_told_apart() -> None:
    flows = FlowTable()
    flows.add("a>b", 1.0, QUERY)
    assert named(flows.add("c>b", 1.0, QUERY))["messages"] == pytest.approx(math.log1p(1))


def test_a_message_that_comes_late_makes_no_negative_gap() -> None:
    flows = FlowTable()
    flows.add("a>b", 5.0, QUERY)
    assert named(flows.add("a>b", 3.0, ANSWER))["gap_mean"] == 0
    assert named(flows.add("a>b", 6.0, QUERY))["gap_mean"] == 0.5


@pytest.mark.parametrize("later", [5.0 + 61, 5.0 - 61])
def test_after_a_long_silence_or_from_the_beginning_of_a_recording_a_flow_is_new(later: float) -> None:
    flows = FlowTable(idle_seconds=60)
    flows.add("a>b", 5.0, QUERY)
    assert named(flows.add("a>b", later, QUERY))["messages"] == pytest.approx(math.log1p(1))


def test_a_flow_without_a_pause_ends_too() -> None:
    flows = FlowTable(idle_seconds=60, most_seconds=100)
    counts = [round(math.expm1(named(flows.add("a>b", at, QUERY))["messages"])) for at in range(0, 240, 30)]
    assert counts == [1, 2, 3, 4, 1, 2, 3, 4]


def test_memory_is_bounded_by_flows_and_by_time() -> None:
    flows = FlowTable(most_flows=10, idle_seconds=60)
    for number in range(100):
        flows.add(f"{number}>b", 0.0, QUERY)
    assert len(flows) == 10
    flows.add("a>b", 100.0, QUERY)
    assert len(flows) == 1


def test_names_are_described() -> None:
    assert described("abab.test") == (4, 4, 1.0, 0.0)
    length, longest, entropy, digits = described("a1.bb22.test")
    assert (length, longest, digits) == (7, 4, 0.5)
    assert entropy == pytest.approx(1.9183, abs=1e-4)
    assert described("localhost")[:2] == (9, 9)
    assert described("") == (0, 0, 0.0, 0.0)
    assert described(".")[1:] == described("..test")[1:] == (0, 0.0, 0.0)
    assert [registered(name) for name in ("a.b.c.test", "c.test", "test", "")] == ["c.test", "c.test", "test", ""]


class Stumble(Bolt):
    """Fails every third event the first time."""

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.seen: set[int] = set()

    def process(self, tup: Any) -> None:
        event = tup.values.event
        if event % 3 == 0 and event not in self.seen:
            self.seen.add(event)
            self.fail(tup)


class Read(Messages):
    outputs = ["event", "flow", "at", "message"]


class Described(Topology):
    messages = Read.spec()
    features = Features.spec(inputs={messages: Grouping.fields("flow")}, pool=3)
    stumble = Stumble.spec(inputs=[features])


def test_an_event_that_comes_again_is_not_counted_again() -> None:
    rows = [[event, f"client{event % 4}>b", float(event), QUERY] for event in range(30)]
    done = complete_topology(Described, {"messages": rows}, replays=1)
    assert len(done.failed["messages"]) == 10
    found: dict[int, list[Vector]] = {}
    for event, _, _, _, vector in done.rows("features"):
        found.setdefault(event, []).append(vector)
    assert all(len(set(vectors)) == 1 for vectors in found.values())
    counted = [round(math.expm1(named(found[event][0])["messages"])) for event in range(30)]
    assert sorted(counted) == sorted(event // 4 + 1 for event in range(30))


def test_a_malformed_message_passes_without_numbers() -> None:
    done = complete_topology(Described, {"messages": [[1, "a>b", 1.0, Message(3, problem="ShortHeader")]]})
    assert [row[4] for row in done.rows("features")] == [None]


def test_its_state_moves() -> None:
    flows = FlowTable()
    flows.add("a>b", 5.0, QUERY)
    moved = pickle.loads(pickle.dumps(flows))
    assert moved.add("a>b", 6.0, ANSWER) == flows.add("a>b", 6.0, ANSWER)
