from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import cloudpickle
import pytest

from pasps.api.blueprint import Blueprint
from pasps.api.topology import blueprint_of
from pasps.topology.load_file import FileError, load

PARTS = """
from pasps import Bolt, Spout, Topology, TopologyBuilder

class S(Spout):
    outputs = ["n"]
    def next_tuple(self):
        pass

class B(Bolt):
    def process(self, tup):
        pass
"""
ONE = PARTS + "\nclass OneTopology(Topology):\n    s = S.spec()\n    b = B.spec(inputs=[s])\n"
BUILT = PARTS + "\nbuilder = TopologyBuilder()\nbuilder.set_spout('s', S)\nbuilder.set_bolt('b', B).shuffle_grouping('s')\n"

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Writes a topology file of a name that no other test uses, and forgets the module afterwards."""
    name = f"loaded_{abs(hash(str(tmp_path)))}"
    before = list(sys.path)

    def written(text: str) -> str:
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        return str(path)

    yield written
    sys.path[:] = before
    if (module := sys.modules.pop(name, None)) is not None and name in cloudpickle.list_registry_pickle_by_value():
        cloudpickle.unregister_pickle_by_value(module)


def test_the_only_class_is_the_one(write: Write) -> None:
    path = write(ONE + "\nfrom pasps import Topology as T\n")
    topology = load(path)
    assert blueprint_of(topology).name == "one-topology"
    assert sys.path[0] == str(Path(path).parent)


def test_inside_a_package_that_package_can_be_imported_too(write: Write, tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    load(write(ONE))
    assert sys.path[:2] == [str(tmp_path), str(tmp_path.parent)]


def test_what_a_builder_made_counts_once_under_two_names(write: Write) -> None:
    topology = load(write(BUILT + "\nbuilt = again = builder.create_topology('by-hand')\n"))
    assert isinstance(topology, Blueprint)
    assert topology.name == "by-hand"


def test_what_it_defines_travels_by_value(write: Write) -> None:
    path = write(ONE)
    pickled = cloudpickle.dumps(blueprint_of(load(path)))
    module = sys.modules.pop(Path(path).stem)
    try:
        sys.path.remove(str(Path(path).parent))
        assert cloudpickle.loads(pickled).components["b"].shape == "bolt"
    finally:
        sys.modules[Path(path).stem] = module


@pytest.mark.parametrize("wanted", ["Two", "two", "three", "by-hand"])
def test_of_several_one_is_chosen_by_any_of_its_names(write: Write, wanted: str) -> None:
    topology = load(write(BUILT + "\nthree = builder.create_topology('by-hand')\n" + ONE + "\nclass Two(OneTopology):\n    pass\n"), wanted)
    assert blueprint_of(topology).name == ("two" if wanted.lower() == "two" else "by-hand")


@pytest.mark.parametrize(
    ("text", "wanted", "words"),
    [
        (PARTS, None, "there is no topology in it; define a class derived from Topology"),
        (BUILT, None, "there is no topology in it; call create_topology(name) on the builder"),
        (ONE + "\nclass Two(OneTopology):\n    pass\n", None, "choose one with --topology: OneTopology (one-topology), Two (two)"),
        (ONE, "OneTopolgy", "there is no topology 'OneTopolgy' in it; did you mean 'OneTopology'?"),
        (ONE, "zzz", "it has OneTopology (one-topology)"),
        ("x = (\n", None, "it cannot be imported\n  File"),
        ("import no_such_module\n", None, "ModuleNotFoundError: No module named 'no_such_module'"),
        ("import sys; sys.exit(3)\n", None, "it calls sys.exit(3) while it is imported"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(write: Write, text: str, wanted: str | None, words: str) -> None:
    with pytest.raises(FileError) as caught:
        load(write(text), wanted)
    assert words in str(caught.value)


def test_a_refused_topology_shows_the_users_lines_alone(write: Write) -> None:
    path = write(PARTS + "\nclass Bad(Topology):\n    s = S.spec()\n    b = B.spec(inputs=['nobody'])\n")
    with pytest.raises(FileError) as caught:
        load(path)
    text = str(caught.value)
    assert "'nobody' is no component" in text
    assert text.count('File "') == 1
    assert f'File "{path}"' in text


def test_paths_that_are_no_topology_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text("")
    (tmp_path / "queue.py").write_text("")
    for name, words in [
        ("nothing.py", "no such file"),
        (".", "is a directory"),
        ("topology.txt", "ends in .py"),
        ("queue.py", "rename the file"),
    ]:
        with pytest.raises(FileError, match=words):
            load(str(tmp_path / name))
