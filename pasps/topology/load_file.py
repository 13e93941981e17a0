"""From a file of the user's to the topologies in it. The file is imported once, as a module of its own name."""

from __future__ import annotations

import importlib.util
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

import cloudpickle

from pasps.api.blueprint import Blueprint
from pasps.api.builder import TopologyBuilder
from pasps.api.topology import Topology, kebab
from pasps.cluster.package.imports import import_roots
from pasps.errors import PaspsError, TopologyError
from pasps.worker.tracebacks import users_traceback

Runnable = type[Topology] | Blueprint
"""What can be submitted."""


class FileError(TopologyError):
    """A topology file that cannot be used; the message is complete."""

    def __init__(self, text: str) -> None:
        PaspsError.__init__(self, text)


def load(path_text: str, wanted: str | None = None) -> Runnable:
    """The topology in a file; of several the one that is `wanted`, by class, variable or topology name.

    Raises:
        FileError: no such file, it does not load, or it does not have exactly one topology that fits.
    """
    path = Path(path_text)
    return choose(path_text, topologies_in(load_module(path)), wanted, _has_builder(path))


def load_module(path: Path) -> ModuleType:
    """Import the file; workers get what it defines by value, so that they need not find it.

    What is beside it can be imported, and when it is inside a package, that package too.

    Raises:
        FileError: there is no such file, its name belongs to another module, or it raises.
    """
    if not path.is_file():
        raise FileError(f"{path}: {'is a directory; name the Python file in it' if path.is_dir() else 'there is no such file'}")
    if path.suffix != ".py":
        raise FileError(f"{path}: expected a Python file, whose name ends in .py")
    name = re.sub(r"\W", "_", path.stem)
    if name in sys.modules or name in sys.stdlib_module_names:
        raise FileError(f"{path}: a module named {name!r} exists already, and the file would hide it; rename the file")
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    roots = [str(root) for root in import_roots(path)]
    sys.path[:] = [*roots, *(entry for entry in sys.path if entry not in roots)]
    sys.modules[name] = module
    # before the import: function bolts ask for it when a topology that holds them is copied
    cloudpickle.register_pickle_by_value(module)
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        problem = f"{path}: it calls sys.exit({error.code!r}) while it is imported"
        raise FileError(f"{problem}; move what starts something under `if __name__ == '__main__':`") from error
    except Exception as error:
        raise FileError(f"{path}: it cannot be imported\n{users_traceback(error)}") from error
    return module


def topologies_in(module: ModuleType) -> dict[str, Runnable]:
    """The topologies that a module defines, by the name of class or variable; imported classes do not count."""
    found: dict[str, Runnable] = {}
    for name, value in vars(module).items():
        is_own_class = isinstance(value, type) and issubclass(value, Topology) and value.__module__ == module.__name__
        if (is_own_class or isinstance(value, Blueprint)) and not any(value is other for other in found.values()):
            found[name] = value
    return found


def choose(file: str, found: dict[str, Runnable], wanted: str | None, has_builder: bool = False) -> Runnable:
    """The one that is meant.

    Raises:
        FileError: none fits, or several do.
    """
    if not found:
        cure = (
            "call create_topology(name) on the builder and keep what it returns" if has_builder else "define a class derived from Topology"
        )
        raise FileError(f"{file}: there is no topology in it; {cure}")
    listed = ", ".join(_named(name, topology) for name, topology in found.items())
    if wanted is None:
        if len(found) == 1:
            return next(iter(found.values()))
        raise FileError(f"{file}: there are several topologies in it; choose one with --topology: {listed}")
    for name, topology in found.items():
        if wanted in (name, topology_name(topology)):
            return topology
    near = get_close_matches(wanted, [n for name, topology in found.items() for n in (name, topology_name(topology))], n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise FileError(f"{file}: there is no topology {wanted!r} in it; {hint}it has {listed}")


def topology_name(topology: Runnable) -> str:
    """The name it is submitted under unless it is given another."""
    return topology.name if isinstance(topology, Blueprint) else kebab(topology.__name__)


def _named(name: str, topology: Runnable) -> str:
    other = topology_name(topology)
    return name if other == name else f"{name} ({other})"


def _has_builder(path: Path) -> bool:
    module = sys.modules[re.sub(r"\W", "_", path.stem)]
    return any(isinstance(value, TopologyBuilder) for value in vars(module).values())
