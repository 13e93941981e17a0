"""A worker that comes to somebody who is not its controller, over real sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from pasps.errors import AuthenticationError, BrokenError, ProtocolError
from pasps.transport import handshake
from pasps.transport.handshake import Identity, Incarnations
from pasps.worker import enlisting
from pasps.worker.enlisting import enlist

pytestmark = pytest.mark.integration

HOST = "127.0.0.1"
SECRET = b"a secret"


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """Where somebody takes one connection, reads what a worker says first, and then does as it likes."""
    with socket.create_server((HOST, 0)) as listening:
        listening.settimeout(10.0)

        def serve() -> None:
            control, _ = listening.accept()
            with control:
                control.settimeout(10.0)
                assert control.recv(4096)
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


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


def challenge(identity: Identity) -> bytes:
    """A good one of somebody who does not know the secret, and what he may make up for a proof."""
    steps = handshake.listener(identity, b"another", bytes(32), Incarnations())
    next(steps)
    hello = next(handshake.dialer(Identity(identity.topology, "w0", 1), SECRET, b"n" * 32, Incarnations()))
    assert hello is not None
    said = steps.send(hello)
    assert said is not None
    return framed(said) + framed(said[:7] + b"\4" + bytes(32))


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (b"", BrokenError, "ended the connection"),
        (b"\0\0", BrokenError, "ended the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n", ProtocolError, "expected the handshake of a peer"),
        (framed(b"\xff\n"), ProtocolError, "expected the CHALLENGE"),
        (b"x" * 5000 + b"\n", ProtocolError, "expected the handshake of a peer"),
        (framed(b"PASPS" + handshake.VERSION.to_bytes(2, "big") + b"\5no"), AuthenticationError, r"place w0: .*peer refused: no"),
        (challenge(Identity("enlisting", "gate", 0)), BrokenError, r"place w0: .*"),
        (challenge(Identity("enlisting", "w7", 0)), AuthenticationError, "expected worker 'gate' at this address"),
        (challenge(Identity("words", "gate", 0)), AuthenticationError, "expected a worker of topology"),
    ],
    ids=range(9),
)
def test_who_answers_something_else_is_not_the_controller(said: bytes, kind: type[BrokenError], words: str) -> None:
    with answering(says(said)) as address, pytest.raises(kind, match=words):
        enlist(address, SECRET, "w0")


def test_a_controller_that_resets_the_connection_ended_it() -> None:
    def reset(control: socket.socket) -> None:
        control.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with answering(reset) as address, pytest.raises(BrokenError, match=r"place w0: .*ended the connection"):
        enlist(address, SECRET, "w0")


def test_a_controller_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
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
