"""What changes the hash of a component's source, and what does not."""

from __future__ import annotations

import importlib.util
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pasps.api import Bolt, Spout, Topology, TopologyBuilder, Tuple, bolt
from pasps.api.source import source_hash

FUNCTION = """
from pasps import bolt

@bolt(outputs=["word"], par=2, pool=4)
def split(line):
    '''Into words.'''
    return [(word,) for word in line.split()]  # by spaces
"""
CLASS = """
from pasps import Bolt

class Base(Bolt):
    def cleaned(self, line):
        return line.strip()

class Split(Base):
    outputs = ["word"]
    pool = 4

    def process(self, tup):
        pool = tup.values.line.split()
        for word in pool:
            self.emit([self.cleaned(word)])

split = Split
"""
Load = Callable[[str], Any]


@pytest.fixture
def hash_of(tmp_path: Path) -> Iterator[Load]:
    """The hash of `split` in a module with that text."""
    numbers = itertools.count()
    loaded: list[str] = []

    def hash_of(text: str) -> str | None:
        name = f"source_{next(numbers)}"
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        loaded.append(name)
        spec.loader.exec_module(module)
        return hash_in(module.split)

    yield hash_of
    for name in loaded:
        del sys.modules[name]


def hash_in(subject: Any) -> str | None:
    builder = TopologyBuilder()
    builder.set_spout("lines", Lines)
    builder.set_bolt("split", subject).shuffle_grouping("lines")
    return source_hash(builder.create_topology("t").components["split"])


class Lines(Spout):
    outputs = ["line"]

    def next_tuple(self) -> None: ...


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        (FUNCTION, "  # by spaces", ""),
        (FUNCTION, "'''Into words.'''", '"""Words of a line."""'),
        (FUNCTION, "    '''Into words.'''\n", "\n\n"),
        (FUNCTION, '"word"', "'word'"),
        (FUNCTION, "[(word,) for word in line.split()]", "[\n        (word,)\n        for word in line.split()\n    ]"),
        (FUNCTION, "par=2, pool=4", "pool=16"),
        (FUNCTION, ", par=2, pool=4", ""),
        (CLASS, "    pool = 4\n", "    pool: int = 16\n"),
        (CLASS, "class Base(Bolt):", "class Other:\n    x = 1\n\nclass Base(Bolt):"),
    ],
)
def test_what_does_not_change_the_cost_does_not_change_the_hash(hash_of: Load, text: str, before: str, after: str) -> None:
    assert before in text
    assert hash_of(text) == hash_of(text.replace(before, after))


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        (FUNCTION, "line.split()", "line.split(',')"),
        (FUNCTION, "par=2", "batch=True"),
        (FUNCTION, "@bolt", "@list_of\n@bolt"),
        (CLASS, "line.strip()", "line.lstrip()"),
        (CLASS, "self.cleaned(word)", "word"),
        (CLASS, "pool = tup.values.line.split()", "pool = []"),
        (CLASS, "class Split(Base)", "class Split(Bolt)"),
    ],
)
def test_what_it_does_changes_the_hash(hash_of: Load, text: str, before: str, after: str) -> None:
    head = "def list_of(decorated):\n    return decorated\n"
    changed = text.replace(before, after, 1 if before == "@bolt" else -1)
    assert before in text
    assert hash_of(head + text) != hash_of(head + changed)


def test_it_is_a_sha256_and_the_same_each_time(hash_of: Load) -> None:
    first = hash_of(CLASS)
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", first)
    assert first == hash_of(CLASS)


class Scaled(Bolt):
    outputs = ["n"]

    def __init__(self, factor: int = 1) -> None:
        self.factor = factor

    def process(self, tup: Tuple) -> None:
        self.emit([self.factor])


class Called:
    def __call__(self, line: str) -> None: ...


def test_an_instance_has_the_source_of_its_class() -> None:
    assert hash_in(Scaled(2)) == hash_in(Scaled) is not None


def test_a_bound_function_and_a_callable_object_have_one_too() -> None:
    def plain(factor: int, line: str) -> None: ...

    assert hash_in(bolt(partial(plain, 2))) == hash_in(bolt(partial(plain, 3))) is not None
    assert hash_in(bolt(Called())) is not None


def test_without_source_there_is_no_hash() -> None:
    made: dict[str, Any] = {"__name__": "__main__", "Bolt": Bolt, "bolt": bolt}
    exec("class Typed(Bolt):\n    def process(self, tup): ...\n\n@bolt\ndef typed(line): ...\n", made)
    assert hash_in(made["Typed"]) is None
    assert hash_in(made["typed"]) is None
    assert hash_in(bolt(print)) is None


def test_spouts_have_one_as_well() -> None:
    class Reading(Topology):
        lines = Lines.spec()

    assert source_hash(Reading.blueprint().components["lines"]) is not None
