"""What a worker says reaches its controller whole, whoever says it, and nothing that it says can raise."""

from __future__ import annotations

import asyncio
import select
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import msgspec

from pasps.testing import FakeClock
from pasps.transport.frames import FrameReader
from pasps.worker.link import MOST_CONTROL_BYTES, SILENCE_SECONDS, ControllerLink, encode_frame
from pasps.worker.messages import Awake, Beat, FromWorker, Linked, LogText, Problem, ToWorker


class Controller:
    """The other end: reads whole messages."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self._reader = FrameReader(MOST_CONTROL_BYTES)
        self._decode: Any = msgspec.msgpack.Decoder(FromWorker).decode

    async def heard(self, count: int) -> list[FromWorker]:
        found: list[FromWorker] = []
        self.control.setblocking(False)
        while len(found) < count:
            data = await asyncio.get_running_loop().sock_recv(self.control, 1 << 16)
            found += [self._decode(payload) for payload in self._reader.feed(data)]
        return found


@asynccontextmanager
async def linked(deliver: Any = lambda message: None) -> AsyncIterator[tuple[ControllerLink, Controller]]:
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        link = ControllerLink(ours, deliver)
        link.start()
        yield link, Controller(theirs)
        asyncio.get_running_loop().remove_reader(ours)  # the end of a connection is the end of the process, here too


def test_no_frame_is_torn_when_two_threads_speak_and_the_controller_reads_slowly() -> None:
    async def main() -> None:
        async with linked() as (link, controller):

            def speak(who: int) -> None:
                for number in range(40):
                    link.send(LogText(who, str(number) * 50_000, number))

            threads = [threading.Thread(target=speak, args=(who,)) for who in (1, 2)]
            for thread in threads:
                thread.start()
            speak(0)
            for thread in threads:
                thread.join()
            said = await controller.heard(120)
            for who in (0, 1, 2):
                own = [m for m in said if isinstance(m, LogText) and m.number == who]
                assert [(m.offset, m.text) for m in own] == [(n, str(n) * 50_000) for n in range(40)]

    asyncio.run(main())


def test_beats_are_answered_and_the_rest_is_delivered() -> None:
    async def main() -> None:
        delivered: list[ToWorker] = []
        async with linked(delivered.append) as (link, controller):
            controller.control.sendall(encode_frame(Beat()) + encode_frame(Awake(True)) + encode_frame(Beat()))
            assert await controller.heard(2) == [Beat(), Beat()]
            assert delivered == [Awake(True)]
            link.send(Linked())
            assert await controller.heard(1) == [Linked()]

    asyncio.run(main())


def test_a_loop_that_never_rests_answers_when_it_passes_by() -> None:
    async def main() -> None:
        loop, passes = asyncio.get_running_loop(), 0

        def run() -> None:
            nonlocal passes
            passes += 1
            loop.call_soon(run)

        async with linked() as (_, controller):
            run()
            for _ in range(3):
                controller.control.sendall(encode_frame(Beat()))
                assert await controller.heard(1) == [Beat()]
        assert passes > 3

    asyncio.run(main())


def test_what_cannot_be_written_is_told_in_its_place_and_only_once() -> None:
    async def main() -> None:
        async with linked() as (link, controller):
            for _ in range(3):
                link.send(Problem("bolt", 3, "\udc80"))
            link.send(Linked(object()))  # type: ignore[arg-type]
            link.send(Linked())
            first, second, last = await controller.heard(3)
            assert isinstance(first, Problem)
            assert "its Problem cannot be written: " in first.text
            assert isinstance(second, Problem)
            assert "its Linked cannot be written: Encoding objects of type object is unsupported" in second.text
            assert (first.component, second.component) == ("", "")
            assert last == Linked()

    asyncio.run(main())


def test_what_a_far_controller_said_counts_even_if_the_loop_has_not_read_it() -> None:
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as door,
        closing(socket.create_connection(door.getsockname())) as worker,
        closing(door.accept()[0]) as controller,
    ):
        clock = FakeClock()
        link = ControllerLink(worker, lambda message: None, clock)  # its loop does not run
        for _ in range(5):
            controller.sendall(encode_frame(Beat()))
            clock.advance(SILENCE_SECONDS - 1)
            assert not link.is_silent()
        clock.advance(SILENCE_SECONDS + 1)
        assert link.is_silent()


def test_a_far_controller_is_not_silent_whose_words_find_no_room_any_more() -> None:
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as door,
        closing(socket.create_connection(door.getsockname())) as worker,
        closing(door.accept()[0]) as controller,
    ):
        clock = FakeClock()
        link = ControllerLink(worker, lambda message: None, clock)
        controller.sendall(encode_frame(Beat()) * 2000)
        select.select([worker], [], [], 5)
        for _ in range(5):
            clock.advance(SILENCE_SECONDS + 1)
            assert not link.is_silent()


def test_a_near_controller_may_be_stopped() -> None:
    ours, theirs = socket.socketpair()
    clock = FakeClock()
    link = ControllerLink(ours, lambda message: None, clock)
    clock.advance(10 * SILENCE_SECONDS)
    assert not link.is_silent()
    ours.close()
    theirs.close()
