"""What `pasps et` is to measure: the topology, how its code comes to Spark, and which entries of its file are to stay."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from pasps.api.blueprint import Blueprint
from pasps.api.topology import blueprint_of
from pasps.cli.topology_file import load_here, missing_module
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.control.et_file import OperatorTimes, parse
from pasps.data.et_spark import Code, Here, ship
from pasps.data.spark import is_local
from pasps.errors import InvalidError
from pasps.topology.load_file import FileError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def loaded(request: PackageRequest) -> Blueprint:
    """The topology, imported here: its spouts are asked here, and its order must be known.

    Raises:
        InvalidError: it cannot be imported, or cannot run.
    """
    try:
        topology = load_here(request)
    except FileError as error:
        missing = missing_module(error)
        if request.requirements is None or missing is None:
            raise
        cure = f"the topology is needed here too, so install it here as well: pip install -r {request.requirements}"
        raise FileError(f"{request.file}: module {missing!r} is not here; {cure}") from error
    return blueprint_of(topology, None, dict(request.options))


def bolts_to_skip(names: list[str], blueprint: Blueprint) -> frozenset[str]:
    """The bolts that `--skip` names.

    Raises:
        InvalidError: one is none, or none is left.
    """
    bolts = [name for name, plan in blueprint.components.items() if not plan.is_spout]
    for name in names:
        if name not in bolts:
            near = get_close_matches(name, bolts, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its bolts are {', '.join(bolts) or 'none'}"
            raise InvalidError(f"--skip {name}: the topology has no bolt {name!r}; {hint}")
    if set(bolts) <= set(names):
        raise InvalidError(f"topology {blueprint.name!r} has no bolt to measure" + (" but those of --skip" if names else ""))
    return frozenset(names)


def entries_to_keep(out: Path, skipped: frozenset[str]) -> Mapping[str, OperatorTimes]:
    """What the file says already of bolts that are not measured now.

    Raises:
        InvalidError: the file cannot be written, or what is there is no such file.
    """
    if not out.parent.is_dir() or out.is_dir():
        raise InvalidError(f"--out {out}: expected a file in a folder that exists")
    try:
        with tempfile.TemporaryFile(dir=out.parent):
            pass
    except OSError as error:
        raise InvalidError(f"{out} cannot be written: {error.strerror or error}; give another with --out") from error
    if not skipped or not out.is_file():
        return {}
    entries = parse(out.read_text(encoding="utf-8", errors="replace"), str(out)).operators
    return {name: entry for name, entry in entries.items() if name in skipped}


def code_for(request: PackageRequest, master: str, session: SparkSession, scratch: Path, say: Callable[[str], None]) -> Code:
    """How executors find the user's code: in the same places on this machine, in a package that is shipped elsewhere.

    Raises:
        InvalidError: something for the package is not there, or not what it should be.
        BrokenError: it cannot be written.
    """
    if is_local(master) and request.requirements is None:
        return Here(tuple(sys.path))
    package = scratch / "package.zip"
    build_package(request, package, say)
    return ship(session, package, scratch / "parts")
