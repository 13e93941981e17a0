"""A topology's file as `submit` and `et` are given it: the options, what they ask to be packed, and the file imported here."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from pasps.cli.options import given_options
from pasps.cluster.package.make import PackageRequest
from pasps.topology.load_file import load


def add_file(parser: argparse.ArgumentParser) -> None:
    """FILE, and which topology of it."""
    add = parser.add_argument
    add("file", metavar="FILE", help="a Python file with a Topology class, or with what TopologyBuilder.create_topology returned")
    add("--topology", metavar="NAME", help="which one, when the file has several: the name of the class, the variable or the topology")


def add_package(parser: argparse.ArgumentParser) -> None:
    """Its configuration, and what comes along with it."""
    add = parser.add_argument
    add("-o", "--option", metavar="KEY=VALUE", action="append", default=[], help="a configuration key; may be given several times")
    add("--py-files", metavar="F,...", action="append", default=[], help="zips, eggs, .py files or folders that it imports too")
    add("--requirements", metavar="FILE", help="install what this asks for into an environment of its own, and ship that")


def request_of(options: argparse.Namespace) -> PackageRequest:
    """What these options ask for.

    Raises:
        InvalidError: a configuration key that is none, or with a wrong value.
    """
    return PackageRequest(
        file=Path(options.file),
        topology=options.topology,
        options=given_options(options.option),
        py_files=tuple(Path(name) for names in options.py_files for name in names.split(",") if name),
        requirements=None if options.requirements is None else Path(options.requirements),
    )


def load_here(request: PackageRequest) -> Any:
    """What the file has, imported in this process, with the files that come along in its path.

    Raises:
        FileError: it cannot be imported.
    """
    for given in request.py_files:
        folder = given if given.suffix != ".py" and not (given / "__init__.py").is_file() else given.parent
        sys.path.insert(0, str(folder.resolve()))
    # what a file prints while it is imported must not be taken for a result
    with redirect_stdout(sys.stderr):
        return load(str(request.file), request.topology)


def missing_module(error: BaseException) -> str | None:
    """The module that a file could not be imported for; None when that was not why. What imports it may have put it in own words."""
    cause = error.__cause__
    while cause is not None and not isinstance(cause, ModuleNotFoundError):
        cause = cause.__cause__
    return None if cause is None else cause.name
