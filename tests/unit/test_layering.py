"""Who may import whom, and where clocks and print may be used; read from the source, nothing is imported.

The rooms and their order are those of docs/architecture.md.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("pasps", "predictor_service")
BELOW = {"root", "api"}
ENGINE = BELOW | {"groupings", "transport", "control", "cluster", "runtime"}
PROCESSES = {
    "driver": {"cluster.driver"},
    "master": {"cluster.driver", "cluster.master"},
    "dev": {"cluster.master", "cluster.dev"},
}
"""Those of a cluster, below `pasps/cluster`, and the ones of them that each may import from."""
ROOMS: dict[str, set[str]] = {
    "root": {"root"},
    "api": BELOW,
    **{room: BELOW | {room} for room in ("groupings", "transport", "control", "cluster", "spouts")},
    "connectors": BELOW | {"connectors", "spouts", "transport"},
    "runtime": ENGINE,
    "testing": ENGINE | {"testing"},
    "report": BELOW | {"control", "report"},
    "simulation": BELOW | {"control", "groupings", "report", "simulation", "spouts"},
    "worker": ENGINE | {"worker"},
    "data": ENGINE | {"data", "report", "spouts", "worker"},
    "topology": ENGINE | {"worker", "topology", "report"},
    **{f"cluster.{room}": ENGINE | {"worker", "topology", "report"} | rooms for room, rooms in PROCESSES.items()},
}
ROOMS["cli"] = {*ROOMS, "cli", "door"}
ROOMS["door"] = {*ROOMS} - {"cli", "door"}  # pasps/__init__.py; __main__.py belongs to cli
"""Each room, and the rooms that its modules may import from."""
LISTENING = {"pasps.transport.entrance", "pasps.transport.http_server"}
"""There is one way to listen, for the predictor service too; who builds one of its own needs none of it."""
ASKED_IN_PROCESS = {"pasps/simulation/forecasters.py", "pasps/cli/predictor_train.py"}
"""A simulation asks the service's models without the service, which would answer in real time; and no service trains them."""


@dataclass(frozen=True)
class Import:
    """One imported module: `target` is its full name, `local` whether it is imported inside a function."""

    path: str
    line: int
    target: str
    local: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line} imports {self.target}"


Sources = Mapping[str, ast.Module]
Rule = Callable[[Sources], list[str]]


def module_name(path: str) -> str:
    """`pasps/api/__init__.py` is the module pasps.api."""
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The room a pasps module is in: its first directory, unless it is a root module or one of a cluster's processes."""
    if module == "pasps":
        return "door"
    if module == "pasps.__main__":
        return "cli"
    parts = module.split(".")
    if parts[1] == "cluster" and len(parts) > 2 and parts[2] in PROCESSES:
        return f"cluster.{parts[2]}"
    is_package = len(parts) > 2 or parts[1] in ROOMS or (ROOT / "pasps" / parts[1]).is_dir()
    return parts[1] if is_package else "root"


def package_of(module: str) -> str:
    return module.partition(".")[0]


