"""A pass as a job of Spark: one task, so one measurement at a time; and how the user's code comes to where it runs."""

from __future__ import annotations

import faulthandler
import os
import pickle
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import cloudpickle

from pasps.cluster.package.layout import sha256_of
from pasps.cluster.package.parts import split
from pasps.cluster.package.unpack import site_packages, unpack
from pasps.data.et_pass import PATIENCE, PassRequest, PassResult, run_pass

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONF = {
    # a process of its own for each pass: what one has loaded or kept must not make the next one cheaper
    "spark.python.worker.reuse": "false",
    # started, not forked from one that all have in common: where its code lies in memory, which is drawn by lot, makes a process
    # faster or slower by up to a fifth for as long as it lives; every worker of a topology draws for itself, and so must every pass
    "spark.python.use.daemon": "false",
    # one place is enough, and a shared cluster has others to serve
    "spark.cores.max": "1",
    "spark.executor.cores": "1",
    "spark.executor.instances": "1",
    "spark.dynamicAllocation.enabled": "false",
    "spark.speculation": "false",
    # what ends its process would end it again; side effects are not repeated
    "spark.task.maxFailures": "1",
}
"""Properties that a session for measurements needs; those of `local` masters are ignored where they mean nothing."""
_LEAST_SECONDS = 600.0
"""A pass may take at least so long: `initialize` may load something large."""
_CRASHED = "Python worker exited unexpectedly"
_LOST = ("pasps.", "ExecutorLostFailure", "Caused by")
"""How lines begin that say why a job failed, where no process of Python says it."""


@dataclass(frozen=True, slots=True)
class Here:
    """The code is on this machine: what can be imported here is found in the same places there."""

    sys_path: tuple[str, ...]

    @contextmanager
    def importable(self) -> Iterator[None]:
        """For as long as it is entered."""
        before = list(sys.path)
        sys.path[:] = [*self.sys_path, *(entry for entry in before if entry not in self.sys_path)]
        try:
            yield
        finally:
            sys.path[:] = before


@dataclass(frozen=True, slots=True)
class Shipped:
    """The code is in a package that Spark brought; `environment` is the name of its unpacked environment, if it has one."""

    package: str
    environment: str | None

    @contextmanager
    def importable(self) -> Iterator[None]:
        """For as long as it is entered; unpacked for this process alone."""
        files = import_module("pyspark").SparkFiles
        before = list(sys.path)
        with tempfile.TemporaryDirectory(prefix="pasps-et-") as directory:
            unpacked = unpack(Path(files.get(self.package)), Path(directory))
            brought = [] if self.environment is None else [str(site_packages(Path(files.get(self.environment))))]
            sys.path[:] = unpacked.over(sys.path, brought)
            try:
                yield
            finally:
                sys.path[:] = before


Code = Here | Shipped


def ship(session: SparkSession, package: Path, scratch: Path) -> Shipped:
    """Have Spark bring a package, as `build_package` makes them, to where passes run. `scratch` must stay until the session ends.

    Raises:
        PackageError: it is none.
        BrokenError: it cannot be read, or `scratch` cannot be written.
    """
    code, environment = split(package, scratch)
    number = sha256_of(package)[:12]  # a session may be used again, and Spark takes a name only once
    named = code.rename(code.with_name(f"et-{number}.zip"))
    context = session.sparkContext
    context.addFile(str(named))
    if environment is None:
        return Shipped(named.name, None)
    context.addArchive(f"{environment}#et-environment-{number}")
    return Shipped(named.name, f"et-environment-{number}")


class SparkPasses:
    """`RunPass` on Spark. Blocks for as long as the pass takes, and for as long as Spark has no place."""

    def __init__(self, session: SparkSession, code: Code) -> None:
        """The Python of executors is that of the property `spark.pyspark.python`, of PYSPARK_PYTHON, or as here: the same path."""
        self._context = session.sparkContext
        self._context.pythonExec = self._context.getConf().get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
        self._code = code

    def __call__(self, request: PassRequest) -> PassResult:
        """Run it in an executor; when its process dies, the result says so."""
        asked = cloudpickle.dumps((self._code, request))
        self._context.setJobGroup(f"et {request.bolt}", f"execution time of {request.bolt}", interruptOnCancel=True)
        try:
            (answer,) = self._context.parallelize([asked], 1).mapPartitions(_run).collect()
        except Exception as error:  # noqa: BLE001 - Spark's own, of many kinds: this pass could not be run, others may
            return PassResult(failure=f"its process on Spark ended before it was done: {reason_in(str(error) or type(error).__name__)}")
        result: PassResult = pickle.loads(answer)
        return result


def _run(requests: Iterable[bytes]) -> Iterator[bytes]:
    """In the executor's Python process."""
    for asked in requests:
        code, request = pickle.loads(asked)
        # what looks at no signals, or takes no interruption for one, ends with its process; where it was goes to its stderr
        faulthandler.dump_traceback_later(max(_LEAST_SECONDS, 2 * PATIENCE * request.pace.limit_seconds), exit=True)
        with code.importable():
            result = run_pass(request)
        faulthandler.cancel_dump_traceback_later()
        yield pickle.dumps(result)


def reason_in(text: str) -> str:
    """What Spark says, without its stack traces: the error that Python raised there, that it crashed, or what else it names. Pure."""
    lines = [line for line in text.splitlines() if line.strip()]
    traceback = next((place for place, line in enumerate(lines) if line.lstrip().startswith("Traceback (most recent")), None)
    raised = next((line for line in lines[(traceback or 0) + 1 :] if not line.startswith(" ")), None)
    if traceback is not None and raised is not None:
        return raised.strip()
    if any(_CRASHED in line for line in lines):
        return f"{_CRASHED} (crashed); what it wrote to stderr may say why"
    named = [line.strip() for line in lines if line.strip().startswith(_LOST)]
    return "; ".join(named[:3]) or lines[0].strip()
