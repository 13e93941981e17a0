"""`complete_topology`: what it returns, what it refuses, and faults as data on 1, 2 and 3 workers."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from pasps import Bolt, EndOfInput, Grouping, Spout, Stream, Topology, TopologyBuilder, Tuple, bolt
from pasps.errors import DrainTimeoutError, InvalidError
from pasps.testing import ABORT, EOF, PAUSE, OnStream, complete_topology


class Words(Spout):
    outputs = [Stream(["word"]), Stream(["word", "why"], "odd")]

    def next_tuple(self) -> float | None:
        raise EndOfInput


class CountWords(Bolt):
    outputs = ["word", "count"]

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.counts: Counter[str] = Counter()

    def process(self, tup: Tuple) -> None:
        word = tup["word"]
        self.counts[word] += 1
        self.emit([word, self.counts[word]])


class WordCount(Topology):
    words = Words.spec()
    count = CountWords.spec(inputs={words: Grouping.fields("word")}, par=2, pool=4)


in_any_number_of_workers = pytest.mark.parametrize("workers", [1, 2, 3])


@in_any_number_of_workers
def test_lists_go_in_and_what_everybody_emitted_comes_out(workers: int) -> None:
    result = complete_topology(WordCount, {"words": [["a"], ["b"], ["a"]]}, workers=workers)
    assert result.emitted["words"] == {"default": [("a",), ("b",), ("a",)]}
    assert sorted(result.rows("count")) == [("a", 1), ("a", 2), ("b", 1)]
    assert sorted(result.acked["words"]) == [0, 1, 2]
    assert result.failed == {"words": []}
    assert result.errors == []
    assert result.counts["count"].executed == 3
    assert result.rows("count", "no such stream") == []


def test_the_same_run_gives_the_same_result() -> None:
    given = {"words": [[f"w{i % 7}"] for i in range(50)]}
    first, second = (complete_topology(WordCount, given, workers=3) for _ in range(2))
    assert first == second


def test_untracked_spouts_hear_nothing() -> None:
    result = complete_topology(WordCount, {"words": [["a"]]}, tracked=False)
    assert result.acked == {"words": []}
    assert result.rows("count") == [("a", 1)]


@in_any_number_of_workers
def test_after_an_abort_what_was_not_acked_is_emitted_again(workers: int) -> None:
    result = complete_topology(WordCount, {"words": [["a"], ["b"], ABORT, ["c"]]}, workers=workers)
    assert {word for word, _ in result.rows("count")} == {"a", "b", "c"}
    assert set(result.acked["words"]) == {0, 1, 2}


def test_after_a_pause_everything_is_acked_and_only_memory_is_lost() -> None:
    result = complete_topology(WordCount, {"words": [["a"], ["a"], PAUSE(1), ABORT, ["a"]]})
    assert result.rows("count") == [("a", 1), ("a", 2), ("a", 1)]
    assert result.acked["words"] == [0, 1, 2]
    assert result.counts["words"].replayed == 0


def test_several_aborts_in_a_row() -> None:
    result = complete_topology(WordCount, {"words": [["a"], ABORT, ABORT, ["b"], PAUSE(2), ABORT]}, workers=2)
    assert set(result.acked["words"]) == {0, 1}


def test_end_of_file_ends_the_list_until_the_worker_dies() -> None:
    result = complete_topology(WordCount, {"words": [["a"], EOF, ["b"]]})
    assert result.emitted["words"]["default"] == [("a",)]


def test_a_pause_lets_time_pass_and_nothing_sleeps() -> None:
    result = complete_topology(WordCount, {"words": [["a"], PAUSE(500), ["b"]]})
    assert result.seconds == pytest.approx(500, abs=0.1)


def test_rows_for_other_streams() -> None:
    class Odd(Topology):
        words = Words.spec()
        count = CountWords.spec(inputs={words["odd"]: Grouping.fields("word")})

    result = complete_topology(Odd, {"words": [OnStream("odd", ["x", "because"]), ["plain"]]})
    assert result.rows("count") == [("x", 1)]
    assert result.rows("words", "odd") == [("x", "because")]
    assert sorted(result.acked["words"]) == [0, 1]


def test_a_component_that_is_none_has_no_rows() -> None:
    result = complete_topology(WordCount, {"words": []})
    assert result.rows("count") == []
    with pytest.raises(InvalidError, match="there is no component 'cuont' in this topology; it has count, words"):
        result.rows("cuont")


def test_rows_are_dealt_to_the_tasks_of_a_spout() -> None:
    builder = TopologyBuilder()
    builder.set_spout("words", Words, 3)
    builder.set_bolt("count", CountWords).global_grouping("words")
    result = complete_topology(builder.create_topology("dealt"), {"words": [["a"], ["b"], ["c"], ["d"], PAUSE(1), ["e"]]}, workers=2)
    assert sorted(word for word, _ in result.rows("count")) == ["a", "b", "c", "d", "e"]
    assert sorted(result.acked["words"]) == [0, 1, 2, 3, 4]


class Ten(Spout):
    """A user's own finite spout, run as it is."""

    outputs = ["word"]

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.number = 0
        self.told: list[Any] = []

    def next_tuple(self) -> float | None:
        if self.number == 10:
            raise EndOfInput
        self.emit([f"w{self.number}"], tup_id=f"id{self.number}")
        self.number += 1
        return 0.5

    def ack(self, tup_id: Any) -> None:
        self.told.append(tup_id)


