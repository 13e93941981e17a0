"""What every connection keeps, whatever moves its bytes: one body, run over sockets and in process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import pytest

from pasps.errors import BrokenError, ClosedError, WireError
from pasps.transport.connection import Connection
from pasps.transport.handshake import Identity
from pasps.transport.messages import Bundle, Handover, Mark, Message, WireBatch
from pasps.transport.values import RowWrapper

ONE, TWO = Identity("wc", "one", 1), Identity("wc", "two", 4)
MOST_BYTES = 100_000


@dataclass
class Heard:
    """What the owner of one end was told."""

    messages: list[Message] = field(default_factory=list)
    losses: list[Exception | None] = field(default_factory=list)
    refused: list[WireError] = field(default_factory=list)

    over: list[Connection] = field(default_factory=list)

    def on_message(self, connection: Connection, message: Message) -> None:
        assert connection not in self.over
        self.messages.append(message)

    def on_lost(self, connection: Connection, error: Exception | None) -> None:
        assert connection not in self.over
        self.over.append(connection)
        self.losses.append(error)

    def on_refused(self, _: WireBatch, error: WireError) -> None:
        self.refused.append(error)


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
    with pytest.raises(WireError):
        pair.ends[0].send(Handover(1, 2, 3, b"s" * MOST_BYTES, [], []))
    pair.ends[0].send(Bundle([WireBatch(1, 2, 3, [("x" * MOST_BYTES,), ("small",)])]))
    pair.ends[0].send(Mark(1))
    await pair.settle()
    rows = [row for part in pair.heard[1].messages if isinstance(part, Bundle) for batch in part.batches for row in batch.rows]
    assert rows == [("small",)]
    assert len(pair.heard[0].refused) == 1
    assert pair.heard[1].messages[-1] == Mark(1)


async def check_both_sides_count_the_same(pair: Pair) -> None:
    pair.ends[0].send(Mark(1))
    pair.ends[0].send(Bundle())
    await pair.settle()
    one, two = pair.ends[0].statistics(), pair.ends[1].statistics()
    assert (one.frames_out, one.bytes_out) == (two.frames_in, two.bytes_in)
    assert (one.frames_in, one.bytes_in) == (two.frames_out, two.bytes_out)
    assert one.frames_out >= 2


CHECKS = [value for name, value in sorted(globals().items()) if name.startswith("check_")]
