"""Messages between the server and its processes, in whatever pieces they arrive."""

from __future__ import annotations

import pickle
import socket

import pytest

from predictor_service.errors import ModelError
from predictor_service.fit_loop import answered
from predictor_service.forecast import Forecast
from predictor_service.framing import Unpacker, packed, receive
from predictor_service.job import Job

JOB = Job("lr", [1.0, 2.0, 3.0], 2, 1.0, 15.0)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_pieces_make_a_message(size: int) -> None:
    unpacker, wire = Unpacker(), packed(JOB)
    for _ in range(2):
        got = [unpacker.feed(wire[start : start + size]) for start in range(0, len(wire), size)]
        assert got[-1] == JOB
        assert not any(got[:-1])


def test_a_socket_closed_in_the_middle_is_no_message() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(packed(JOB)[:-1])
        ours.close()
        assert receive(theirs) is None


def test_a_job_is_answered_with_its_forecast() -> None:
    answer = answered(JOB)
    assert isinstance(answer, Forecast)
    assert answer.predictions == [4.0, 5.0]


def test_an_error_travels_with_its_words() -> None:
    assert pickle.loads(pickle.dumps(ModelError("no use"))).detail == "no use"