def test_spouts_that_are_not_named_run_as_they_are() -> None:
    class Own(Topology):
        ten = Ten.spec()
        words = Words.spec()
        count = CountWords.spec(inputs={ten: Grouping.SHUFFLE, words: Grouping.SHUFFLE})

    result = complete_topology(Own, {"words": [["x"]]})
    assert result.acked["ten"] == [f"id{i}" for i in range(10)]
    assert result.acked["words"] == [0]
    assert result.seconds == pytest.approx(5, abs=0.6)


class Endless(Spout):
    outputs = ["word"]

    def next_tuple(self) -> float | None:
        self.emit(["again"])
        return 1.0


def test_a_topology_that_does_not_end_fails_and_says_what_is_left() -> None:
    class Never(Topology):
        endless = Endless.spec()
        count = CountWords.spec(inputs=[endless])

    with pytest.raises(DrainTimeoutError, match="endless: 1"):
        complete_topology(Never, most_seconds=20)


@dataclass
class Point:
    x: int
    y: int


@bolt(outputs=["value"])
def make(word: str) -> tuple[object]:
    made: dict[str, object] = {"point": Point(1, 2), "set": {1}, "loop": asyncio.Event, "socket": object(), "tuple": (1, [2])}
    return (made[word],)


@bolt(outputs=["same"])
def sort_of(value: object) -> tuple[str]:
    return (repr(value),)


class Made(Topology):
    words = Words.spec()
    make_ = make.spec(inputs=[words])
    sort_of_ = sort_of.spec(inputs={"make_": Grouping.SHUFFLE})


@in_any_number_of_workers
def test_values_that_can_travel_arrive_equal(workers: int) -> None:
    result = complete_topology(Made, {"words": [["point"], ["set"], ["tuple"]]}, workers=workers)
    assert sorted(result.rows("sort_of_")) == [("(1, [2])",), ("Point(x=1, y=2)",), ("{1}",)]


def test_a_value_that_cannot_travel_fails_even_on_one_worker() -> None:
    result = complete_topology(Made, {"words": [["point"], ["socket"], ["set"]]})
    assert result.failed["words"] == [1]
    assert sorted(result.acked["words"]) == [0, 2]
    assert "component 'make_'" in result.errors[0].text
    assert "'value'" in result.errors[0].text
    assert complete_topology(Made, {"words": [["socket"]]}, check_wire=False).failed["words"] == []


def test_failing_rows_are_emitted_again_as_often_as_is_asked() -> None:
    result = complete_topology(Made, {"words": [["no such word"]]}, replays=2)
    assert result.failed["words"] == [0, 0, 0]
    assert result.counts["words"].replayed == 2


@pytest.mark.parametrize(
    ("inputs", "match"),
    [
        ({"word": []}, "did you mean 'words'"),
        ({"count": []}, "'count', which is no spout"),
        ({"words": [["a", "b"]]}, r"expected 1 values \(word\)"),
        ({"words": ["a"]}, "expected rows"),
        ({"words": [OnStream("other", [1])]}, "stream 'other'"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs: Any, match: str) -> None:
    with pytest.raises(InvalidError, match=match):
        complete_topology(WordCount, inputs)


def test_configuration_lies_over_the_topology_s_own() -> None:
    class Conf(Bolt):
        outputs = ["value"]

        def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
            self.value = conf["mine"]

        def process(self, tup: Tuple) -> None:
            self.emit([self.value])

    class Configured(Topology):
        config = {"mine": 1}
        words = Words.spec()
        conf = Conf.spec(inputs=[words])

    assert complete_topology(Configured, {"words": [["a"]]}, config={"mine": 2}).rows("conf") == [(2,)]
