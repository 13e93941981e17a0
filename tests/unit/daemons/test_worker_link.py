"""What a worker answers reaches whoever asked."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import msgspec
import pytest

from pasps.activation import ActivationTable
from pasps.clock import SystemClock
from pasps.daemons.control_thread import MOST_CONTROL_BYTES, encode_frame
from pasps.daemons.messages import Address, Dial, FromWorker, Hello, Launch, Linked, ToWorker
from pasps.daemons.worker_link import MOST_MISSED_AT_START, MOST_MISSED_BEATS, WorkerLink
from pasps.errors import BrokenError
from pasps.transport.frames import FrameReader


class Handle:
    pid = 1
    where = ("here",)
    cores = 2

    def __init__(self, control: socket.socket) -> None:
        self.control = control

    def kill(self) -> None:
        pass

    def reap(self) -> int | None:
        return 0


class WorkerEnd:
    """The launcher, and the worker's end of the connection that it makes."""

    def __init__(self) -> None:
        self._master, worker = socket.socketpair()
        worker.setblocking(False)
        self._socket = worker
        self._reader = FrameReader(MOST_CONTROL_BYTES)
        self._decode = msgspec.msgpack.Decoder(ToWorker).decode

    sys_path: list[str] = []
    bind = "127.0.0.1"

    async def launch(self, worker: str) -> Handle:
        return Handle(self._master)

    async def heard(self) -> list[ToWorker]:
        data = await asyncio.get_running_loop().sock_recv(self._socket, 1 << 16)
        return [self._decode(payload) for payload in self._reader.feed(data)]

    async def say(self, message: FromWorker) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, encode_frame(message))

    def end(self) -> None:
        self._socket.close()


async def link_to(end: WorkerEnd) -> WorkerLink:
    return await WorkerLink.launch(end, "w2", 1, SystemClock(), lambda message: None, lambda: None)


def dial_of(*workers: str) -> Dial:
    return Dial({worker: Address("127.0.0.1", 1, 1) for worker in workers})


def test_two_who_dial_at_once_get_an_answer_each() -> None:
    async def main() -> None:
        end = WorkerEnd()
        link = await link_to(end)
        first = asyncio.create_task(link.dial(dial_of("w0"), 10))
        second = asyncio.create_task(link.dial(dial_of("w1"), 10))
        assert await end.heard() == [dial_of("w0")]
        await end.say(Linked("worker w0: nobody answers"))
        with pytest.raises(BrokenError, match="w2: worker w0: nobody answers"):
            await first
        assert await end.heard() == [dial_of("w1")]
        await end.say(Linked())
        await second
        await link.end(0.0)
        end.end()

    asyncio.run(main())


def test_the_end_of_a_worker_answers_all_who_wait() -> None:
    async def main() -> None:
        end = WorkerEnd()
        link = await link_to(end)
        waiting = [asyncio.create_task(link.dial(dial_of(worker), 10)) for worker in ("w0", "w1")]
        await end.heard()
        end.end()
        for task in waiting:
            with contextlib.suppress(BrokenError):
                await task
                raise AssertionError("it was told that it is connected")
        await link.end(0.0)

    asyncio.run(main())


def test_a_worker_that_still_starts_may_be_silent_for_longer() -> None:
    async def main() -> None:
        end = WorkerEnd()
        link = await link_to(end)
        assert all(link.beat() for _ in range(MOST_MISSED_AT_START))
        assert not link.beat()
        # what it left unanswered does not count once it is ready
        await end.say(Hello("127.0.0.1", 1))
        launch = Launch("w2", 1, 1, b"", ActivationTable(0, {}, {}), {}, b"", [], "127.0.0.1", None)
        await link.introduce(launch, 10)
        assert all(link.beat() for _ in range(MOST_MISSED_BEATS))
        assert not link.beat()
        await link.end(0.0)
        end.end()

    asyncio.run(main())
