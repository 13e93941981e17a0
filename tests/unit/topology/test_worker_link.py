"""What a worker answers reaches whoever asked."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable

import msgspec
import pytest

from pasps.activation import ActivationTable
from pasps.clock import SystemClock
from pasps.errors import BrokenError
from pasps.topology.worker_link import BUSY_SECONDS, MOST_MISSED_AT_START, MOST_MISSED_BEATS, WorkerLink, ended_text
from pasps.transport.frames import FrameReader
from pasps.worker.link import MOST_CONTROL_BYTES, encode_frame
from pasps.worker.messages import Address, Applied, Beat, Counts, Dial, FromWorker, Hello, Launch, Linked, Problem, Stuck, ToWorker


class Handle:
    pid = 1
    where = ("here",)
    cores = 2
    computed: float | None = None
    killings: int | None = None

    def __init__(self, control: socket.socket, status: int | None = 0) -> None:
        self.control = control
        self.status = status

    def kill(self) -> None:
        pass

    def reap(self) -> int | None:
        return self.status

    def cpu_seconds(self) -> float | None:
        return self.computed

    def oom_kills(self) -> int | None:
        return self.killings


class WorkerEnd:
    """The launcher, and the worker's end of the connection that it makes."""

    def __init__(self) -> None:
        self._controller, worker = socket.socketpair()
        worker.setblocking(False)
        self._socket = worker
        self._reader = FrameReader(MOST_CONTROL_BYTES)
        self._decode = msgspec.msgpack.Decoder(ToWorker).decode

    sys_path: list[str] = []
    bind = "127.0.0.1"

    async def launch(self, worker: str) -> Handle:
        self.handle = Handle(self._controller)
        return self.handle

    async def heard(self) -> list[ToWorker]:
        data = await asyncio.get_running_loop().sock_recv(self._socket, 1 << 16)
        return [self._decode(payload) for payload in self._reader.feed(data)]

    async def say(self, message: FromWorker) -> None:
        await self.write(encode_frame(message))

    async def write(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    def end(self) -> None:
        self._socket.close()


async def link_to(end: WorkerEnd, on_message: Callable[[FromWorker], None] = lambda message: None) -> WorkerLink:
    return await WorkerLink.launch(end, "w2", 1, SystemClock(), on_message, lambda: None)


async def ready(end: WorkerEnd, link: WorkerLink) -> None:
    await end.say(Hello("127.0.0.1", 1))
    await link.introduce(Launch("w2", 1, 1, b"", ActivationTable(0, {}, {}), {}, b"", [], "127.0.0.1", None), 10)


async def come(said: list[FromWorker], count: int) -> None:
    async with asyncio.timeout(10):
        while len(said) < count:  # noqa: ASYNC110 - the link tells nobody
            await asyncio.sleep(0)


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


def test_whatever_comes_from_a_worker_is_a_sign_of_life() -> None:
    async def main() -> None:
        said: list[FromWorker] = []
        end = WorkerEnd()
        link = await link_to(end, said.append)
        await ready(end, link)
        for count in range(1, 4):
            assert all(link.beat() for _ in range(MOST_MISSED_BEATS))
            await end.say(Applied(count))
            await come(said, count)
        assert all(link.beat() for _ in range(MOST_MISSED_BEATS))
        assert not link.beat()
        await link.end(0.0)
        end.end()

    asyncio.run(main())


def test_a_silent_worker_that_computes_is_busy_for_a_while_and_one_that_does_not_is_gone() -> None:
    async def main() -> None:
        end = WorkerEnd()
        link = await link_to(end)
        await ready(end, link)
        handle, answers = end.handle, []
        while not answers or answers[-1]:
            handle.computed = (handle.computed or 0.0) + 0.9
            answers.append(link.beat())
        assert len(answers) == BUSY_SECONDS + 1
        stuck = link.stuck
        assert stuck is not None
        assert stuck.seconds > MOST_MISSED_BEATS
        assert "did not answer for 60 s, though it computed" in await link.cause()
        await link.end(0.0)
        end.end()

        end = WorkerEnd()
        link = await link_to(end)
        await ready(end, link)
        end.handle.computed = 17.0  # stopped: it stays as it is
        assert all(link.beat() for _ in range(MOST_MISSED_BEATS))
        assert not link.beat()
        await link.end(0.0)
        end.end()

    asyncio.run(main())


def test_what_a_worker_does_not_come_back_from_is_known_until_it_is_back() -> None:
    async def main() -> None:
        said: list[FromWorker] = []
        end = WorkerEnd()
        link = await link_to(end, said.append)
        await ready(end, link)
        stuck = Stuck("count", 3, 7.5, "count.py:9 in process")
        await end.write(encode_frame(Applied(0)) + encode_frame(Beat(stuck)))
        await come(said, 1)
        assert link.stuck == stuck
        await end.say(Applied(1))
        await come(said, 2)
        assert link.stuck is None
        await link.end(0.0)
        end.end()

    asyncio.run(main())


def test_a_message_that_cannot_be_read_is_told_as_the_workers_fault_and_it_lives_on() -> None:
    async def main() -> None:
        said: list[FromWorker] = []
        end = WorkerEnd()
        link = await link_to(end, said.append)
        for _ in range(3):
            await end.say(Counts("one", None))  # type: ignore[arg-type]
        await end.say(Applied(3))
        await come(said, 2)
        assert isinstance(said[0], Problem)
        assert "a message of it cannot be read and was left out: Expected `int`, got `str` - at `$.k`" in said[0].text
        assert said[1:] == [Applied(3)], "said once"
        await link.end(0.0)
        end.end()

    asyncio.run(main())


def test_what_is_no_frame_ends_it_and_is_told() -> None:
    async def main() -> None:
        said: list[FromWorker] = []
        end = WorkerEnd()
        link = await link_to(end, said.append)
        await end.write(b"\xff" * 64)
        await come(said, 1)
        assert isinstance(said[0], Problem)
        assert "it sent what no worker sends, and was ended: frame of " in said[0].text
        end.handle.status = 3
        assert "the last that it told: it sent what no worker sends" in await link.cause()
        await link.end(0.0)
        end.end()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "text", "by_itself"),
    [
        (7, "its process ended with status 7, as by os._exit in user code", True),
        (4, "its process ended with status 4: something of its own failed", True),
        (-signal.SIGSEGV, "its process was ended by SIGSEGV", True),
        (-signal.SIGKILL, "by somebody, or by the system for want of memory", False),
    ],
)
def test_how_a_process_ended_is_said(status: int, text: str, by_itself: bool) -> None:
    assert text in ended_text(status)

    async def main() -> None:
        end = WorkerEnd()
        link = await link_to(end)
        end.handle.status = status
        end.end()
        assert text in await link.cause()
        assert await link.by_itself() is by_itself
        await link.end(0.0)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "beats", "after", "at_work"),
    [
        (-signal.SIGKILL, 0, 4, True),
        (-signal.SIGKILL, 1, 4, True),  # asked once more while its memory was still being given back
        (-signal.SIGKILL, 0, 3, False),
        (-signal.SIGKILL, 2, 4, False),  # another process had been chosen, a while before
        (-signal.SIGKILL, 0, None, False),
        (-signal.SIGTERM, 0, 4, False),
    ],
)
def test_one_that_the_kernel_has_ended_for_want_of_memory_died_of_its_own_accord(
    status: int, beats: int, after: int | None, at_work: bool
) -> None:
    async def main() -> None:
        end = WorkerEnd()
        link = await link_to(end)
        await ready(end, link)
        end.handle.killings = 3
        assert link.beat()
        assert link.beat()
        end.handle.killings, end.handle.status = after, status
        for _ in range(beats):
            link.beat()
        link.lost()
        assert ("the kernel's out-of-memory killer was at work" in await link.cause()) is at_work
        assert await link.by_itself() is (at_work or status == -signal.SIGTERM)
        await link.end(0.0)
        end.end()

    asyncio.run(main())


def test_its_life_begins_when_it_is_ready() -> None:
    async def main() -> None:
        end = WorkerEnd()
        link = await link_to(end)
        assert link.age() == 0.0
        await ready(end, link)
        assert link.age() > 0.0
        await link.end(0.0)
        end.end()

    asyncio.run(main())
