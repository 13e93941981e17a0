"""Topologies as classes: names, inheritance, configuration, and what is refused in the class statement."""

from __future__ import annotations

from typing import Any

import pytest

from pasps.api import Bolt, Grouping, Spout, Stream, Topology, TopologyBuilder, Tuple, blueprint_of, bolt
from pasps.api.topology import TopologyType, kebab
from pasps.errors import ConfigError, InvalidError, TopologyError


class Words(Spout):
    outputs = [Stream(["word"]), Stream(["line"], "lines"), Stream(["task"], "direct", direct=True)]

    def next_tuple(self) -> None: ...


class Count(Bolt):
    outputs = ["word", "count"]
    par = 2
    config = {"topology.tick.tuple.freq.secs": 1, "mine": "class"}

    def process(self, tup: Tuple) -> None: ...

    def process_tick(self, tup: Tuple) -> None: ...


@bolt
def show(word: str, count: int) -> None: ...


class WordCount(Topology):
    config = {"topology.workers": 2, "mine": 1}
    words = Words.spec()
    count = Count.spec(inputs={words: Grouping.fields("word")}, pool=8)
    show = show.spec(inputs=[count], name="display")


def inputs(topology: Any, component: str) -> list[tuple[str, str, str]]:
    return [(e.source, e.stream, str(e.grouping)) for e in topology.blueprint().components[component].inputs]


def test_attributes_become_components() -> None:
    blueprint = WordCount.blueprint()
    assert blueprint.name == "word-count"
    assert list(blueprint.components) == ["words", "count", "display"]
    count = blueprint.components["count"]
    assert (count.shape, count.par, count.pool, count.first_task, count.keyed) == ("bolt", 2, 8, 2, True)
    assert blueprint.components["display"].shape == "function"
    assert [(e.index, e.source, e.target) for e in blueprint.edges] == [(0, "words", "count"), (1, "count", "display")]


def test_inputs_default_to_load_aware_and_to_direct_on_a_direct_stream() -> None:
    class Defaults(Topology):
        words = Words.spec()
        a = Count.spec(inputs=[words, words["lines"], words["direct"]])
        b = Count.spec(inputs=["words", a])
        c = Count.spec(inputs={"words": Grouping.ALL, words["lines"]: Grouping.GLOBAL})

    assert inputs(Defaults, "a") == [("words", "default", "load_aware"), ("words", "lines", "load_aware"), ("words", "direct", "direct")]
    assert inputs(Defaults, "b") == [("words", "default", "load_aware"), ("a", "default", "load_aware")]
    assert inputs(Defaults, "c") == [("words", "default", "all"), ("words", "lines", "global")]


def test_the_order_of_attributes_does_not_matter() -> None:
    class Backwards(Topology):
        last = Count.spec(inputs=["middle"])
        middle = Count.spec(inputs=["first"])
        first = Words.spec()

    assert list(Backwards.blueprint().components) == ["first", "middle", "last"]
    assert [p.first_task for p in Backwards.blueprint().components.values()] == [1, 2, 4]


def test_configuration_of_the_submission_lies_over_the_classes() -> None:
    blueprint = WordCount.blueprint(name="other", config={"mine": 2, "more": 3})
    assert blueprint.name == "other"
    assert blueprint.config == {"topology.workers": 2, "mine": 2, "more": 3}
    assert WordCount.blueprint().config == {"topology.workers": 2, "mine": 1}


def test_configuration_of_a_spec_lies_over_its_components() -> None:
    class Configured(Topology):
        words = Words.spec()
        count = Count.spec(inputs=[words], config={"mine": "spec"})

    assert Configured.blueprint().components["count"].config == {"topology.tick.tuple.freq.secs": 1, "mine": "spec"}


def test_a_subclass_inherits_components_and_may_add() -> None:
    class Longer(WordCount):
        config = {"mine": 3}
        again = Count.spec(inputs=[WordCount.words])

    assert list(Longer.blueprint().components) == ["words", "count", "display", "again"]
    assert Longer.blueprint().config == {"mine": 3}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("WordCount", "word-count"), ("HTTPLog2Count", "http-log2-count"), ("W2", "w2"), ("_My_Topology", "my-topology"), ("lower", "lower")],
)
def test_the_default_name_is_in_kebab_case(name: str, expected: str) -> None:
    assert kebab(name) == expected


def test_a_component_that_is_no_spec_is_refused() -> None:
    with pytest.raises(TopologyError, match=r"component 'count': <class .*Count'> stands here, but .*; write count = Count.spec\(...\)"):

        class OfAClass(Topology):
            words = Words.spec()
            count = Count

    with pytest.raises(TopologyError, match=r"component 'count': <.*Count object .* stands here, but .*; write count = Count.spec\(...\)"):

        class OfAnInstance(Topology):
            words = Words.spec()
            count = Count()

    with pytest.raises(TopologyError, match=r"component 'shown': <function bolt show> stands here, .*; write shown = shown.spec\(...\)"):

        class OfAFunction(Topology):
            words = Words.spec()
            shown = show