def imports_of(path: str, tree: ast.Module, modules: set[str]) -> Iterator[Import]:
    """Every import of one file; `from pasps.api import tuples` is an import of pasps.api.tuples if that is a module."""
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, local = pending.pop()
        inside = local or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        pending += [(child, inside) for child in ast.iter_child_nodes(node)]
        if isinstance(node, ast.Import):
            yield from (Import(path, node.lineno, alias.name, local) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names = {f"{base}.{alias.name}" for alias in node.names}
            yield from (Import(path, node.lineno, name, local) for name in sorted({n if n in modules else base for n in names}))


def all_imports(sources: Sources) -> list[Import]:
    modules = {module_name(path) for path in sources}
    return [found for path, tree in sources.items() for found in imports_of(path, tree, modules)]


def of_pasps(sources: Sources) -> list[Import]:
    return [found for found in all_imports(sources) if package_of(module_name(found.path)) == "pasps"]


def rooms_import_only_what_is_below(sources: Sources) -> list[str]:
    wrong = []
    for found in of_pasps(sources):
        room, package = room_of(module_name(found.path)), package_of(found.target)
        if room not in ROOMS:
            wrong.append(f"{found.path}: the room {room!r} has no place in ROOMS")
        elif package == "pasps" and room_of(found.target) not in ROOMS[room]:
            wrong.append(f"{found}: {room} may not import {room_of(found.target)}")
        elif room == "root" and package not in {"pasps", "msgspec", *sys.stdlib_module_names}:
            wrong.append(f"{found}: a root module imports the standard library, msgspec and root modules only")
    return wrong


def packages_share_nothing(sources: Sources) -> list[str]:
    others = {"pasps": "predictor_service", "predictor_service": "pasps"}
    meant = [found for found in all_imports(sources) if found.target not in LISTENING and found.path not in ASKED_IN_PROCESS]
    found_in = [(package_of(module_name(found.path)), found) for found in meant]
    wrong = [found for package, found in found_in if others.get(package) == package_of(found.target)]
    return [f"{found}: they share only the JSON contract, and how to listen" for found in wrong]


def own_imports_are_absolute_and_at_the_top(sources: Sources) -> list[str]:
    wrong = [f"{found}: relative" for found in all_imports(sources) if found.target.startswith(".")]
    own = [found for found in all_imports(sources) if found.local and package_of(found.target) == package_of(module_name(found.path))]
    return wrong + [f"{found} inside a function: a layering mistake hides there" for found in own]


def imports_have_no_cycle(sources: Sources) -> list[str]:
    graph: dict[str, set[str]] = {module_name(path): set() for path in sources}
    for found in all_imports(sources):
        graph[module_name(found.path)].add(found.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return ["a cycle: " + " <- ".join(error.args[1])]
    return []


def time_is_read_by_clock_alone(sources: Sources) -> list[str]:
    return [f"{found}: take a Clock" for found in of_pasps(sources) if found.target == "time" and found.path != "pasps/clock.py"]


def only_cli_prints(sources: Sources) -> list[str]:
    quiet = {
        path: tree for path, tree in sources.items() if package_of(module_name(path)) in PACKAGES and not path.startswith("pasps/cli/")
    }
    calls = [(path, node) for path, tree in quiet.items() for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [f"{path}:{node.lineno} prints: use the module's logger" for path, node in calls if ast.unparse(node.func) == "print"]


LAYERING: list[Rule] = [
    rooms_import_only_what_is_below,
    packages_share_nothing,
    own_imports_are_absolute_and_at_the_top,
    imports_have_no_cycle,
    time_is_read_by_clock_alone,
    only_cli_prints,
]


def parsed(texts: Mapping[str, str]) -> Sources:
    return {path: ast.parse(text, path) for path, text in texts.items()}


def on_disk(directories: tuple[str, ...]) -> Sources:
    found = (path.relative_to(ROOT) for directory in directories for path in (ROOT / directory).rglob("*.py"))
    # what starts with a dot is not ours: environments, caches
    files = sorted(ROOT / path for path in found if not any(part.startswith(".") for part in path.parts))
    return parsed({path.relative_to(ROOT).as_posix(): path.read_text() for path in files})


@pytest.mark.parametrize("rule", LAYERING)
def test_packages_keep(rule: Rule) -> None:
    assert not rule(on_disk(PACKAGES))


BROKEN: list[tuple[Rule, dict[str, str]]] = [
    (rooms_import_only_what_is_below, {"pasps/ids.py": "import numpy"}),
    (rooms_import_only_what_is_below, {"pasps/ids.py": "from pasps.api import tuples"}),
    (rooms_import_only_what_is_below, {"pasps/api/spout.py": "import pasps.runtime.worker"}),
    (rooms_import_only_what_is_below, {"pasps/control/loop.py": "from pasps.cluster.store.contract import Store"}),
    (rooms_import_only_what_is_below, {"pasps/runtime/worker.py": "from pasps import Bolt"}),
    (rooms_import_only_what_is_below, {"pasps/topology/controller.py": "from pasps.cli.main import main"}),
    (rooms_import_only_what_is_below, {"pasps/testing/clock.py": "from pasps.topology import local_cluster"}),
    (rooms_import_only_what_is_below, {"pasps/worker/process.py": "from pasps.topology.controller import TopologyController"}),
    (rooms_import_only_what_is_below, {"pasps/topology/controller.py": "from pasps.cluster.driver.driver import Driver"}),
    (rooms_import_only_what_is_below, {"pasps/cluster/store/layout.py": "from pasps.cluster.master.records import DriverStart"}),
    (rooms_import_only_what_is_below, {"pasps/attic/old.py": "import os"}),
    (packages_share_nothing, {"pasps/control/client.py": "from predictor_service.schemas import Forecast"}),
    (packages_share_nothing, {"predictor_service/app.py": "import pasps.errors"}),
    (own_imports_are_absolute_and_at_the_top, {"pasps/api/bolt.py": "def f():\n    from pasps.api import spout"}),
    (own_imports_are_absolute_and_at_the_top, {"pasps/api/bolt.py": "from . import spout"}),
    (imports_have_no_cycle, {"pasps/a.py": "from pasps import b", "pasps/b.py": "import pasps.a"}),
    (time_is_read_by_clock_alone, {"pasps/runtime/meters.py": "from time import monotonic"}),
    (only_cli_prints, {"pasps/runtime/worker.py": "print('here')"}),
]


@pytest.mark.parametrize(("rule", "texts"), BROKEN)
def test_a_broken_rule_is_found(rule: Rule, texts: dict[str, str]) -> None:
    assert rule(parsed(texts))


@pytest.mark.parametrize("rule", LAYERING)
def test_good_code_passes(rule: Rule) -> None:
    texts = {
        "pasps/__init__.py": "from pasps.api.bolt import Bolt\nfrom pasps.topology.local import Local",
        "pasps/__main__.py": "from pasps.cli.main import main",
        "pasps/errors.py": "import os",
        "pasps/api/bolt.py": "import msgspec\nfrom pasps.errors import PaspsError\ndef f():\n    import numpy",
        "pasps/runtime/worker.py": "from pasps.api import bolt\nfrom pasps.transport.tcp import Tcp",
        "pasps/transport/tcp.py": "from pasps import errors",
        "pasps/topology/local.py": "from pasps.runtime import worker\nfrom pasps.cluster.store.contract import Store",
        "pasps/cli/main.py": "import pasps\nfrom pasps.topology.local import Local\nprint(Local)",
        "pasps/clock.py": "import time",
    }
    assert not rule(parsed(texts))
