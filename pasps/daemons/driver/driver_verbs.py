"""What a driver answers beside the verbs of every topology: logs of its workers, the files of its run, why bolts have their replicas."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from pasps.control import decision_log
from pasps.control.decision_log import Record
from pasps.control.explain import explained
from pasps.daemons.topology_master import TopologyMaster
from pasps.daemons.topology_verbs import TopologyVerbs
from pasps.errors import PaspsError
from pasps.report.run_files import Log

_MOST_FILE_BYTES = 32 << 20
LINES = 100

Lines = Annotated[int, Meta(ge=1, le=10_000)]


def add_driver_verbs(verbs: TopologyVerbs, master: TopologyMaster, directory: Path) -> None:
    """Add them; `directory` is that of the run."""

    async def logs(worker: str | None = None, lines: Lines = LINES, offset: Annotated[int, Meta(ge=0)] | None = None) -> dict[str, Any]:
        if worker is not None:
            found = await master.workforce.read_log(worker, offset, lines)
            return {"worker": worker, "host": master.workforce.hosts().get(worker, ""), "text": found.text, "offset": found.offset}
        parts = await asyncio.gather(*(_part(master, name, lines) for name in master.workforce.ids))
        return {"worker": None, "host": "", "text": "".join(parts), "offset": 0}

    async def files() -> dict[str, dict[str, str]]:
        return {"files": await asyncio.to_thread(_files, directory)}

    async def explain(bolt: str | None = None, at: str | None = None) -> str:
        records: Log[Record] = Log(directory, "decisions", decision_log.read)
        return await asyncio.to_thread(explained, records, bolt, at)

    verbs.add("logs", logs)
    verbs.add("files", files)
    verbs.add("explain", explain)


async def _part(master: TopologyMaster, worker: str, lines: int) -> str:
    try:
        found = await master.workforce.read_log(worker, None, lines)
    except PaspsError as error:
        return f"==> {worker} <==\n{error}\n"
    return f"==> {worker} on {master.workforce.hosts().get(worker, '?')} <==\n{found.text}"


def _files(directory: Path) -> dict[str, str]:
    """The newest part of each file, of whole lines."""
    found = {}
    for path in sorted(directory.iterdir()):
        if path.suffix not in (".json", ".jsonl") or not path.is_file():
            continue
        data = path.read_bytes()
        if len(data) > _MOST_FILE_BYTES:
            data = data[-_MOST_FILE_BYTES:].partition(b"\n")[2]
        found[path.name] = base64.b64encode(data).decode()
    return found