def test_what_a_spec_is_made_of_may_be_defined_in_the_topology() -> None:
    class Nested(Topology):
        class Base(Count):
            outputs = []

        class Last(Base): ...

        @bolt
        def printed(word: str) -> None: ...  # noqa: N805 - no method

        words = Words.spec()
        last = Last.spec(inputs=[words])
        out = printed.spec(inputs=[words])

    assert list(Nested.blueprint().components) == ["words", "last", "out"]


def test_both_ways_of_building_give_the_same_blueprint() -> None:
    builder = TopologyBuilder()
    builder.set_bolt("display", show).load_aware_grouping("count")
    builder.set_spout("words", Words)
    builder.set_bolt("count", Count, 2, pool=8).fields_grouping("words", ["word"])
    assert builder.create_topology("word-count", {"topology.workers": 2, "mine": 1}) == WordCount.blueprint()


def test_a_blueprint_is_had_of_whatever_is_submitted() -> None:
    blueprint = WordCount.blueprint()
    assert blueprint_of(WordCount) == blueprint
    assert blueprint_of(WordCount, "n", {"a": 1}) == WordCount.blueprint("n", {"a": 1})
    assert blueprint_of(blueprint) is blueprint
    assert blueprint_of(blueprint, "n", {"a": 1}) == WordCount.blueprint("n", {"a": 1})
    assert blueprint_of(blueprint, config={"topology.max.task.parallelism": 1}) == WordCount.blueprint(
        config={"topology.max.task.parallelism": 1}
    )


def test_what_is_no_topology_is_refused_with_the_cure() -> None:
    with pytest.raises(TopologyError, match=r"neither a Topology class nor a built topology: .*; call its create_topology\(name\)"):
        blueprint_of(TopologyBuilder())
    with pytest.raises(TopologyError, match="neither a Topology class nor a built topology: 3; give a class derived from Topology"):
        blueprint_of(3)
    with pytest.raises(ConfigError, match="nearest known name"):
        blueprint_of(WordCount.blueprint(), config={"topology.wrkers": 1})
    with pytest.raises(TopologyError, match="'a/b' cannot be a topology's name; use letters"):
        blueprint_of(WordCount.blueprint(), "a/b")
    with pytest.raises(InvalidError, match="config must be a dict of configuration keys, got 3"):
        WordCount.blueprint(config=3)  # type: ignore[arg-type]


def refused(body: dict[str, Any]) -> str:
    with pytest.raises(TopologyError) as caught:
        TopologyType("Broken", (Topology,), {"__qualname__": "Broken", **body})
    return str(caught.value)


def test_an_empty_topology_is_refused_when_it_is_defined() -> None:
    assert refused({}) == "topology: there is no spout, so nothing would ever flow; add a component derived from Spout"


def test_a_name_that_is_bound_twice_is_refused() -> None:
    with pytest.raises(TopologyError, match="component 'words': two components have this name; rename one of the attributes"):

        class Broken(Topology):
            words = Words.spec()
            words = Words.spec()  # noqa: PIE794

    words = Words.spec()
    assert refused({"a": words, "b": Words.spec(name="a")}) == "component 'a': two components have this name; rename one of them"


def test_one_spec_cannot_be_two_components() -> None:
    words = Words.spec()
    assert refused({"a": words, "b": words}) == (
        "component 'b': the same spec stands under 'a' too; write Words.spec() once for each component"
    )


def test_a_spec_that_is_no_attribute_cannot_be_an_input() -> None:
    words = Words.spec()
    assert refused({"other": Words.spec(), "count": Count.spec(inputs=[words["lines"]])}) == (
        "component 'count', stream 'lines': its input Words.spec() is no component of this topology; "
        "make it an attribute of the class; its components are other, count"
    )


def test_attributes_of_topology_itself_cannot_be_components() -> None:
    assert refused({"blueprint": Words.spec()}) == (
        "component 'blueprint': this attribute belongs to Topology itself; use another attribute, and name='blueprint' to keep the name"
    )
    assert "must be a dict of configuration keys, got Words.spec()" in refused({"config": Words.spec()})
    assert "must be a dict of configuration keys, got []" in refused({"words": Words.spec(), "config": []})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Words.spec(), "topology: Count.spec(): inputs must be a list or a dict, got Words.spec(); write inputs=[Words.spec()]"),
        (3, "topology: Count.spec(): inputs must be a list or a dict, got 3; write inputs=[spec] or inputs={spec: Grouping.SHUFFLE}"),
        ("words", "topology: Count.spec(): inputs must be a list or a dict, got 'words'; write inputs=['words']"),
        ([3], "topology: Count.spec(): 3 is no input; give what .spec() returned, spec['stream'], or a component's name"),
        ([Words], f"topology: Count.spec(): {Words!r} is no input; give what .spec() returned, spec['stream'], or a component's name"),
    ],
)
def test_inputs_that_are_none_are_refused_by_spec(given: Any, expected: str) -> None:
    with pytest.raises(TopologyError) as caught:
        Count.spec(inputs=given)
    assert str(caught.value) == expected


def test_a_spec_is_no_sequence() -> None:
    with pytest.raises(TypeError, match=r"Words\.spec\(\) cannot be iterated"):
        list(Words.spec())
