"""What every connection keeps, whatever moves its bytes: one body, run over sockets and in process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import pytest

from pasps.errors import BrokenError, ClosedError, TooLargeError
from pasps.transport.codec import Refusal
from pasps.transport.connection import Connection
from pasps.transport.handshake import Identity
from pasps.transport.messages import Bundle, Handover, Mark, Message, WireBatch
from pasps.transport.values import RowWrapper
from tests.unit.transport.pickles import apart

ONE, TWO = Identity("wc", "one", 1), Identity("wc", "two", 4)
MOST_BYTES = 100_000


@dataclass
class Heard:
    """What the owner of one end was told."""

    messages: list[Message] = field(default_factory=list)
    losses: list[Exception | None] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)

    over: list[Connection] = field(default_factory=list)

    def on_message(self, connection: Connection, message: Message) -> None:
        assert connection not in self.over
        self.messages.append(message)

    def on_lost(self, connection: Connection, error: Exception | None) -> None:
        assert connection not in self.over
        self.over.append(connection)
        self.losses.append(error)

    def on_refused(self, connection: Connection, refused: Sequence[Refusal]) -> None:
        assert connection not in self.over
        self.refused += refused


class Pair(ABC):
    """Two connected ends with `MOST_BYTES` a frame; `ends[i]` belongs to ONE or TWO, `heard[i]` is what it was told."""

    ends: tuple[Connection, Connection]
    heard: tuple[Heard, Heard]
    rows: tuple[RowWrapper, RowWrapper]

    @abstractmethod
    async def settle(self) -> None:
        """Until all that was sent has arrived."""

    @abstractmethod
    async def settle_end(self) -> None:
        """Until both owners have been told that the connection is over."""

    @abstractmethod
    async def cut(self) -> None:
        """Breaks the connection from outside."""


async def check_messages_arrive_in_order_both_ways(pair: Pair) -> None:
    assert (pair.ends[0].peer, pair.ends[1].peer) == (TWO, ONE)
    for version in range(100):
        pair.ends[0].send(Mark(version))
        pair.ends[1].send(Mark(-version))
    await pair.settle()
    assert pair.heard[1].messages == [Mark(version) for version in range(100)]
    assert pair.heard[0].messages == [Mark(-version) for version in range(100)]


async def check_values_keep_their_type(pair: Pair) -> None:
    rows = [((1, 2), {3}, "x" * 5000)] * 10
    pair.ends[0].send(Bundle([WireBatch(1, 2, 3, pair.rows[0].wire_rows(rows, "c", "s", "abc"), list(range(10)))]))
    await pair.settle()
    (bundle,) = pair.heard[1].messages
    assert isinstance(bundle, Bundle)
    assert bundle.batches[0].rows == rows
    assert bundle.batches[0].roots == list(range(10))


async def check_close_delivers_what_was_sent(pair: Pair) -> None:
    for version in range(50):
        pair.ends[0].send(Handover(version, 1, 2, b"s" * 50_000, [], []))
    pair.ends[0].close("done")
    pair.ends[0].close("again")
    with pytest.raises(ClosedError):
        pair.ends[0].send(Mark(1))
    await pair.settle_end()
    assert len(pair.heard[1].messages) == 50
    assert pair.heard[0].losses == [None]
    (error,) = pair.heard[1].losses
    assert isinstance(error, BrokenError)
    with pytest.raises(BrokenError):
        pair.ends[1].send(Mark(1))


async def check_abort_ends_both(pair: Pair) -> None:
    pair.ends[0].abort("enough")
    pair.ends[0].abort("enough")
    with pytest.raises(ClosedError):
        pair.ends[0].send(Mark(1))
    await pair.settle_end()
    assert pair.heard[0].losses == [None]
    assert len(pair.heard[1].losses) == 1
    assert isinstance(pair.heard[1].losses[0], BrokenError)


async def check_a_cut_is_told_to_both_once(pair: Pair) -> None:
    await pair.cut()
    await pair.settle_end()
    for end, heard in zip(pair.ends, pair.heard, strict=True):
        assert [type(error) for error in heard.losses] == [BrokenError]
        with pytest.raises(BrokenError):
            end.send(Mark(1))
        end.close()


async def check_no_message_after_close(pair: Pair) -> None:
    pair.ends[1].send(Mark(1))
    pair.ends[0].close()
    await pair.settle_end()
    assert pair.heard[0].messages == []
    assert pair.heard[0].losses == [None]


async def check_what_is_too_large_does_not_end_it(pair: Pair) -> None:
    with pytest.raises(TooLargeError, match=r"a pickled task of 1000.. bytes"):
        pair.ends[0].send(Handover(1, 2, 3, b"s" * MOST_BYTES, [], []))
    (refusal,) = pair.ends[0].send(Bundle([WireBatch(1, 2, 3, [("x" * MOST_BYTES,), ("small",)], [7, 8])]))
    assert pair.ends[0].send(Mark(1)) == []
    await pair.settle()
    rows = [row for part in pair.heard[1].messages if isinstance(part, Bundle) for batch in part.batches for row in batch.rows]
    assert rows == [("small",)]
    assert (refusal.batch.edge, refusal.batch.roots) == (1, [7])
    assert isinstance(refusal.error, TooLargeError)
    assert refusal.error.size > refusal.error.limit == MOST_BYTES
    assert pair.heard[1].messages[-1] == Mark(1)


async def check_a_row_that_cannot_be_had_there_is_told_there_alone(pair: Pair) -> None:
    stranger = msgspec.msgpack.Ext(1, apart("instance", "no.such.module:Thing") + b".")
    pair.ends[0].send(Bundle([WireBatch(1, 2, 3, [(stranger,), ("fine",)], [7, 8])]))
    await pair.settle()
    (bundle,) = pair.heard[1].messages
    assert isinstance(bundle, Bundle)
    assert (bundle.batches[0].rows, bundle.batches[0].roots) == ([("fine",)], [8])
    (refusal,) = pair.heard[1].refused
    assert refusal.batch.roots == [7]
    assert "no.such.module" in str(refusal.error)
    assert pair.heard[0].refused == []


async def check_what_is_queued_for_a_task_travels_in_parts(pair: Pair) -> None:
    queue = [WireBatch(1, 2, task, [("x" * 30_000, row) for row in range(5)], list(range(5))) for task in range(3)]
    queue[1].rows[2] = ("x" * MOST_BYTES, 2)
    (refusal,) = pair.ends[0].send(Handover(9, 1, 2, b"state", queue, ["a", "b", "c"]))
    await pair.settle()
    assert (refusal.origin, refusal.batch.roots) == ("b", [2])
    parts = [part for part in pair.heard[1].messages if isinstance(part, Handover)]
    assert [part.more for part in parts] == [True] * (len(parts) - 1) + [False]
    assert parts[-1].state == b"state"
    came = [
        (origin, root) for part in parts for origin, batch in zip(part.origins, part.batches, strict=True) for root in batch.roots or ()
    ]
    assert came == [(origin, row) for origin in "abc" for row in range(5) if (origin, row) != ("b", 2)]


CHECKS = [value for name, value in sorted(globals().items()) if name.startswith("check_")]
