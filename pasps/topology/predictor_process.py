"""The predictor service as a child process of the controller: started in the background, watched, started again, ended.

Of the service it knows the command line, one line on standard output, the end of standard input, and /healthz.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pasps.clock import Clock, Deadline
from pasps.control.predictor_client import PredictorClient
from pasps.errors import PredictorError

_log = logging.getLogger(__name__)

COMMAND = ("-P", "-m", "predictor_service", "--host", "127.0.0.1", "--port", "0", "--end-with-stdin", "--workers", "1")
"""What this Python is started with. -P: nothing in the directory of whoever runs pasps is taken for a library."""
# Darts is not among them: without it the service starts, and only its model `fft` fails
NEEDED = ("predictor_service", "fastapi", "uvicorn", "pydantic", "numpy", "sklearn")
CURE = "pip install 'pasps[predictor]'"
TOKEN_VARIABLE = "PASPS_PREDICTOR_TOKEN"

START_SECONDS = 60.0
END_SECONDS = 2.0
FIRST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 0.5, 30.0
_LOOK_SECONDS = 0.1
_WARM_SECONDS = 2.0
_LISTENING = re.compile(rb"predictor listening on (http://[!-~]+)\r?\n")
_MOST_TAIL_BYTES = 4096


def missing_packages() -> list[str]:
    """What the service cannot start without, and is not installed here; CURE installs it."""
    return [name for name in NEEDED if find_spec(name) is None]


class PredictorProcess:
    """Lives on one event loop, and never blocks it.

    States:
        STARTING: until it listens and has loaded its libraries, for the first time.
        READY: `url` gives its address.
        DOWN: it ended, or did not listen in time; it is started again after a pause that doubles with every short life, and
            READY again as soon as it listens.
        MISSING: what it needs is not installed; said once, with the cure, and never tried again.
        CLOSED: ended by `close`.

    It ends with this process, however that ends: its standard input is a pipe that only this process holds. Its process group
    is its own, so that Ctrl-C reaches it through `close` alone, and so that nothing of it is left when it dies.
    """

    def __init__(
        self, clock: Clock, *, log_path: Path | None = None, artifacts: str | None = None, command: Sequence[str] = COMMAND
    ) -> None:
        """Its standard error is appended to `log_path`; without one it is dropped, or shown when this module logs at DEBUG.

        `artifacts`: the directory of trained models that it is given.
        """
        self.state = "STARTING"
        self.token = secrets.token_urlsafe(32)
        self._clock = clock
        self._log_path = log_path
        self._command = [sys.executable, *command, *(() if artifacts is None else (f"--artifacts={artifacts}",))]
        self._process: subprocess.Popen[bytes] | None = None
        self._url: str | None = None
        self._probe = PredictorClient(lambda: str(self._url), "", token=self.token)
        self._problem = "the predictor process is not ready yet"
        self._task: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """Its process, while there is one."""
        return None if self._process is None else self._process.pid

    def url(self) -> str:
        """Where it listens now; another port after each start.

        Raises:
            PredictorError: it does not; quiet while it starts for the first time, and when that was said already.
        """
        if self.state != "READY" or self._url is None:
            raise PredictorError(self._problem, quiet=self.state != "DOWN")
        return self._url

    def start(self) -> None:
        """Start it in the background; returns at once, and never fails: `url` says what became of it."""
        if missing := missing_packages():
            self.state = "MISSING"
            self._problem = f"the predictor needs {', '.join(missing)}, not installed here; {CURE}"
            _log.warning("%s; until then the next interval is expected to be like the last one", self._problem)
            return
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._task.add_done_callback(self._stopped)

    async def close(self) -> None:
        """End it: back when it is gone, after two seconds at most and a moment. More calls do nothing."""
        self.state, self._problem, self._url = "CLOSED", "the predictor process is closed", None
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._process is not None:  # it was being ended already when that was cancelled
            await self._end(self._process)

    async def _run(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            began = self._clock.now()
            await self._life()
            if self._clock.now() - began > MOST_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            _log.info("%s; it is started again in %g s", self._problem, pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, MOST_PAUSE_SECONDS)

    async def _life(self) -> None:
        """From its start until nothing of it is left; `_problem` says why it ended."""
        log_began = self._log_bytes()
        try:
            process = self._process = self._launched()
        except OSError as error:
            self._down(f"the predictor process could not be started ({error})")
            return
        try:
            why = await self._watch(process)
            self._down(f"the predictor process {process.pid} {why}" + self._last_words(log_began))
        finally:
            await self._end(process)

    def _stopped(self, task: asyncio.Task[None]) -> None:
        """It watches for ever; should it not, nobody may wait for it in silence."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._down(f"nobody watches the predictor process any more: {error!r}")
            _log.error("%s", self._problem, exc_info=error)

    def _down(self, problem: str) -> None:
        self.state, self._problem, self._url = "DOWN", problem, None

    async def _watch(self, process: subprocess.Popen[bytes]) -> str:
        """Until it has ended, or is given up; what happened to it."""
        # asyncio's own subprocesses would wait for what the service has started, too: docs/decisions/0039
        output = asyncio.StreamReader()
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(output), process.stdout)
        listening = asyncio.ensure_future(self._listen(output))
        deadline = Deadline(self._clock, START_SECONDS)
        try:
            while process.poll() is None:
                if self._url is None and deadline.expired():
                    return f"was not ready after {START_SECONDS:g} s"
                if self.state != "READY" and await self._usable(deadline):
                    self.state = "READY"
                    _log.info("predictor process %d is ready at %s", process.pid, self._url)
                await asyncio.sleep(_LOOK_SECONDS)
            return _ending(process.returncode)
        finally:
            listening.cancel()
            pipe.close()

    async def _usable(self, deadline: Deadline) -> bool:
        """Whether it listens; at the first start also whether its libraries are loaded, since a forecast that waits for them is late."""
        if self._url is None:
            return False
        if self.state == "DOWN" or deadline.expired():
            return True
        try:
            async with asyncio.timeout(_WARM_SECONDS):
                return await self._probe.ready()
        except (PredictorError, TimeoutError):
            return False

    def _launched(self) -> subprocess.Popen[bytes]:
        # it must find its package where this one was found, installed or not
        root = str(Path(__file__).parents[2])
        paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), TOKEN_VARIABLE: self.token}
        with contextlib.ExitStack() as stack:
            errors: int | None = None if _log.isEnabledFor(logging.DEBUG) else subprocess.DEVNULL
            if self._log_path is not None:
                errors = stack.enter_context(self._log_path.open("ab")).fileno()
            return subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment, process_group=0
            )

    async def _listen(self, output: asyncio.StreamReader) -> None:
        """Reads all it says, so that it never waits for a reader; the first line is the one that counts."""
        said = b""
        while piece := await output.read(_MOST_TAIL_BYTES):
            said += piece
            line = _LISTENING.search(said)
            if self._url is None and line is not None:
                self._url = line[1].decode("ascii")
            said = said[-_MOST_TAIL_BYTES:]

    async def _end(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.terminate()
        await self._gone(process, END_SECONDS)
        # the whole group: processes that it started may outlive it
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if await self._gone(process, END_SECONDS):
            process.stdout.close()
            self._process = None

    async def _gone(self, process: subprocess.Popen[bytes], seconds: float) -> bool:
        """Wait until it has ended; False when the time is over."""
        deadline, pause = Deadline(self._clock, seconds), 0.002
        while process.poll() is None and not deadline.expired():
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LOOK_SECONDS)
        return process.returncode is not None

    def _log_bytes(self) -> int:
        with contextlib.suppress(OSError):
            return 0 if self._log_path is None else self._log_path.stat().st_size
        return 0

    def _last_words(self, begin: int) -> str:
        """The last line of its standard error in this life, and where to read the rest."""
        if self._log_path is None:
            return ""
        with contextlib.suppress(OSError), self._log_path.open("rb") as log:
            log.seek(max(begin, self._log_bytes() - _MOST_TAIL_BYTES))
            lines = log.read(_MOST_TAIL_BYTES).decode(errors="replace").strip().splitlines()
            return (f", its last words: {lines[-1].strip()!r}" if lines else "") + f"; see {self._log_path}"
        return ""


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
