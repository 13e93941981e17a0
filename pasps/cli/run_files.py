"""The files that a topology of a cluster keeps of itself where its driver runs, brought here."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from pasps.cli.cluster_topology import ClusterTopology
from pasps.errors import BrokenError, ProtocolError

FETCH_SECONDS = 120.0


def fetch_run_files(topology: ClusterTopology, directory: Path) -> None:
    """Write them into `directory`, which exists. Blocks for as long as so much takes.

    Raises:
        ProtocolError: they are not what files of a run are.
        PaspsError: what the topology answered.
    """
    told = topology.call("files", seconds=FETCH_SECONDS)
    try:
        files = {str(name): base64.b64decode(content, validate=True) for name, content in told["files"].items()}
    except (KeyError, TypeError, AttributeError, ValueError, binascii.Error) as error:
        raise ProtocolError(f"topology {topology.name!r} answered `files` with something else: {error}") from error
    for name, content in files.items():
        # it comes from another machine, and is to stay in this directory
        if not name or name.startswith(".") or Path(name).name != name or "\0" in name:
            raise ProtocolError(f"topology {topology.name!r} has a file {name!r}; expected a plain name")
        try:
            (directory / name).write_bytes(content)
        except OSError as error:
            raise BrokenError(f"{directory / name} cannot be written: {error.strerror}") from error
