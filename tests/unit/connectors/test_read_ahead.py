"""A spout that reads ahead, over a reader without a thread, on a clock that stands still."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from threading import Event as Flag
from typing import Any

import pytest

from pasps import Topology
from pasps.connectors.read_ahead import Event, ReadAheadSpout, Reader, written
from pasps.testing import FakeClock, StepRun
from tests.unit.connectors.list_reader import ListReader
from tests.unit.connectors.read_ahead_runs import Judge, Reads, as_it_was, emitted, errors, executors, started


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    with as_it_was():
        yield


def test_each_event_is_emitted_in_order_and_done_when_it_is_acked() -> None:
    run, reader = started()
    with run:
        reader.put(1, 2, 3)
        run.advance(0.1)
        assert (emitted(run), reader.finished, reader.started) == ([1, 2, 3], [1, 2, 3], True)


def test_what_fails_is_emitted_again_at_once_and_then_after_pauses() -> None:
    Judge.fails = frozenset([2])
    run, reader = started()
    with run:
        reader.put(1, 2, 3)
        run.advance(0.05)
        assert emitted(run) == [1, 2, 3, 2]
        run.advance(0.2)
        assert emitted(run) == [1, 2, 3, 2, 2]
        Judge.fails = frozenset()
        run.advance(10.0)
        assert sorted(reader.finished) == [1, 2, 3]
        assert executors(run)[0].meter.replayed == len(emitted(run)) - 3


def test_what_is_emitted_again_is_the_same_row() -> None:
    Judge.fails = frozenset([2])
    run, reader = started()
    with run:
        reader.put(2)
        run.advance(0.05)
        Reads.bad = frozenset([2])
        run.advance(0.2)
        assert emitted(run) == [2, 2, 2], "values is not asked a second time"


def test_what_failed_too_often_is_put_aside_and_reported() -> None:
    Judge.fails, Reads.most_tries, Reads.most_pending = frozenset([2]), 3, 1
    run, reader = started()
    with run:
        reader.put(2, 4)
        run.advance(1.0)
        assert emitted(run) == [2, 2, 2, 4]
        assert reader.aside == [(2, "failed 3 times")]
        assert errors(run) == ["2 failed 3 times: it goes nowhere"]
        assert reader.finished == [4]


def test_values_that_raise_are_a_failure_of_that_event_alone() -> None:
    Reads.bad, Reads.most_tries = frozenset([2]), 2
    run, reader = started()
    with run:
        reader.put(1, 2, 3)
        run.advance(1.0)
        assert emitted(run) == [1, 3]
        assert reader.aside == [(2, "failed 2 times")]
        assert "LookupError: 2 is bad" in errors(run)[0]


def test_what_cannot_be_read_is_put_aside_at_once() -> None:
    run, reader = started()
    with run:
        reader.put(1, 404, 3)
        run.advance(1.0)
        assert (emitted(run), reader.aside) == ([1, 3], [(404, "cannot be read: no number")])
        assert errors(run) == ["404 cannot be read: no number: it goes nowhere"]


def test_what_came_in_parts_only_is_put_aside_and_values_not_asked() -> None:
    Reads.bad = frozenset([2])
    run, reader = started()
    with run:
        reader.put(1)
        reader.waiting.append(Event(None, 2, None, 1, "its headers: no text"))
        run.advance(1.0)
        assert (emitted(run), reader.aside) == ([1], [(2, "cannot be read: its headers: no text")])


def test_a_row_that_does_not_fit_is_a_failure_of_that_event_alone() -> None:
    class Wide(Reads):
        def values(self, record: Any) -> Sequence[Any] | None:
            return [record, record] if record == 2 else [record]

    class Wrong(Topology):
        reads = Wide.spec()
        judge = Judge.spec(inputs=[reads])

    Reads.most_tries = 1
    with StepRun(Wrong, 1) as run:
        reader = executors(run)[0].instance.reader
        reader.put(1, 2, 3)
        run.advance(0.5)
        assert (emitted(run), reader.aside) == ([1, 3], [(2, "failed")])


def test_a_record_without_a_tuple_is_done() -> None:
    run, reader = started()
    with run:
        reader.put(1, -1, 3)
        run.advance(0.5)
        assert (emitted(run), sorted(reader.finished)) == ([1, 3], [-1, 1, 3])


def test_what_somebody_else_has_now_is_forgotten() -> None:
    Judge.fails, Reads.most_pending = frozenset([1, 2]), 2
    run, reader = started()
    with run:
        reader.put(1, 2, 3, 4)
        run.advance(0.05)
        reader.lost = {1, 2, 4}
        run.advance(10.0)
        assert set(emitted(run)) == {1, 2, 3}
        assert reader.finished == [3]
        reader.put(5, 6)
        run.advance(1.0)
        assert reader.finished == [3, 5, 6], "there is room again"


def test_the_latency_counts_from_when_the_event_came() -> None:
    run, reader = started()
    with run:
        reader.put(7)
        assert executors(run)[0].instance.due_at(reader.waiting[0]) == 1_000_007.0


def test_what_the_thread_tells_is_reported() -> None:
    run, reader = started()
    with run:
        reader.tell("the server is away")
        run.advance(0.1)
        assert errors(run) == ["the server is away"]


def test_the_reader_is_closed_with_the_spout() -> None:
    run, reader = started()
    with run:
        executors(run)[0].instance.close()
        assert reader.closed


def test_what_could_not_be_told_the_server_at_the_end_is_reported() -> None:
    run, reader = started()
    reader.closes = lambda seconds: reader.tell("17 is not committed")
    with run:
        executors(run)[0].instance.close()
        assert errors(run) == ["17 is not committed"]


def test_spouts_of_a_worker_that_close_one_after_the_other_share_the_time_for_it() -> None:
    run, reader = started()
    given: list[float] = []

    def stuck(seconds: float) -> None:
        given.append(seconds)
        clock.advance(seconds)

    reader.closes = stuck
    with run:
        clock = Reads.clock = FakeClock()
        clock.advance(1000.0)
        spout = executors(run)[0].instance
        for _ in range(3):
            spout.close()
        assert given == pytest.approx([3.5, 0.1, 0.1])
        clock.advance(5.0)
        spout.close()
        assert given[3:] == pytest.approx([3.5]), "that is another time"


def test_a_reason_is_written_so_that_every_server_takes_it() -> None:
    assert written("no item 'caf\xe9'") == "no item 'caf\xe9'".encode()
    assert written("half \ud83d of a smile") == b"half \\ud83d of a smile"
    assert len(written("x" * 3_000_000)) == 1000


def test_no_instance_waits_to_see_a_dead_one_s_last_event_again() -> None:
    with pytest.raises(TypeError, match="known to its own process"):
        pickle.dumps(Event(None, 1, None, 1))


def test_a_spout_without_values_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r"ReadAheadSpout must define values\(record\)"):
        ReadAheadSpout().values(1)


class Stumbles(ListReader):
    """Its second step raises, when it is over already."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.ended = Flag()

    def step(self) -> None:
        self.steps += 1
        if self.steps == 2:
            self.over.set()
            raise OSError("the disk is full")

    def end(self) -> None:
        self.ended.set()
        raise OSError("the line is dead")


def test_the_thread_reports_what_a_step_raises_and_ends_when_it_is_told(caplog: pytest.LogCaptureFixture) -> None:
    reader = Stumbles()
    Reader.start(reader)
    assert reader.ended.wait(10)
    Reader.close(reader)
    assert reader.steps == 2
    (problem,) = reader.news()
    assert "OSError: the disk is full" in problem
    assert "list did not end in good order" in caplog.text
