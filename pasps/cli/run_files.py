"""The files that a topology of a cluster keeps of itself where its driver runs, brought here part by part."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pasps.cli.cluster_topology import ClusterTopology
from pasps.errors import BrokenError, BusyError, ProtocolError

PART_SECONDS = 60.0
_MOST_PART_BYTES = 16 << 20
_TRIES = 3


def fetch_run_files(topology: ClusterTopology, directory: Path) -> None:
    """Write them into `directory`, which exists, as they are now. Blocks for as long as so much takes.

    Raises:
        ProtocolError: they are not what files of a run are.
        PaspsError: what the topology answered.
    """
    for left in reversed(range(_TRIES)):
        try:
            for name, about in _listed(topology).items():
                _fetch(topology, about, directory / name)
            return
        except BusyError:  # one was replaced meanwhile
            if not left:
                raise


def _listed(topology: ClusterTopology) -> dict[str, Mapping[str, int]]:
    told = topology.call("files", seconds=PART_SECONDS)
    files = told.get("files") if isinstance(told, Mapping) else None
    if not isinstance(files, Mapping) or not all(_is_file(about) for about in files.values()):
        raise ProtocolError(f"topology {topology.name!r} answered `files` with something else: {told!r:.200}")
    for name in files:
        # it comes from another machine, and is to stay in this directory
        if not name or name.startswith(".") or Path(name).name != name or "\0" in name:
            raise ProtocolError(f"topology {topology.name!r} has a file {name!r}; expected a plain name")
    return dict(files)


def _is_file(about: Any) -> bool:
    return isinstance(about, Mapping) and all(isinstance(about.get(name), int) for name in ("id", "bytes"))


def _fetch(topology: ClusterTopology, about: Mapping[str, int], target: Path) -> None:
    try:
        with target.open("wb") as file:
            while file.tell() < about["bytes"]:
                part = _part(topology, about["id"], file.tell())
                if not part:  # it has become shorter
                    return
                file.write(part)
    except OSError as error:
        raise BrokenError(f"{target} cannot be written: {error.strerror}") from error


def _part(topology: ClusterTopology, id: int, offset: int) -> bytes:
    told = topology.call("file", {"id": id, "offset": offset}, PART_SECONDS)
    try:
        unpacking = zlib.decompressobj()
        part = unpacking.decompress(base64.b64decode(told["content"], validate=True), _MOST_PART_BYTES)
        if not unpacking.eof:
            raise ValueError(f"expected a part of at most {_MOST_PART_BYTES} bytes")
        return part
    except (KeyError, TypeError, ValueError, zlib.error) as error:  # what is no base64 is a ValueError
        raise ProtocolError(f"topology {topology.name!r} answered `file` with something else: {error}") from error
