"""A worker that comes to somebody who is not its master, over real sockets."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from pasps.daemons import enlisting
from pasps.daemons.enlisting import enlist
from pasps.errors import AuthenticationError, BrokenError, ProtocolError

pytestmark = pytest.mark.integration

HOST = "127.0.0.1"
SECRET = b"a secret"


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """Where somebody takes one connection, reads a line, and then does as it likes."""
    with socket.create_server((HOST, 0)) as listening:
        listening.settimeout(10.0)

        def serve() -> None:
            control, _ = listening.accept()
            with control:
                control.settimeout(10.0)
                while not control.recv(4096).endswith(b"\n"):
                    pass
                answer(control)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()
        finally:
            thread.join(10.0)
            assert not thread.is_alive()


def says(line: bytes) -> Callable[[socket.socket], None]:
    return lambda control: control.sendall(line)


def challenge(proof: str) -> bytes:
    return json.dumps({"nonce": "n", "proof": proof}).encode() + b"\n"


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        (b"", ProtocolError, "did not say a line"),
        (b'{"nonce":', ProtocolError, "did not say a line"),
        (b"HTTP/1.1 400 Bad Request\r\n", ProtocolError, "expected a challenge, got b'HTTP"),
        (b"\xff\n", ProtocolError, "expected a challenge"),
        (b"x" * 5000 + b"\n", ProtocolError, "did not say a line"),
        (challenge(""), AuthenticationError, r"place w0: .*does not know the secret"),
        (challenge("\u00e9" * 64), AuthenticationError, "does not know the secret"),
    ],
    ids=range(7),
)
def test_who_answers_something_else_is_not_the_master(line: bytes, kind: type[BrokenError], words: str) -> None:
    with answering(says(line)) as address, pytest.raises(kind, match=words):
        enlist(address, SECRET, "w0")


def test_a_master_that_resets_the_connection_ended_it() -> None:
    def reset(control: socket.socket) -> None:
        control.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with answering(reset) as address, pytest.raises(BrokenError, match=r"place w0: .*ended the connection"):
        enlist(address, SECRET, "w0")


def test_a_master_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enlisting, "ENLIST_SECONDS", 0.1)
    given_up = threading.Event()

    def hang(_: socket.socket) -> None:
        given_up.wait(10.0)

    with answering(hang) as address:
        with pytest.raises(BrokenError, match=r"place w0: .*timed out"):
            enlist(address, SECRET, "w0")
        given_up.set()


def test_nobody_is_there() -> None:
    with socket.create_server((HOST, 0)) as listening:
        address = listening.getsockname()
    with pytest.raises(BrokenError, match=rf"place w0: .*{HOST}:{address[1]} cannot be reached"):
        enlist(address, SECRET, "w0")
