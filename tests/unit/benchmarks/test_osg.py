"""The comparison of groupings: the same topologies and the same mean cost for all of them, and what the table says."""

from __future__ import annotations

import pytest

from benchmarks.osg import CHOICES, KNOWN, MEAN_SECONDS, SUBJECTS, graph_for, main, rate_for, seconds_of_one, shares_of, simulated
from topologies.complex_sensitive.complex_sensitive import ComplexSensitive
from topologies.simple_sensitive.simple_sensitive import SimpleSensitive

names = pytest.mark.parametrize("name", list(SUBJECTS))


@names
def test_the_edges_are_those_of_the_topology_itself(name: str) -> None:
    own = {"simple": SimpleSensitive, "complex": ComplexSensitive}[name].blueprint()
    built = SUBJECTS[name].build(CHOICES["shuffle"], 4, {})
    assert {(edge.source, edge.stream, edge.target) for edge in built.edges} == {(e.source, e.stream, e.target) for e in own.edges}
    assert {plan.id: plan.kind for plan in built.components.values()} == {plan.id: plan.kind for plan in own.components.values()}


@names
@pytest.mark.parametrize("choice", list(CHOICES))
def test_only_the_edge_to_the_sensitive_bolt_has_the_grouping(name: str, choice: str) -> None:
    subject = SUBJECTS[name]
    specs = {bolt.id: [edge.grouping for edge in bolt.inputs] for bolt in graph_for(subject, CHOICES[choice], 4, 1.0).bolts}
    (spec,) = specs.pop(subject.sensitive)
    assert str(spec).startswith({"shuffle, own queues": "shuffle", KNOWN: "known"}.get(choice, choice.replace("-", "_").replace(" ", "_")))
    assert {str(other) for others in specs.values() for other in others} == {"load_aware"}


@pytest.mark.parametrize("skew", [0.0, 1.0, 2.5])
def test_whatever_the_skew_an_event_takes_the_same_in_the_mean(skew: float) -> None:
    for subject in SUBJECTS.values():
        graph = graph_for(subject, CHOICES["osg"], 4, skew)
        (bolt,) = [bolt for bolt in graph.bolts if bolt.id == subject.sensitive]
        assert bolt.et_seconds == pytest.approx(MEAN_SECONDS)
        assert bolt.et_by_class[41] == pytest.approx(42 * seconds_of_one(skew))
        assert (
            0.8 * 4 / MEAN_SECONDS * 0.95
            < rate_for(graph, subject.sensitive, 0.8) * graph.visits()[subject.sensitive]
            < 0.8 * 4 / MEAN_SECONDS
        )


def test_shares_follow_zipf_s_law() -> None:
    assert shares_of(0) == [1.0] * 256
    assert shares_of(1)[:3] == pytest.approx([1, 1 / 2, 1 / 3])


def test_a_run_says_how_long_events_took_and_how_long_osg_was_running() -> None:
    plain = simulated(SUBJECTS["simple"], CHOICES["shuffle"], 2, 0.0, 0.3, 4000, 1)
    assert MEAN_SECONDS < plain.mean < 0.1
    assert plain.running == 0.0
    assert simulated(SUBJECTS["simple"], CHOICES["osg"], 2, 0.0, 0.3, 30_000, 1).running > 0.5


def test_where_costs_are_known_dear_events_are_in_nobody_s_way() -> None:
    subject = SUBJECTS["simple"]
    means = {name: simulated(subject, CHOICES[name], 4, 1.5, 0.8, 8000, 1).mean for name in (KNOWN, "shuffle, own queues")}
    assert means[KNOWN] < 0.6 * means["shuffle, own queues"]


def test_the_table_has_a_row_for_each_skew_and_a_cell_for_each_grouping(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--skews", "0,1.5", "--events", "1500", "--seeds", "2", "--replicas", "2", "--topology", "complex"]) == 0
    shown = capsys.readouterr().out
    assert "complex sensitive, simulated" in shown
    lines = [line for line in shown.splitlines() if line.startswith("| ")]
    assert len(lines) == 4
    assert all(line.count("|") == len(CHOICES) + 3 for line in lines)
    assert all(line.count("±") == len(CHOICES) for line in lines[2:])
