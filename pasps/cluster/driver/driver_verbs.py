"""What a driver answers beside the verbs of every topology: logs of its workers, the files of its run, why bolts have their replicas."""

from __future__ import annotations

import asyncio
import base64
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from pasps.errors import BusyError, PaspsError
from pasps.topology.controller import TopologyController
from pasps.topology.topology_verbs import add_explain
from pasps.topology.verbs import Verbs

PART_BYTES = 1 << 20
"""Of a file in one answer, before it is compressed; the files of a long run are hundreds of megabytes."""
LINES = 100

Lines = Annotated[int, Meta(ge=1, le=10_000)]


def add_driver_verbs(verbs: Verbs, controller: TopologyController, directory: Path) -> None:
    """Add them; `directory` is that of the run."""

    async def logs(worker: str | None = None, lines: Lines = LINES, offset: Annotated[int, Meta(ge=0)] | None = None) -> dict[str, Any]:
        if worker is not None:
            found = await controller.workforce.read_log(worker, offset, lines)
            return {"worker": worker, "host": controller.workforce.hosts().get(worker, ""), "text": found.text, "offset": found.offset}
        parts = await asyncio.gather(*(_part(controller, name, lines) for name in controller.workforce.ids))
        return {"worker": None, "host": "", "text": "".join(parts), "offset": 0}

    async def files() -> dict[str, dict[str, dict[str, int]]]:
        return {"files": await asyncio.to_thread(_files, directory)}

    async def file(id: int, offset: Annotated[int, Meta(ge=0)] = 0) -> dict[str, Any]:
        return await asyncio.to_thread(_part_of_file, directory, id, offset)

    verbs.add("logs", logs)
    verbs.add("files", files)
    verbs.add("file", file)
    add_explain(verbs, directory)


async def _part(controller: TopologyController, worker: str, lines: int) -> str:
    try:
        found = await controller.workforce.read_log(worker, None, lines)
    except PaspsError as error:
        return f"==> {worker} <==\n{error}\n"
    return f"==> {worker} on {controller.workforce.hosts().get(worker, '?')} <==\n{found.text}"


def _of_run(directory: Path) -> Iterator[Path]:
    return (path for path in sorted(directory.iterdir()) if path.suffix in (".json", ".jsonl") and path.is_file())


def _files(directory: Path) -> dict[str, dict[str, int]]:
    found = {}
    for path in _of_run(directory):
        with suppress(FileNotFoundError):
            about = path.stat()
            found[path.name] = {"id": about.st_ino, "bytes": about.st_size}
    return found


def _part_of_file(directory: Path, id: int, offset: int) -> dict[str, Any]:
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
                return {"content": base64.b64encode(zlib.compress(data, 1)).decode(), "offset": offset + len(data)}
    raise BusyError(f"file {id} of the run is not there any more; ask for its files again")
