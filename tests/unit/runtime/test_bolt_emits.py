"""What a bolt may emit, where and when, and how a wrong `emit` is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pasps import BatchBolt, Bolt, Stream, TopologyBuilder, TopologyContext, Tuple, bolt
from pasps.testing import complete_topology
from tests.unit.runtime.parts import Numbers, completed, rows


class Emits(Bolt):
    outputs = [Stream(["number"]), Stream(["number"], "other"), Stream(["number"], "chosen", direct=True)]
    options: dict[str, Any] = {}
    values: Any = (1,)

    def process(self, tup: Tuple) -> None:
        self.emit(self.values, **self.options)


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        ((1, 2), {}, "expected 1 values (number), got 2: (1, 2)"),
        ({"number": 1}, {}, "emit takes a list or tuple of 1 values, got {'number': 1}"),
        ((1,), {"stream": "wrod"}, "stream 'wrod': not declared in outputs; declared: chosen, default, other"),
        ((1,), {"anchors": [7]}, "anchors= takes the tuples that were received, got 7"),
        ((1,), {"anchors": [None]}, "anchors= takes the tuples that were received, got None"),
        ((1,), {"anchors": 7}, "anchors= takes the tuples that were received, got 7"),
        ((1,), {"stream": "chosen", "direct_task": 1}, "direct_task=1 is no task that subscribes to it; those are 3 to 3"),
        ((1,), {"stream": "chosen", "direct_task": "3"}, "direct_task='3' is no task that subscribes to it"),
        ((1,), {"stream": "chosen", "direct_task": True}, "direct_task=True is no task that subscribes to it"),
    ],
)
def test_a_wrong_emit_is_told_in_one_line_with_the_line_that_made_it(values: Any, options: dict[str, Any], words: str) -> None:
    wrong = type("Wrong", (Emits,), {"values": values, "options": options})
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", wrong).shuffle_grouping("numbers")
    builder.set_bolt("after", Emits).direct_grouping("bolt", "chosen")
    done = complete_topology(builder.create_topology("wrong"), {"numbers": rows(1)})
    (report,) = done.errors
    assert words in report.text
    assert report.text.startswith("EmitError: component 'bolt', stream ")
    assert "in process (test_bolt_emits.py:" in report.text
    assert report.text.endswith("self.emit(self.values, **self.options)")
    assert "\n" not in report.text
    assert done.failed["numbers"] == [0]


class Index:
    """An integer by its `__index__` alone."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


@pytest.mark.parametrize("kind", [np.int64, np.uint8, Index])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_direct_task_may_be_any_whole_number(workers: int, kind: Any) -> None:
    chosen = type("Chosen", (Emits,), {"options": {"stream": "chosen", "direct_task": kind(3)}})
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", chosen).shuffle_grouping("numbers")
    builder.set_bolt("after", Emits).direct_grouping("bolt", "chosen")
    done = complete_topology(builder.create_topology("direct"), {"numbers": rows(2)}, workers=workers)
    assert not done.errors
    assert sorted(done.acked["numbers"]) == [0, 1]
    assert len(done.rows("after")) == 2


class Collects(Bolt):
    """Emits what a hook tried, once there is a call."""

    outputs = ["error"]
    hook = ""
    said: list[str] = []

    def attempt(self, hook: str) -> None:
        if hook == self.hook:
            try:
                self.emit(["too early"])
            except Exception as error:  # noqa: BLE001 - whatever it is
                self.said.append(str(error))

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.attempt("initialize")

    def activate(self) -> None:
        self.attempt("activate")

    def deactivate(self) -> None:
        self.attempt("deactivate")

    def close(self) -> None:
        self.attempt("close")

    def process(self, tup: Tuple) -> None:
        self.emit(["in time"])


class CollectsAsync(Collects):
    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        self.emit(["in time"])


class CollectsOnThread(Collects):
    execution = "thread"


@pytest.mark.parametrize("hook", ["initialize", "activate", "close"])
@pytest.mark.parametrize("kind", [Collects, CollectsAsync, CollectsOnThread])
def test_emit_outside_of_a_call_says_where_one_may_emit(kind: type[Collects], hook: str) -> None:
    said: list[str] = []
    done = completed(type("Kind", (kind,), {"hook": hook, "said": said}), 1)
    assert done.rows("bolt") == [("in time",)]
    (text,) = said
    assert "component 'bolt'" in text
    assert "emit, ack and fail work only during a call of process" in text


