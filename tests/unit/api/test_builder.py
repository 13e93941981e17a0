"""Storm's builder: every grouping method, instances, and what it refuses on the spot."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pasps.api import Bolt, Grouping, GroupingSpec, Spout, Stream, TopologyBuilder, Tuple, bolt
from pasps.errors import ConfigError, GroupingError, TopologyError


class Words(Spout):
    outputs = [Stream(["word"]), Stream(["line"], "lines"), Stream(["task"], "direct", direct=True)]

    def __init__(self, seed: int = 0) -> None:
        self.seen = [seed]

    def next_tuple(self) -> None: ...


class Count(Bolt):
    par = 3

    def process(self, tup: Tuple) -> None: ...


@bolt
def show(word: str) -> None: ...


class Choice:
    def prepare(self, ctx: Any, stream: str, target_tasks: list[int]) -> None: ...

    def choose_tasks(self, source_task: int, values: Any) -> list[int]:
        return []


CHOICE = Choice()


@pytest.mark.parametrize(
    ("method", "arguments", "grouping"),
    [
        ("load_aware_grouping", (), Grouping.LOAD_AWARE),
        ("load_aware_paper_grouping", (), Grouping.LOAD_AWARE_PAPER),
        ("shuffle_grouping", (), Grouping.SHUFFLE),
        ("local_or_shuffle_grouping", (), Grouping.LOCAL_OR_SHUFFLE),
        ("none_grouping", (), Grouping.NONE),
        ("global_grouping", (), Grouping.GLOBAL),
        ("all_grouping", (), Grouping.ALL),
        ("fields_grouping", (["line"],), Grouping.fields("line")),
        ("fields_grouping", ("line",), Grouping.fields("line")),
        ("fields_grouping", ([],), Grouping.GLOBAL),
        ("partial_key_grouping", (["line"],), Grouping.partial_key("line")),
        ("custom_grouping", (CHOICE,), Grouping.custom(CHOICE)),
        ("grouping", (), Grouping.LOAD_AWARE),
    ],
)
def test_each_grouping_method_adds_an_input_and_returns_the_declarer(
    method: str, arguments: tuple[Any, ...], grouping: GroupingSpec
) -> None:
    builder = TopologyBuilder()
    builder.set_spout("words", Words)
    declarer = builder.set_bolt("count", Count)
    assert getattr(declarer, method)("words", *arguments, stream="lines") is declarer
    (edge,) = builder.create_topology("t").edges
    assert (edge.source, edge.stream, edge.target, edge.grouping) == ("words", "lines", "count", grouping)


def test_the_default_stream_and_direct_edges() -> None:
    builder = TopologyBuilder()
    builder.set_spout("words", Words)
    builder.set_bolt("count", Count).shuffle_grouping("words").direct_grouping("words", stream="direct")
    assert [(e.stream, e.grouping) for e in builder.create_topology("t").edges] == [
        ("default", Grouping.SHUFFLE),
        ("direct", Grouping.DIRECT),
    ]


def test_numbers_of_replicas() -> None:
    builder = TopologyBuilder()
    builder.set_spout("words", Words, 2)
    builder.set_bolt("own", Count).shuffle_grouping("words")
    builder.set_bolt("given", Count, 1, pool=6).shuffle_grouping("words")
    builder.set_bolt("shown", show, 2).shuffle_grouping("words")
    plans = builder.create_topology("t").components
    assert [(p.par, p.pool, p.first_task) for p in plans.values()] == [(2, 2, 1), (3, 3, 3), (1, 6, 6), (2, 2, 12)]


def test_configuration_may_be_added() -> None:
    builder = TopologyBuilder()
    builder.set_spout("words", Words, config={"a": 1}).add_configuration("topology.max.spout.pending", 10)
    builder.set_bolt("count", Count).add_configuration("b", 2).shuffle_grouping("words").add_configuration("b", 3)
    plans = builder.create_topology("t", {"topology.workers": 3}).components
    assert plans["words"].config == {"a": 1, "topology.max.spout.pending": 10}
    assert plans["count"].config == {"b": 3}


def test_each_task_gets_its_own_copy_of_an_instance() -> None:
    words = Words(7)
    builder = TopologyBuilder()
    builder.set_spout("words", words)
    plan = builder.create_topology("t").components["words"]
    words.seen.append(8)
    one, two = plan.make(), plan.make()
    assert isinstance(one, Words)
    assert one.seen == two.seen == [7]
    assert one.seen is not two.seen


def test_a_class_is_made_anew_and_a_function_bolt_is_shared() -> None:
    builder = TopologyBuilder()
    builder.set_spout("words", Words)
    builder.set_bolt("show", show).shuffle_grouping("words")
    plans = builder.create_topology("t").components
    assert plans["words"].make() is not plans["words"].make()
    assert plans["show"].make() is show


def test_an_instance_that_cannot_be_copied_is_refused() -> None:
    words = Words()
    words.lock = threading.Lock()  # type: ignore[attr-defined]
    builder = TopologyBuilder()
    builder.set_spout("words", words)
    with pytest.raises(TopologyError) as caught:
        builder.create_topology("t")
    assert str(caught.value) == (
        "component 'words': this instance of Words cannot be copied for each task (cannot pickle '_thread.lock' object); "
        "create what cannot be copied in initialize()"
    )


def test_the_builder_can_go_on_after_a_topology_was_made() -> None:
    builder = TopologyBuilder()
    builder.set_spout("words", Words)
    first = builder.create_topology("t")
    builder.set_bolt("count", Count).shuffle_grouping("words")
    assert list(first.components) == ["words"]
    assert list(builder.create_topology("t").components) == ["words", "count"]


def test_wrong_calls_are_refused_on_the_spot() -> None:
    builder = TopologyBuilder()
    builder.set_spout("words", Words)
    with pytest.raises(TopologyError, match="component 'words': two components have this name; rename one of them"):
        builder.set_bolt("words", Count)
    with pytest.raises(TopologyError, match=r"component 'a': set_spout was given a bolt: .*; use set_bolt"):
        builder.set_spout("a", Count)  # type: ignore[arg-type]
    with pytest.raises(TopologyError, match=r"component 'a': set_bolt was given a spout: .*; use set_spout"):
        builder.set_bolt("a", Words())  # type: ignore[arg-type]
    with pytest.raises(TopologyError, match=r"component 'a': neither a Spout, nor a Bolt, nor a function bolt: 3; derive a class"):
        builder.set_bolt("a", 3)  # type: ignore[arg-type]
    with pytest.raises(GroupingError, match="custom"):
        builder.set_bolt("b", Count).custom_grouping("words", 3)


def test_an_unknown_key_on_a_component_names_the_component() -> None:
    builder = TopologyBuilder()
    builder.set_spout("words", Words, config={"topology.max.spout.pendin": 1})
    with pytest.raises(ConfigError, match=r"component 'words': configuration key .* nearest known name is 'topology\.max\.spout\.pending'"):
        builder.create_topology("t")
