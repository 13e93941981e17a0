"""streamparse's ReliableSpout: what fails comes again, so many times."""

from __future__ import annotations

from typing import Any

import pytest

from pasps import Bolt, EndOfInput, ReliableSpout, Stream, Topology, Tuple
from pasps.testing import complete_topology


class Numbers(ReliableSpout):
    outputs = [Stream(["number"]), Stream(["number", "text"], "texts")]
    count = 6

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.left = list(range(self.count))
        self.done: list[int] = []

    def next_tuple(self) -> None:
        if not self.left:
            raise EndOfInput
        number = self.left.pop(0)
        if number % 3:
            self.emit([number], tup_id=number)
        else:
            self.emit_batch([[number, "a"]], [number], "texts")


class Flaky(Bolt):
    """Fails each of the numbers that it is told to so many times."""

    outputs = ["number"]
    times: dict[int, int] = {}

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.left = dict(self.times)

    def process(self, tup: Tuple) -> None:
        number = tup.values.number
        if self.left.get(number, 0):
            self.left[number] -= 1
            raise ValueError(f"not {number} yet")
        self.emit([number])


def run(spout: type[ReliableSpout], times: dict[int, int]) -> Any:
    class Retried(Topology):
        numbers = spout.spec()
        flaky = type("Told", (Flaky,), {"times": times}).spec(inputs=[numbers, numbers["texts"]])

    return complete_topology(Retried)


def test_what_fails_is_emitted_again_until_it_is_done() -> None:
    done = run(Numbers, {1: 2, 3: 3, 5: 1})
    assert sorted(done.rows("flaky")) == [(n,) for n in range(6)]
    assert not [error for error in done.errors if "given up" in error.text]


def test_what_fails_too_often_is_reported_and_given_up() -> None:
    done = run(type("Twice", (Numbers,), {"max_fails": 2}), {1: 3, 3: 2})
    assert sorted(done.rows("flaky")) == [(0,), (2,), (3,), (4,), (5,)]
    given_up = [error for error in done.errors if "given up" in error.text]
    assert [(error.component, error.text) for error in given_up] == [("numbers", "tuple 1 failed 3 times and is given up (max_fails = 2)")]


def test_a_tuple_without_an_id_is_refused() -> None:
    class Forgets(Numbers):
        count = 1

        def next_tuple(self) -> None:
            if self.left.pop() == 0:
                raise EndOfInput
            self.emit([1])

        def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
            self.left = [0, 1, 2]

    class Batches(Forgets):
        def next_tuple(self) -> None:
            if self.left.pop() == 0:
                raise EndOfInput
            self.emit_batch([[1]])

    for kind in (Forgets, Batches):
        done = run(kind, {})
        assert done.rows("flaky") == []
        expected = "EmitError: component 'numbers', stream 'default': a ReliableSpout needs tup_id= for every tuple"
        assert expected in done.errors[0].text


def test_ack_and_fail_may_be_extended_and_what_is_done_is_forgotten() -> None:
    seen: list[Any] = []

    class Noting(Numbers):
        def ack(self, tup_id: Any) -> None:
            super().ack(tup_id)
            seen.append(("ack", tup_id, dict(self.unacked_tuples), dict(self.failed_tuples)))

        def fail(self, tup_id: Any) -> None:
            seen.append(("fail", tup_id))
            super().fail(tup_id)

    run(Noting, {4: 1})
    assert [entry for entry in seen if entry[0] == "fail"] == [("fail", 4)]
    assert sorted(entry[1] for entry in seen if entry[0] == "ack") == list(range(6))
    assert seen[-1][2:] == ({}, {})


@pytest.mark.parametrize("of", [1, "unknown"])
def test_a_verdict_on_what_it_does_not_know_changes_nothing(of: Any) -> None:
    spout = Numbers()
    context: Any = None
    spout.put_in_place(context, dict.fromkeys(("emit", "emit_batch", "save_position"), lambda *given: None))
    spout.fail(of)
    spout.ack(of)
    assert (spout.unacked_tuples, dict(spout.failed_tuples)) == ({}, {})