def test_emit_after_the_call_has_returned_is_refused() -> None:
    kept: list[Bolt] = []

    class Keeps(Bolt):
        outputs = ["number"]

        def process(self, tup: Tuple) -> None:
            kept.append(self)

    completed(Keeps, 1)
    with pytest.raises(Exception, match="only during a call of process"):
        kept[0].emit([1])


@pytest.mark.parametrize("stream", ["default", "other"])
def test_in_a_batch_an_emission_without_anchors_is_refused_on_every_stream(stream: str) -> None:
    class Loose(BatchBolt):
        outputs = [Stream(["number"]), Stream(["number"], "other")]

        def process_batch(self, tuples: list[Tuple]) -> None:
            self.emit([1], stream=stream)

    done = completed(Loose, 2)
    assert sorted(done.failed["numbers"]) == [0, 1]
    assert all("emit needs anchors=" in report.text for report in done.errors)
    assert not done.rows("bolt", stream)


def test_a_bolt_on_a_thread_may_ask_who_gets_its_tuple() -> None:
    class Asks(Bolt):
        outputs = [Stream(["number"]), Stream(["tasks"], "told")]
        execution = "thread"

        def process(self, tup: Tuple) -> None:
            tasks = self.emit(tup.values, need_task_ids=True)
            self.emit([tasks], stream="told")

    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", Asks).shuffle_grouping("numbers")
    builder.set_bolt("after", Emits).shuffle_grouping("bolt")
    done = complete_topology(builder.create_topology("asks"), {"numbers": rows(3)})
    assert done.rows("bolt", "told") == [([3],)] * 3
    assert sorted(done.acked["numbers"]) == [0, 1, 2]


class Refuses:
    """A custom grouping that raises what is no Exception."""

    def prepare(self, ctx: Any, stream: str, target_tasks: list[int]) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, source_task: int, values: tuple[Any, ...]) -> Any:
        if values[0] == 1:
            raise SystemExit("cannot choose")
        return [np.int64(self.tasks[0])]


@pytest.mark.parametrize("execution", ["inline", "thread"])
def test_a_grouping_that_raises_costs_the_call_that_asked(execution: str) -> None:
    class Asks(Bolt):
        outputs = ["number"]

        def process(self, tup: Tuple) -> None:
            self.emit(tup.values, need_task_ids=True)

    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", type("Kind", (Asks,), {"execution": execution})).shuffle_grouping("numbers")
    builder.set_bolt("after", Emits).custom_grouping("bolt", Refuses())
    done = complete_topology(builder.create_topology("refuses"), {"numbers": rows(3)})
    assert done.failed["numbers"] == [1]
    assert sorted(done.acked["numbers"]) == [0, 2]
    assert "cannot choose" in done.errors[0].text


class ThreeOfTwo(tuple[Any, ...]):
    """Has two values, and gives three."""

    def __iter__(self) -> Iterator[Any]:
        return iter((1, 2, 3))


@pytest.mark.parametrize("how", ["returned", "emitted", "emitted with anchors"])
@pytest.mark.parametrize("execution", ["inline", "thread"])
def test_rows_are_as_wide_as_what_they_give(execution: Any, how: str) -> None:
    @bolt(outputs=["one", "two"], execution=execution)
    def returns(number: int) -> Any:
        return ThreeOfTwo((1, 2)) if number == 1 else (number, number)

    class EmitsIt(Bolt):
        outputs = ["one", "two"]

        def process(self, tup: Tuple) -> None:
            row = ThreeOfTwo((1, 2)) if tup[0] == 1 else (tup[0], tup[0])
            self.emit(row, anchors=[tup] if how != "emitted" else None)

    done = completed(returns if how == "returned" else type("Kind", (EmitsIt,), {"execution": execution}))
    assert done.failed["numbers"] == [1]
    assert sorted(done.rows("bolt")) == [(0, 0), (2, 2)]
