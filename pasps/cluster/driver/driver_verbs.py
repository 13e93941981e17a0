"""What a driver answers beside the verbs of every topology: logs of its workers, the files of its run, why bolts have their replicas."""

from __future__ import annotations

import asyncio
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pasps.errors import BusyError, PaspsError
from pasps.topology.controller import TopologyController
from pasps.topology.topology_verbs import add_explain
from pasps.topology.verbs import FilePart, GetFile, GetFiles, GetLogs, LogPart, RunFile, RunFiles, Verbs

PART_BYTES = 1 << 20
"""Of a file in one answer, before it is compressed; the files of a long run are hundreds of megabytes."""


def add_driver_verbs(verbs: Verbs, controller: TopologyController, directory: Path) -> None:
    """Add them; `directory` is that of the run."""

    async def logs(asked: GetLogs) -> LogPart:
        if asked.worker is not None:
            found = await controller.workforce.read_log(asked.worker, asked.offset, asked.lines)
            return LogPart(asked.worker, controller.workforce.hosts().get(asked.worker, ""), found.text, found.offset)
        parts = await asyncio.gather(*(_part(controller, name, asked.lines) for name in controller.workforce.ids))
        return LogPart(None, "", "".join(parts), 0)

    async def files(_: GetFiles) -> RunFiles:
        return RunFiles(await asyncio.to_thread(_files, directory))

    async def file(asked: GetFile) -> FilePart:
        return await asyncio.to_thread(_part_of_file, directory, asked.id, asked.offset)

    verbs.add(GetLogs, logs)
    verbs.add(GetFiles, files)
    verbs.add(GetFile, file)
    add_explain(verbs, directory)


async def _part(controller: TopologyController, worker: str, lines: int) -> str:
    try:
        found = await controller.workforce.read_log(worker, None, lines)
    except PaspsError as error:
        return f"==> {worker} <==\n{error}\n"
    return f"==> {worker} on {controller.workforce.hosts().get(worker, '?')} <==\n{found.text}"


def _of_run(directory: Path) -> Iterator[Path]:
    return (path for path in sorted(directory.iterdir()) if path.suffix in (".json", ".jsonl") and path.is_file())


def _files(directory: Path) -> dict[str, RunFile]:
    found = {}
    for path in _of_run(directory):
        with suppress(FileNotFoundError):
            about = path.stat()
            found[path.name] = RunFile(about.st_ino, about.st_size)
    return found


def _part_of_file(directory: Path, id: int, offset: int) -> FilePart:
    """A part that is quickly written and read, however long the run. By its number, for a log gets another name when it is full.

    Raises:
        BusyError: it was replaced, as `run.json` is when the state changes, or dropped.
    """
    for path in _of_run(directory):
        with suppress(FileNotFoundError), path.open("rb") as source:
            about = os.fstat(source.fileno())
            # the number of a file that is gone may be another one's by now; that is shorter
            if about.st_ino == id and offset <= about.st_size:
                source.seek(offset)
                data = source.read(PART_BYTES)
                return FilePart(zlib.compress(data, 1), offset + len(data))
    raise BusyError(f"file {id} of the run is not there any more; ask for its files again")
