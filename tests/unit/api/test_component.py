"""Components as users write and unit-test them, outside a running topology."""

from __future__ import annotations

import copy
import logging
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from pasps.api import BatchBolt, Bolt, Spout, Stream, Tuple, declared_streams
from pasps.errors import ClosedError, InvalidError, TopologyError


class Words(Spout):
    outputs = ["word"]

    def next_tuple(self) -> None:
        self.emit(["storm"], tup_id=1)


class Count(Bolt):
    outputs = ["word", "count"]

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.counts: dict[str, int] = {}

    def process(self, tup: Tuple) -> None:
        self.emit([tup["word"], 1])


class Slotted(Bolt):
    __slots__ = ("size",)
    size: int

    def process(self, tup: Tuple) -> None: ...


def test_what_the_runtime_provides_says_so_outside_of_it() -> None:
    calls: list[Callable[[], object]] = [
        lambda: Words().emit(["a"]),
        lambda: Words().emit_batch([["a"]]),
        lambda: Words().save_position(3),
        lambda: Count().emit(["a", 1]),
        lambda: Count().ack(object()),  # type: ignore[arg-type]
        lambda: Count().fail(object()),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(ClosedError, match=r"\(\) works only while the topology runs"):
            call()


def test_hooks_do_nothing_by_default() -> None:
    for component in (Words(), Count()):
        component.activate()
        component.deactivate()
        component.on_move_out()
        component.close()
    spout = Words()
    spout.ack(1)
    spout.fail(1)
    assert spout.backlog() is None


def test_what_must_be_defined_says_so_when_called() -> None:
    with pytest.raises(NotImplementedError, match="Spout must define next_tuple"):
        Spout().next_tuple()
    with pytest.raises(NotImplementedError, match=r"Bolt must define process\(tup\)"):
        Bolt().process(object())  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="BatchBolt must define process_batch"):
        BatchBolt().process_batch([])


def test_a_component_pickles_without_what_the_runtime_put_on_it() -> None:
    count = Count()
    count.initialize({}, None)
    count.counts["storm"] = 3
    for name in Bolt.given_by_runtime:
        setattr(count, name, lambda *args: None)  # a lambda cannot be pickled
    for twin in (pickle.loads(pickle.dumps(count)), copy.deepcopy(count)):
        assert vars(twin) == {"counts": {"storm": 3}}
        with pytest.raises(ClosedError):
            twin.emit([])


def test_a_spouts_ack_and_fail_are_its_own() -> None:
    spout = Words()
    spout.__dict__.update(emit=1, emit_batch=2, save_position=3, seen=4)
    assert vars(pickle.loads(pickle.dumps(spout))) == {"seen": 4}


def test_a_component_with_slots_pickles_too() -> None:
    slotted = Slotted()
    slotted.size = 3
    slotted.emit = print  # type: ignore[assignment]
    twin = pickle.loads(pickle.dumps(slotted))
    assert twin.size == 3
    assert vars(twin) == {}


def test_components_share_no_mutable_default() -> None:
    for kind in (Spout, Bolt, BatchBolt):
        for name in ("outputs", "config", "par", "pool"):
            hash(getattr(kind, name))


def test_field_names_mean_the_default_stream() -> None:
    assert declared_streams(["a", "b"]) == {"default": Stream(["a", "b"])}
    assert declared_streams(("a",)) == {"default": Stream(["a"])}
    assert declared_streams([]) == {}


def test_streams_keep_their_order_and_get_lists_of_their_own() -> None:
    names = ["a"]
    streams = declared_streams([Stream(names, "x"), Stream(("b",), "y", direct=True), Stream([], "signal")])  # type: ignore[arg-type]
    assert streams == {"x": Stream(["a"], "x"), "y": Stream(["b"], "y", True), "signal": Stream([], "signal")}
    names.append("later")
    assert streams["x"].fields == ["a"]


WRONG: dict[str, Any] = {"text": "word", "number": 3}


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ("word", "component 'c': outputs must be a list of field names or of Streams, got 'word'; write outputs = ['word']"),
        (3, "component 'c': outputs must be a list of field names or of Streams, got 3; write outputs = ['field', ...]"),
        (
            ["a", Stream(["b"])],
            "component 'c': outputs mixes Streams with 'a'; put the fields of one stream into a Stream([...], 'default')",
        ),
        (["a", "a"], "component 'c', stream 'default': field 'a' is declared twice; rename one of them"),
        (["a", ""], "component 'c', stream 'default': a field's name must be a non-empty string, got ''; name the field"),
        (["a", 3], "component 'c', stream 'default': a field's name must be a non-empty string, got 3; name the field"),
        (
            [Stream(WRONG["text"])],
            "component 'c', stream 'default': fields must be a list of names, got 'word'; write Stream(['word'], ...)",
        ),
        (
            [Stream(WRONG["number"])],
            "component 'c', stream 'default': fields must be a list of names, got 3; write Stream(['field', ...], ...)",
        ),
        ([Stream(["a"], "x"), Stream(["b"], "x")], "component 'c', stream 'x': this stream is declared twice; rename one of them"),
        ([Stream(["a"], "__x")], "component 'c', stream '__x': names that begin with '__' are reserved; rename the stream"),
        ([Stream(["a"], "")], "component 'c': a stream's name must be a non-empty string, got ''; name the stream"),
        ([Stream(["a"], WRONG["number"])], "component 'c': a stream's name must be a non-empty string, got 3; name the stream"),
    ],
)
def test_outputs_that_declare_nothing_usable_are_refused(outputs: Any, expected: str) -> None:
    with pytest.raises(TopologyError) as caught:
        declared_streams(outputs, "c")
    assert str(caught.value) == expected


def placed(component: str) -> Count:
    count = Count()
    count.put_in_place(type("Context", (), {"component_id": component})(), {})
    return count


def test_its_logger_has_the_name_of_the_component(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "pasps.component")
    count = placed("counted")
    count.logger.warning("%d words", 3)
    count.log("a message")
    count.log(17, "trace")
    count.log("bad: %d", "ERROR")
    assert caplog.record_tuples == [
        ("pasps.component.counted", logging.WARNING, "3 words"),
        ("pasps.component.counted", logging.INFO, "a message"),
        ("pasps.component.counted", logging.DEBUG, "17"),
        ("pasps.component.counted", logging.ERROR, "bad: %d"),
    ]
    assert Count().logger.name == "pasps.component.Count", "outside of a topology"


def test_a_level_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidError, match=r"Count.log\(\): expected a level out of trace, debug, .*, got 'loud'"):
        placed("counted").log("a message", "loud")


def test_its_logger_moves_with_it_and_may_be_replaced() -> None:
    count = placed("counted")
    logger = count.logger
    del count.ctx
    assert pickle.loads(pickle.dumps(count)).logger is logger
    count.logger = logging.getLogger("mine")
    assert count.logger.name == "mine"
