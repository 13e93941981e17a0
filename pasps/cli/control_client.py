"""Asks a run in another process, over its control socket. Blocks its caller, never longer than it said."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import msgspec

from pasps.clock import Clock, Deadline, SystemClock
from pasps.errors import BrokenError, ProtocolError, TimeoutExpiredError
from pasps.topology.run_list import KnownRun
from pasps.topology.verbs import result_of

ANSWER_SECONDS = 10.0
MOST_ANSWER_BYTES = 64 << 20


class EndedMeanwhileError(BrokenError):
    """The run is gone, or closed the connection before it had answered."""


class ControlClient:
    """One connection, made when it is needed; a context manager."""

    def __init__(self, run: KnownRun, clock: Clock | None = None) -> None:
        self._run = run
        self._clock = clock or SystemClock()
        self._socket: socket.socket | None = None

    def call(self, verb: str, arguments: Mapping[str, Any] | None = None, seconds: float | None = ANSWER_SECONDS) -> Any:
        """The result of a verb; None as `seconds` waits without end.

        Raises:
            TimeoutExpiredError: no answer in time. What was asked for may still happen.
            EndedMeanwhileError: the run ended.
            PaspsError: what the run answered.
        """
        deadline = Deadline(self._clock, seconds)
        request = msgspec.json.encode({"verb": verb, "arguments": dict(arguments or {})}) + b"\n"
        try:
            answer = self._exchange(request, deadline)
        except TimeoutError as late:
            self.close()  # the answer may come still, and must not be taken for the next one
            raise TimeoutExpiredError(f"{self._whose()} did not answer {verb!r} within {seconds:g} s: it is busy or stopped") from late
        except OSError as error:
            self.close()
            raise EndedMeanwhileError(f"{self._whose()} cannot be reached, it has probably just ended: {error}") from error
        return result_of(answer, self._whose())

    def close(self) -> None:
        """End the connection; the next call makes another. More calls do nothing."""
        connection, self._socket = self._socket, None
        if connection is not None:
            with suppress(OSError):
                connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _exchange(self, request: bytes, deadline: Deadline) -> bytes:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.settimeout(_left(deadline))
            self._socket.connect(self._run.record.socket)
        self._socket.settimeout(_left(deadline))
        self._socket.sendall(request)
        answer = bytearray()
        while not answer.endswith(b"\n"):
            if len(answer) > MOST_ANSWER_BYTES:
                raise ProtocolError(f"{self._whose()} answered with more than {MOST_ANSWER_BYTES} bytes")
            self._socket.settimeout(_left(deadline))
            part = self._socket.recv(1 << 18)
            if not part:
                raise ConnectionResetError("it closed the connection")
            answer += part
        return bytes(answer)

    def _whose(self) -> str:
        return f"topology {self._run.record.name!r} (process {self._run.record.pid})"


def _left(deadline: Deadline) -> float | None:
    left = deadline.remaining()
    if left == 0.0:
        raise TimeoutError
    return left
