"""The server's half of a process that fits, and of the fork server that makes them. For the server's event loop only."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from predictor_service.errors import FitProcessLostError, PredictorError
from predictor_service.forecast import Forecast
from predictor_service.job import Job, packed, received

_START_SECONDS = 150.0
_ONE_THREAD = {
    **dict.fromkeys(
        (
            "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
            "LOKY_MAX_CPU_COUNT",
        ),
        "1",
    ),
    # pandas imports pyarrow where it is installed, whose allocator has a thread of its own
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}  # fmt: skip
"""The processes are the parallelism: threads below them would fight for the same cores, and none may exist when one is forked."""


class FitProcess(asyncio.Protocol):
    """One process. States: STARTING -> READY <-> FITTING, and from each of them ENDED, when `on_end` is called once."""

    def __init__(self, on_end: Callable[[FitProcess], None]) -> None:
        self._on_end = on_end
        self._said = asyncio.StreamReader()
        self._transport: asyncio.Transport | None = None
        self.pid = 0
        self.ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio's call: the socket is open."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own, which is none by its class

    def data_received(self, data: bytes) -> None:
        """Asyncio's call: a piece of an answer."""
        self._said.feed_data(data)

    def connection_lost(self, error: Exception | None) -> None:
        """Asyncio's call: the process has ended, or was ended."""
        self.ended = True
        self._said.feed_eof()
        self._on_end(self)

    async def wait_ready(self, seconds: float = _START_SECONDS) -> None:
        """Until it can fit.

        Raises:
            FitProcessLostError: it ended before that, or took too long.
        """
        try:
            async with asyncio.timeout(seconds):
                self.pid = await self._answer()
        except TimeoutError as late:
            raise FitProcessLostError(f"no process was ready after {seconds:g} s") from late

    async def fit(self, job: Job) -> Forecast:
        """One at a time. When it is cancelled the process is of no more use: `kill` it.

        Raises:
            PredictorError: what the model did wrong, or what is wrong with the artifact.
            FitProcessLostError: the process ended.
        """
        if self.ended or self._transport is None:
            raise FitProcessLostError(f"process {self.pid} has ended")
        self._transport.write(packed(job))
        answer: Forecast | PredictorError = await self._answer()
        if isinstance(answer, PredictorError):
            raise answer
        return answer

    async def _answer(self) -> Any:
        try:
            return await received(self._said)
        except asyncio.IncompleteReadError as error:
            raise FitProcessLostError(f"process {self.pid} ended") from error

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        # its number may be somebody else's once it has ended: the fork server waits for none of its children
        if self.pid and not self.ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        if self._transport is not None:
            self._transport.abort()


class ForkServer:
    """Starts the fork server when it is first needed, and again when it has ended."""

    def __init__(self, artifacts: Path | None = None) -> None:
        """`artifacts`: the directory of those that it reads beforehand."""
        self._artifacts = artifacts
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    async def spawn(self, niceness: int, on_end: Callable[[FitProcess], None]) -> FitProcess:
        """A new process, ready; what `on_end` gets may be one that never was.

        Raises:
            FitProcessLostError: it did not come up.
        """
        ours, theirs = socket.socketpair()
        # closed here when it is sent: as long as anybody else has it open, the end of the process is not seen
        with theirs:
            try:
                socket.send_fds(self._live_control(), [bytes([niceness])], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise FitProcessLostError(f"the fork server cannot be reached: {error}") from error
        _, process = await asyncio.get_running_loop().create_unix_connection(lambda: FitProcess(on_end), sock=ours)
        try:
            await process.wait_ready()
        except BaseException:
            process.kill()
            raise
        return process

    def close(self, seconds: float = 0.5) -> None:
        """End it and what it forked; blocks for milliseconds, or for `seconds` while it still loads libraries."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _live_control(self) -> socket.socket:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._control is None:
            self._control = self._start()
        return self._control

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        directory = [] if self._artifacts is None else [os.path.abspath(self._artifacts)]
        with theirs:
            self._process = subprocess.Popen(
                # imports what the server imports, from where the server does
                [sys.executable, "-P", "-m", "predictor_service.fork_server", str(theirs.fileno()), str(os.getpid()), *directory],
                env={**os.environ, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
                stdin=subprocess.DEVNULL,
                stdout=2,  # standard output is for the one line that says where the service listens
                pass_fds=[theirs.fileno()],
                # Ctrl-C in a terminal is for the server, which then ends these in order
                process_group=0,
            )
        return ours
