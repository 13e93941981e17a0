from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Protocol

import pytest

from pasps.cli.asking.asked_topology import EndedMeanwhileError, LocalTopology
from pasps.errors import InvalidError, ProtocolError, TimeoutExpiredError
from pasps.topology import control_socket
from tests.unit.cli.builders import known_run

OK = b'{"ok": true, "result": {"n": 1}}\n'


class Served(Protocol):
    def __call__(self, answers: Sequence[bytes], /) -> LocalTopology: ...


@contextmanager
def listening_at() -> Iterator[tuple[str, socket.socket]]:
    """A socket where a run would have its own."""
    with tempfile.TemporaryDirectory(prefix="pasps-test-") as place, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        path = os.path.join(place, "control.sock")
        listening.bind(path)
        listening.listen()
        yield path, listening


@pytest.fixture
def serving() -> Iterator[Served]:
    """Starts one that gives these answers, one to a request, and then closes the connection."""
    with ExitStack() as stack:
        path, listening = stack.enter_context(listening_at())

        def serve(answers: Sequence[bytes]) -> None:
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as requests:
                for answer in answers:
                    requests.readline()
                    connection.sendall(answer)

        def client(answers: Sequence[bytes]) -> LocalTopology:
            thread = threading.Thread(target=serve, args=(answers,), daemon=True)
            thread.start()
            stack.callback(thread.join)
            return stack.enter_context(LocalTopology(known_run(socket=path)))

        yield client


def test_results_come_back_over_one_connection(serving: Served) -> None:
    client = serving([OK, b'{"ok": true, "result": null}\n'])
    assert client.call("status") == {"n": 1}
    assert client.call("kill", {"wait": 1}, None) is None


def test_a_refusal_is_raised_as_what_it_was(serving: Served) -> None:
    client = serving([b'{"ok": false, "error": {"kind": "InvalidError", "text": "no bolt"}}\n'])
    with pytest.raises(InvalidError, match=r"^no bolt$"):
        client.call("scale")


@pytest.mark.parametrize("answer", [b"what?\n", b"[]\n", b"{}\n", b'{"ok": false}\n', b"\xff\n"])
def test_what_is_no_answer_is_said_to_be_none(serving: Served, answer: bytes) -> None:
    with pytest.raises(ProtocolError, match=r"topology 'doubling' \(process 1\) answered with"):
        serving([answer]).call("status")


def test_the_rest_of_what_is_no_answer_is_not_taken_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_socket, "MOST_ANSWER_BYTES", 60)
    with listening_at() as (path, listening):

        def serve() -> None:
            for answer in (b"x" * 100 + b"\n" + b'{"ok": true, "result": "of before"}\n', OK):
                connection, _ = listening.accept()
                with connection:
                    connection.recv(1 << 10)
                    connection.sendall(answer)

        with ThreadPoolExecutor(1) as pool, LocalTopology(known_run(socket=path)) as client:
            done = pool.submit(serve)
            with pytest.raises(ProtocolError, match="answered with more than 60 bytes"):
                client.call("status")
            assert client.call("status") == {"n": 1}
            done.result()


def test_a_run_that_ends_before_it_answers_is_told_from_one_that_is_slow(serving: Served) -> None:
    with pytest.raises(EndedMeanwhileError, match="cannot be reached, it has probably just ended"):
        serving([b'{"ok"']).call("status")


def test_a_socket_that_is_not_there_means_that_it_ended() -> None:
    with pytest.raises(EndedMeanwhileError, match="No such file"):
        LocalTopology(known_run()).call("status")


@pytest.fixture
def heard() -> Iterator[None]:
    """SIGINT as Python has it: who starts the tests in the background of a shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_ctrl_c_ends_the_wait_for_an_answer() -> None:
    with listening_at() as (path, listening):
        # to a thread that does not wait: as one that comes just before the loop begins to, it does not wake the loop up

        def interrupt() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 10)
                signal.pthread_kill(threading.get_ident(), signal.SIGINT)
                assert connection.recv(1) == b"", "its connection ends with it"

        with ThreadPoolExecutor(1) as pool, LocalTopology(known_run(socket=path)) as client:
            done = pool.submit(interrupt)
            with pytest.raises(KeyboardInterrupt):
                client.call("kill", seconds=None)
            client.close()
            done.result()


def test_when_the_time_is_over_it_says_so(serving: Served) -> None:
    client = serving([OK])
    with pytest.raises(TimeoutExpiredError, match="did not answer 'status' within 0 s: it is busy or stopped"):
        client.call("status", seconds=0.0)
    assert client.call("status") == {"n": 1}
