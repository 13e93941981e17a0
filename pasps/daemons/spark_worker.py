"""A worker as a task of Spark: prepares the process, goes to the topology's driver, and is a worker until that ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import tempfile
from pathlib import Path

from pyspark import SparkFiles

from pasps.cluster.unpack import site_packages, unpack
from pasps.daemons.enlisting import enlist
from pasps.daemons.event_loop import new_event_loop
from pasps.daemons.membership import keep_registered
from pasps.daemons.worker_process import WorkerProcess

LOG_VARIABLE = "PASPS_LOG_DIR"
"""Of each host: the directory for the logs of workers; without it, one of its own below the system's temporary files."""
_MOST_LOG_BYTES = 64 << 20


def work(place: str, topology: str, address: tuple[str, int], secret: bytes, package: str, environment: str | None) -> None:
    """Be the worker of that place. `package` and `environment` are the names under which Spark has brought them."""
    log_file = _write_to_log(topology, place)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=os.environ.get("PASPS_LOG", "WARNING"), force=True)
    unpacked = unpack(Path(SparkFiles.get(package)), Path(tempfile.mkdtemp(prefix=f"{place}-", dir=".")))
    brought = [] if environment is None else [str(site_packages(Path(environment).resolve()))]
    sys.path[:] = unpacked.over(sys.path, brought)
    control = enlist(address, secret, place)

    async def run() -> None:
        await WorkerProcess(control, log_file, keep_registered).run()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(run())
    logging.shutdown()
    sys.stdout.flush()


def log_directory(topology: str) -> Path:
    """Where the workers of that topology write on this machine."""
    chosen = os.environ.get(LOG_VARIABLE)
    return (Path(chosen) if chosen else Path(tempfile.gettempdir()) / f"pasps-{os.getuid()}") / "logs" / topology


def _write_to_log(topology: str, place: str) -> Path:
    """From now on all that the process writes goes there, behind what its predecessors wrote."""
    directory = log_directory(topology)
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = directory / f"{place}.log"
    if path.is_file() and path.stat().st_size > _MOST_LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    # whatever Spark made of them, user code prints to the file, a line at a time
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1)
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
    return path
