"""How much the member of a Redis group reads ahead."""

from __future__ import annotations

from tests.unit.connectors.redis_stream import Run


def test_no_more_than_a_thousand_wait() -> None:
    run = Run()
    run.stream.add(*range(1, 2001))
    run.read(10)
    assert (len(run.stream.pending), run.reader.backlog()) == (1000, 2000)
    assert len(run.take(600)) == 600
    run.read(10)
    assert (len(run.stream.pending), run.reader.backlog()) == (1600, 1400)


def test_of_large_entries_as_many_are_asked_for_as_fit() -> None:
    run = Run()
    run.stream.add(*range(1, 201))
    for fields in run.stream.entries.values():
        assert fields is not None
        fields["more"] = b"x" * (1 << 20)
    run.read(20)
    assert len(run.stream.pending) == 16
    assert len(run.take(4)) == 4
    run.read(2)
    assert len(run.stream.pending) == 20
    assert run.take(4, 3 << 20) == [5, 6, 7]
    assert run.take(4, 0) == []
