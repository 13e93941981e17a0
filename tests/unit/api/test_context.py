"""What an instance sees of the topology around it."""

from __future__ import annotations

import pytest

from pasps.api import Bolt, Grouping, Spout, Stream, Topology, TopologyContext, Tuple
from pasps.errors import InvalidError


class Words(Spout):
    outputs = [Stream(["word"]), Stream(["line", "number"], "lines")]
    par = 2

    def next_tuple(self) -> None: ...


class Count(Bolt):
    outputs = ["word", "count"]

    def process(self, tup: Tuple) -> None: ...


class Chain(Topology):
    words = Words.spec()
    count = Count.spec(inputs={words: Grouping.fields("word")}, par=2, pool=4)
    sink = Count.spec(inputs=[count])


def context(component: str, index: int, active: list[int], reported: list[BaseException | str]) -> TopologyContext:
    return TopologyContext(Chain.blueprint("wc"), component, index, "w1", {"at": 3}, lambda name: list(active), reported.append)


def test_it_tells_who_and_where_the_instance_is() -> None:
    ctx = context("count", 3, [], [])
    assert (ctx.topology_name, ctx.component_id, ctx.task_id, ctx.task_index, ctx.worker_id) == ("wc", "count", 6, 3, "w1")
    assert ctx.position == {"at": 3}
    assert not ctx.restarted
    assert repr(ctx) == "TopologyContext('wc', 'count', task 6, worker 'w1')"


def test_it_tells_streams_and_edges() -> None:
    ctx = context("count", 0, [], [])
    assert ctx.fields("words") == ("word",)
    assert ctx.fields("words", "lines") == ("line", "number")
    assert [(edge.source, edge.target) for edge in ctx.sources] == [("words", "count")]
    assert [(edge.source, edge.target) for edge in ctx.targets] == [("count", "sink")]


def test_all_tasks_stay_and_active_ones_are_asked_each_time() -> None:
    active = [3, 4]
    ctx = context("words", 0, active, [])
    assert ctx.component_tasks("count") == [3, 4, 5, 6]
    assert ctx.active_tasks("count") == [3, 4]
    active.append(6)
    assert ctx.active_tasks("count") == [3, 4, 6]
    assert ctx.component_tasks("count") == [3, 4, 5, 6]


def test_errors_are_reported_as_they_are_and_what_is_none_as_a_text() -> None:
    reported: list[BaseException | str] = []
    ctx, error = context("count", 0, [], reported), ValueError("no such word")
    ctx.report_error(error)
    ctx.report_error("slow")
    ctx.report_error(None)  # type: ignore[arg-type]
    assert reported == [error, "slow", "None"]


def test_asking_for_what_is_not_there_names_what_is() -> None:
    ctx = context("count", 0, [], [])
    with pytest.raises(InvalidError, match=r"topology 'wc' has no component 'word'; did you mean 'words'\?"):
        ctx.component_tasks("word")
    with pytest.raises(InvalidError, match="topology 'wc' has no component 'x9'; it has words, count, sink"):
        ctx.active_tasks("x9")
    with pytest.raises(InvalidError, match="component 'words' has no stream 'z'; it has default, lines"):
        ctx.fields("words", "z")


def test_it_is_read_only() -> None:
    with pytest.raises(AttributeError):
        context("count", 0, [], []).worker_id = "w2"  # type: ignore[misc]
