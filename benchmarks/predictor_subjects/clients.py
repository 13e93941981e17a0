"""Clients that ask again as soon as they are answered, all on one thread, so that they take little from the service they measure."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.predictor_subjects.request import request

_GRACE_SECONDS = 15.0


@dataclass(slots=True)
class Group:
    """So many clients of one model, and how long each of their answers took; only what was asked in the time counts."""

    path: str
    clients: int
    seconds: list[float] = field(default_factory=list)
    failed: int = 0

    def percentile_ms(self, share: float) -> float:
        """0 when there was no answer."""
        ordered = sorted(self.seconds)
        return 1e3 * ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def drive(port: int, groups: Sequence[Group], seconds: float) -> float:
    """Fill the groups; how long it took until the last answer to what was asked within `seconds`."""
    with selectors.DefaultSelector() as selector:
        clients = [_Client(port, group, selector) for group in groups for _ in range(group.clients)]
        began = time.perf_counter()
        stop, give_up = began + seconds, began + seconds + _GRACE_SECONDS
        for client in clients:
            client.ask()
        while selector.get_map() and time.perf_counter() < give_up:
            for key, _ in selector.select(0.1):
                client = key.data
                if client.answered() and time.perf_counter() < stop:
                    client.ask()
                elif not client.asking:
                    client.close()
        ended = time.perf_counter()
        for client in clients:
            client.give_up()
    return ended - began


class _Client:
    """One connection, opened anew when the service closes it after an answer."""

    def __init__(self, port: int, group: Group, selector: selectors.BaseSelector) -> None:
        self._port = port
        self._group = group
        self._selector = selector
        self._request = request(group.path)
        self._connection: socket.socket | None = None
        self._received = b""
        self._asked_at = 0.0
        self.asking = False

    def ask(self) -> None:
        self._received, self._asked_at, self.asking = b"", time.perf_counter(), True
        if self._connection is None:
            self._connection = socket.create_connection(("127.0.0.1", self._port))
            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(self._connection, selectors.EVENT_READ, self)
        self._connection.sendall(self._request)

    def answered(self) -> bool:
        """Read what is there; whether the answer is complete now."""
        assert self._connection is not None
        data = self._connection.recv(1 << 16)
        self._received += data
        head, _, body = self._received.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 1 << 60)
        if data and len(body) < length:
            return False
        if head[9:12] == b"200":
            self._group.seconds.append(time.perf_counter() - self._asked_at)
        else:
            self._group.failed += 1
        self.asking = False
        if not data or b"connection: close" in head.lower():
            self.close()
        return True

    def close(self) -> None:
        if self._connection is not None:
            self._selector.unregister(self._connection)
            self._connection.close()
            self._connection = None

    def give_up(self) -> None:
        if self.asking:
            self._group.failed += 1
        self.close()
