from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pasps.errors import BrokenError, ProtocolError
from pasps.transport.inproc import InprocLink
from pasps.transport.messages import Mark, Message
from pasps.transport.values import RowWrapper
from tests.unit.transport.contract import CHECKS, MOST_BYTES, ONE, TWO, Heard, Pair


class InprocPair(Pair):
    def __init__(self) -> None:
        self.heard = one, two = Heard(), Heard()
        self.rows = (RowWrapper(), RowWrapper())
        self.link = InprocLink(
            (ONE, TWO),
            (one.on_message, two.on_message),
            (one.on_lost, two.on_lost),
            self.rows,
            False,
            MOST_BYTES,
            (one.on_refused, two.on_refused),
        )
        self.ends = self.link.ends

    async def settle(self) -> None:
        self.link.pump()

    async def settle_end(self) -> None:
        self.link.pump()

    async def cut(self) -> None:
        self.link.drop()


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check: Callable[[Pair], Awaitable[None]]) -> None:
    async def main() -> None:
        await check(InprocPair())

    asyncio.run(main())


def test_nothing_moves_without_pump() -> None:
    pair = InprocPair()
    for version in range(3):
        pair.ends[0].send(Mark(version))
    assert pair.heard[1].messages == []
    assert pair.link.pump(2) == 2
    assert pair.heard[1].messages == [Mark(0), Mark(1)]
    assert pair.link.pump() == 1
    assert pair.link.pump() == 0


def test_what_a_callback_answers_is_delivered_too() -> None:
    def answer(_: object, message: Message) -> None:
        assert isinstance(message, Mark)
        link.ends[1].send(Mark(message.version + 1))

    heard = Heard()
    link = InprocLink((ONE, TWO), (heard.on_message, answer), (heard.on_lost, heard.on_lost))
    link.ends[0].send(Mark(1))
    assert link.pump() == 2
    assert heard.messages == [Mark(2)]


def test_a_drop_loses_what_was_not_pumped() -> None:
    pair = InprocPair()
    pair.ends[0].send(Mark(1))
    pair.link.drop("test")
    pair.link.drop("test")
    assert pair.link.pump() == 0
    assert pair.heard[1].messages == []
    assert [len(heard.losses) for heard in pair.heard] == [1, 1]


def test_a_malformed_frame_ends_the_link() -> None:
    pair = InprocPair()
    pair.link.ends[0].outbox.append(bytearray(b"\x00\x00\x00\x01?"))
    pair.link.pump()
    assert [type(error) for heard in pair.heard for error in heard.losses] == [BrokenError, ProtocolError]
