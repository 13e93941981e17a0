"""Strangers at a port: they connect, say nothing or half a word, and come again as soon as they are sent away."""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
from collections.abc import Iterator

from tests.integration.running import until

FILES = 1024
"""What the processes under test may have open, as most systems give it."""
CROWD = 1100


@contextlib.contextmanager
def few_files() -> Iterator[None]:
    """What is started meanwhile may open `FILES` files; this process has more afterwards, so that it can be a crowd."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * CROWD) if hard != resource.RLIM_INFINITY else 4 * CROWD, hard))


def is_connected(one: socket.socket) -> bool:
    try:
        one.getpeername()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def crowd(address: tuple[str, int] | str, says: bytes = b"", count: int = CROWD) -> Iterator[None]:
    """So many hold a connection while this is entered; a path is that of a Unix socket."""
    held: list[socket.socket] = []
    quiet: set[socket.socket] = set()
    stop = threading.Event()

    def come() -> socket.socket:
        one = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        one.setblocking(False)
        one.connect_ex(address)
        quiet.add(one)
        return one

    def is_gone(one: socket.socket) -> bool:
        try:
            if says and one in quiet:
                one.send(says)
                quiet.discard(one)
            return one.recv(500) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def hold() -> None:
        while not stop.wait(0.05):
            while len(held) < count:
                held.append(come())
            for one in held[:]:
                if is_gone(one):
                    held.remove(one)
                    quiet.discard(one)
                    one.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        until(lambda: sum(map(is_connected, held[:])) >= count * 0.9, "the crowd")
        yield
    finally:
        stop.set()
        thread.join()
        for one in held:
            one.close()
