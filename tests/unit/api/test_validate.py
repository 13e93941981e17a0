"""What a set of components becomes: names, configuration, order, numbers, and a blueprint that travels."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasps.api import BatchBolt, Grouping, GroupingSpec, Tuple, bolt
from pasps.api.declaration import Declaration, Input
from pasps.api.validate import MOST_REPLICAS, reconfigured, validated
from pasps.errors import ConfigError, InvalidError, TopologyError
from pasps.ids import MOST_TASKS
from tests.unit.api.parts import Count, Sink, Words, clean


@bolt(outputs=["word"], batch=True)
def clean_all(rows: list[Any]) -> list[Any]:
    return rows


@bolt
def anything(*values: Any) -> None: ...


WORDS = Declaration("words", Words)
COUNT = Declaration("count", Count, (Input("words"),))


def reading(*inputs: Input, subject: Any = Sink, **more: Any) -> list[Declaration]:
    return [WORDS, COUNT, Declaration("sink", subject, inputs, **more)]


def on(grouping: Any, stream: str = "default") -> list[Declaration]:
    return reading(Input("words", stream, grouping))


@pytest.mark.parametrize("name", ["", "a/b", "..", "-a", "a b", "a\n", 3, None])
def test_a_name_that_cannot_stand_in_a_path_is_refused(name: Any) -> None:
    with pytest.raises(TopologyError, match="cannot be a topology's name; use letters, digits"):
        validated(name, [WORDS])


@pytest.mark.parametrize("name", ["t" * 101, "t" * 5000, "\u00fc" * 101, "\U00020000" * 51])
def test_a_name_longer_than_workers_tell_each_other_is_refused(name: str) -> None:
    with pytest.raises(
        TopologyError, match=rf"at most 100 characters and 200 bytes, got {len(name)} characters .*; give it a shorter name"
    ):
        validated(name, [WORDS])


def test_configuration_is_checked_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"topology 't': configuration key 'topology.wrkers' is unknown"):
        validated("t", [WORDS], {"topology.wrkers": 1})
    with pytest.raises(ConfigError, match=r"component 'words': configuration key 'topology.workers' holds for the whole topology"):
        validated("t", [Declaration("words", Words, config={"topology.workers": 1})])
    with pytest.raises(InvalidError, match="component 'words': configuration must be a dict of keys and values, got 3"):
        validated("t", [Declaration("words", Words, config=3)])  # type: ignore[arg-type]
    with pytest.raises(InvalidError, match="topology 't': configuration must be a dict"):
        validated("t", [WORDS], [])  # type: ignore[arg-type]


TICK = "topology.tick.tuple.freq.secs"


class Timed(Sink):
    def process_tick(self, tup: Tuple) -> None: ...


class TimedByItself(Timed):
    config = {TICK: 5}


class TimedBatch(BatchBolt):
    def process_batch(self, tuples: list[Tuple]) -> None: ...

    def process_tick(self, tup: Tuple) -> None: ...


@pytest.mark.parametrize(
    ("subject", "own", "topology"),
    [
        (Timed, {TICK: 1}, {}),
        (Timed, {}, {TICK: 1}),
        (Timed(), {TICK: 1}, {}),
        (TimedByItself, {}, {}),
        (TimedBatch, {TICK: 1}, {}),
        # null says that there shall be none, which a submission may change
        (Timed, {TICK: None}, {}),
        (Timed, {}, {TICK: None}),
        (TimedByItself, {TICK: None}, {}),
        (Sink, {TICK: None}, {}),
        (Sink, {}, {TICK: None}),
    ],
)
def test_ticks_with_somebody_to_handle_them_are_accepted(subject: Any, own: dict[str, Any], topology: dict[str, Any]) -> None:
    assert validated("t", reading(Input("words"), subject=subject, config=own), topology).components["sink"].config.keys() <= {TICK}


def test_a_tick_for_all_is_for_those_who_handle_it() -> None:
    other = Declaration("timed", Timed, (Input("words"),))
    assert validated("t", [*reading(Input("words")), other], {TICK: 1}).config == {TICK: 1}


@pytest.mark.parametrize(
    ("subject", "own", "topology", "expected"),
    [
        (
            Timed,
            {},
            {},
            f"component 'sink': Timed has process_tick(), but no tick would come: {TICK} is not set; "
            f"give the component config={{'{TICK}': seconds}}, or set the key for the topology; None says that no ticks are wanted",
        ),
        (
            Sink,
            {TICK: 2},
            {},
            f"component 'sink': its configuration has {TICK} = 2, but nothing here handles ticks; "
            "define process_tick(self, tup), or drop the key",
        ),
        (
            anything,
            {TICK: 2},
            {},
            f"component 'sink': its configuration has {TICK} = 2, but nothing here handles ticks; "
            "drop the key, or write a class derived from Bolt: a function bolt gets no ticks",
        ),
        (
            Sink,
            {},
            {TICK: 2},
            f"topology: the topology's configuration has {TICK} = 2, but no bolt defines process_tick(); "
            "define process_tick(self, tup) in a bolt, or drop the key",
        ),
    ],
)
def test_ticks_that_nobody_handles_and_handlers_without_ticks_are_refused(
    subject: Any, own: dict[str, Any], topology: dict[str, Any], expected: str
) -> None:
    with pytest.raises(TopologyError) as caught:
        validated("t", reading(Input("words"), subject=subject, config=own), topology)
    assert str(caught.value) == expected


def test_a_spout_gets_no_ticks() -> None:
    with pytest.raises(TopologyError, match=r"component 'words': .* a spout gets no ticks"):
        validated("t", [Declaration("words", Words, config={TICK: 1})])


def test_the_configuration_of_a_submission_is_checked_for_ticks_too() -> None:
    plain = validated("t", reading(Input("words")))
    with pytest.raises(TopologyError, match=r"no bolt defines process_tick\(\)"):
        reconfigured(plain, None, {TICK: 1})
    off = validated("t", reading(Input("words"), subject=Timed), {TICK: None})
    assert reconfigured(off, None, {TICK: 3}).config == {TICK: 3}


def test_more_tasks_than_there_are_ids_are_refused() -> None:
    wide = [Declaration(f"b{i}", Sink, (Input("words"),), pool=MOST_REPLICAS) for i in range(MOST_TASKS // MOST_REPLICAS + 1)]
    with pytest.raises(TopologyError) as caught:
        validated("t", [WORDS, *wide])
    assert str(caught.value) == (
        "component 'b0': the pools of all components come to 65537 tasks, more than 65535; "
        "lower pools, of which this one (4096) is the largest"
    )
    assert validated("t", [WORDS, *wide[1:]])


def test_functions_that_fit_are_accepted() -> None:
    for subject in (clean, clean_all, anything, bolt(outputs=["word"])(print)):
        assert validated("t", reading(Input("words"), subject=subject)).components["sink"].shape == "function"
    assert validated("t", reading(Input("words"), Input("words", "numbers"), subject=anything))


def test_ties_in_the_topological_order_keep_the_order_of_definition() -> None:
    declarations = [
        Declaration("d", Sink, (Input("b"), Input("c"))),
        Declaration("c", Count, (Input("words"),), pool=3),
        Declaration("b", Count, (Input("words"), Input("words", "numbers", Grouping.ALL))),
        WORDS,
    ]
    blueprint = validated("t", declarations)
    assert list(blueprint.components) == ["words", "c", "b", "d"]
    assert [plan.first_task for plan in blueprint.components.values()] == [1, 2, 5, 6]
    assert [(e.index, e.source, e.stream, e.target) for e in blueprint.edges] == [
        (0, "words", "default", "c"),
        (1, "words", "default", "b"),
        (2, "words", "numbers", "b"),
        (3, "b", "default", "d"),
        (4, "c", "default", "d"),
    ]
    assert [edge for plan in blueprint.components.values() for edge in plan.inputs] == list(blueprint.edges)


def test_a_cap_on_parallelism_holds_for_par_and_pool() -> None:
    plans = validated("t", [WORDS, Declaration("a", Count, (Input("words"),), 4, 8)], {"topology.max.task.parallelism": 3}).components
    assert [(plan.par, plan.pool, plan.first_task) for plan in plans.values()] == [(1, 1, 1), (3, 3, 2)]


class Choice:
    def prepare(self, ctx: Any, stream: str, target_tasks: list[int]) -> None: ...

    def choose_tasks(self, source_task: int, values: Any) -> list[int]:
        return [1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice)

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    "grouping", [None, Grouping.fields("word"), Grouping.partial_key("word"), Grouping.GLOBAL, Grouping.custom(Choice())]
)
def test_a_blueprint_survives_pickling(grouping: GroupingSpec | None) -> None:
    counting = Count()
    counting.limit = 3  # type: ignore[attr-defined]
    more = [Declaration("copied", counting, (Input("words"),)), Declaration("clean", clean, (Input("words"),))]
    blueprint = validated("t", [*on(grouping), *more], {"topology.workers": 2})
    for dump in (pickle.dumps, cloudpickle.dumps):
        twin = pickle.loads(dump(blueprint))
        assert (twin.name, twin.edges, twin.config) == (blueprint.name, blueprint.edges, blueprint.config)
        assert twin.components["sink"] == blueprint.components["sink"]
        assert twin.components["copied"].make().limit == 3
        assert twin.components["clean"].make() is clean


@settings(max_examples=30)
@given(st.data())
def test_any_graph_without_cycle_is_ordered_and_numbered_without_gap(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 8))
    declarations = [WORDS]
    for i in range(size):
        before = st.sampled_from([d.id for d in declarations])
        sources = data.draw(st.lists(before, min_size=1, max_size=3, unique=True))
        declarations.append(Declaration(f"b{i}", Count, tuple(Input(s) for s in sources), pool=data.draw(st.integers(1, 5))))
    blueprint = validated("t", data.draw(st.permutations(declarations)))
    place = {id_: i for i, id_ in enumerate(blueprint.components)}
    assert len(place) == size + 1
    assert all(place[edge.source] < place[edge.target] for edge in blueprint.edges)
    assert [edge.index for edge in blueprint.edges] == list(range(len(blueprint.edges)))
    tasks = [task for plan in blueprint.components.values() for task in plan.tasks]
    assert tasks == list(range(1, len(tasks) + 1))
