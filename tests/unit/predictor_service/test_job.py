"""Messages between the server and its processes, in whatever pieces they arrive."""

from __future__ import annotations

import asyncio
import pickle
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from predictor_service.errors import FitProcessLostError, ModelError
from predictor_service.fit_loop import answered
from predictor_service.fit_process import FitProcess
from predictor_service.forecast import Forecast
from predictor_service.job import Job, packed, received, wait_received

JOB = Job("lr", [1.0, 2.0, 3.0], 2, 1.0, 15.0)


@contextmanager
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_pieces_make_a_message(size: int) -> None:
    async def scene() -> None:
        stream, wire = asyncio.StreamReader(), packed(JOB)
        for _ in range(2):
            message = asyncio.ensure_future(received(stream))
            for start in range(0, len(wire), size):
                await settled()
                assert not message.done()
                stream.feed_data(wire[start : start + size])
            assert await message == JOB

    asyncio.run(scene())


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_pieces_make_a_message_for_who_blocks(size: int) -> None:
    with pair() as (ours, theirs), theirs.makefile("rb") as stream:
        wire = packed(JOB) * 2

        def send() -> None:
            for start in range(0, len(wire), size):
                ours.sendall(wire[start : start + size])
            ours.close()

        sender = Thread(target=send)
        sender.start()
        assert [wait_received(stream) for _ in range(3)] == [JOB, JOB, None]
        sender.join()


@pytest.mark.parametrize("sent", [0, 2, 4, len(packed(JOB)) - 1])
def test_a_socket_closed_in_the_middle_is_no_message(sent: int) -> None:
    with pair() as (ours, theirs), theirs.makefile("rb") as stream:
        ours.sendall(packed(JOB)[:sent])
        ours.close()
        assert wait_received(stream) is None


@pytest.mark.parametrize("sent", [0, 2, 4, len(packed(JOB)) - 1])
def test_a_process_that_ends_in_the_middle_of_its_answer_is_lost(sent: int) -> None:
    ended: list[FitProcess] = []

    async def scene() -> None:
        process = FitProcess(ended.append)
        ready = asyncio.ensure_future(process.wait_ready())
        process.data_received(packed(JOB)[:sent])
        await settled()
        assert not ready.done()
        process.connection_lost(None)
        with pytest.raises(FitProcessLostError, match="process 0 ended"):
            await ready
        with pytest.raises(FitProcessLostError, match="process 0 has ended"):
            await process.fit(JOB)
        assert ended == [process]

    asyncio.run(scene())


def test_a_job_is_answered_with_its_forecast() -> None:
    answer = answered(JOB)
    assert isinstance(answer, Forecast)
    assert answer.predictions == [4.0, 5.0]


def test_an_error_travels_with_its_words() -> None:
    assert pickle.loads(pickle.dumps(ModelError("no use"))).detail == "no use"
