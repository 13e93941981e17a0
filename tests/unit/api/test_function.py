"""Function bolts: called like functions, declared like bolts, pickled by name or by value."""

from __future__ import annotations

import copy
import operator
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import cloudpickle
import pytest

from pasps.api import FunctionBolt, Stream, bolt, declared_streams
from pasps.errors import TopologyError


@bolt(outputs=["id", "text"], par=2, pool=4, config={"mine": 1})
def clean(id: int, text: str) -> tuple[int, str]:
    """Lower the text."""
    return id, text.lower()


@bolt
def show(id: int, text: str) -> None: ...


class Holder:
    @staticmethod
    @bolt(outputs=["a"])
    def inside(a: int) -> tuple[int]:
        return (a,)

    def method(self, a: int) -> tuple[int]:
        return (a,)


def test_it_is_called_like_the_function() -> None:
    assert clean(1, "Storm") == (1, "storm")
    assert clean(id=1, text="A") == (1, "a")
    assert vars(clean)["__name__"] == "clean"
    assert clean.__doc__ == "Lower the text."
    assert repr(clean) == "<function bolt clean>"


def test_it_keeps_what_the_decorator_said() -> None:
    assert isinstance(clean, FunctionBolt)
    assert (clean.outputs, clean.par, clean.pool, clean.config) == (("id", "text"), 2, 4, {"mine": 1})
    assert (clean.batch, clean.execution, clean.concurrency, clean.is_async, clean.is_generator) == (False, "inline", 1, False, False)


def test_one_that_takes_columns_takes_batches() -> None:
    assert (clean.columns, bolt(columns=True)(len).columns, bolt(columns="numpy")(len).columns) == (False, True, "numpy")
    assert bolt(columns=True)(len).batch


def test_bare_it_is_a_sink() -> None:
    assert declared_streams(show.outputs) == {}
    assert show(1, "a") is None


def test_it_knows_async_functions_and_generators() -> None:
    @bolt(outputs=["a"], concurrency=8)
    async def fetch(url: str) -> tuple[str]:
        return (url,)

    @bolt(outputs=["a"])
    def split(line: str) -> Iterator[tuple[str]]:
        yield (line,)

    class Caller:
        async def __call__(self, a: int) -> None: ...

    assert (fetch.is_async, fetch.concurrency) == (True, 8)
    assert split.is_generator
    assert list(split("a")) == [("a",)]
    assert bolt(Caller()).is_async


def test_any_callable_will_do() -> None:
    double = bolt(outputs=["n"])(partial(operator.mul, 2))
    assert double(4) == 8
    assert repr(double) == "<function bolt partial>"


def test_module_level_ones_pickle_as_a_reference() -> None:
    for dump in (pickle.dumps, cloudpickle.dumps):
        assert pickle.loads(dump(clean)) is clean
        assert pickle.loads(dump(Holder.inside)) is Holder.inside
    assert copy.deepcopy(clean) is clean


def test_local_ones_pickle_by_value_with_what_they_close_over() -> None:
    factor = 3

    @bolt(outputs=["n"], columns="numpy", execution="thread", par=2)
    def times(n: int) -> tuple[int]:
        return (n * factor,)

    twin = pickle.loads(cloudpickle.dumps(times))
    assert twin is not times
    assert twin(4) == (12,)
    assert (twin.outputs, twin.columns, twin.execution, twin.par) == (("n",), "numpy", "thread", 2)


def test_a_shadowed_one_pickles_by_value() -> None:
    def clean(id: int, text: str) -> tuple[int, str]:
        return id, text.upper()

    clean.__qualname__ = "clean"
    assert pickle.loads(cloudpickle.dumps(bolt(outputs=["id", "text"])(clean)))(1, "a") == (1, "A")


def test_modules_registered_by_value_travel_by_value() -> None:
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    try:
        data = cloudpickle.dumps(clean)
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    twin = pickle.loads(data)
    assert twin is not clean
    assert twin(1, "A") == (1, "a")


MAIN = """
import sys, cloudpickle
from pasps.api import Spout, Topology, bolt

class Words(Spout):
    outputs = ["word"]
    def next_tuple(self): ...

@bolt(outputs=["word"])
def shout(word):
    return (word.upper(),)

class Shouting(Topology):
    words = Words.spec()
    shout = shout.spec(inputs=[words])

def uses_the_class():
    return Shouting.blueprint()

sys.stdout.buffer.write(cloudpickle.dumps((Shouting.blueprint(), shout, uses_the_class)))
"""


def test_what_is_defined_in_main_travels_to_another_process() -> None:
    data = subprocess.run([sys.executable, "-c", MAIN], check=True, capture_output=True).stdout
    blueprint, shout, uses_the_class = pickle.loads(data)
    assert shout("a") == ("A",)
    assert blueprint.components["shout"].make()("b") == ("B",)
    assert blueprint.components["words"].make().outputs == ["word"]
    assert uses_the_class() == blueprint


async def stream(a: int) -> AsyncIterator[tuple[int]]:
    yield (a,)


def several(rows: list[Any]) -> Iterator[Any]:
    yield rows


@pytest.mark.parametrize(
    ("function", "options", "expected"),
    [
        (stream, {}, "component 'stream': an async function bolt cannot yield; return a list of tuples"),
        (
            several,
            {"batch": True},
            "component 'several': a batch function cannot yield, since its results pair with its rows one to one; "
            "return a list as long as its rows, None for nothing",
        ),
        (
            len,
            {"outputs": [Stream(["a"], "x")]},
            "component 'len', stream 'x': a function bolt emits to 'default' alone, and never directly; write a class derived from Bolt",
        ),
        (
            len,
            {"outputs": [Stream(["a"], direct=True)]},
            "component 'len', stream 'default': a function bolt emits to 'default' alone, and never directly; "
            "write a class derived from Bolt",
        ),
        (
            Holder.method,
            {},
            "component 'Holder.method': @bolt stands over a method, and there would be no instance to call it on; "
            "move the function out of the class, or derive the class from Bolt",
        ),
        (
            several,
            {"columns": True},
            "component 'several': a batch function cannot yield, since its results pair with its rows one to one; "
            "return a column for each output field",
        ),
        (
            len,
            {"columns": "pandas"},
            "component 'len': columns must be True for lists, 'numpy' for arrays, or False, got 'pandas'; use one of them",
        ),
        (len, {"outputs": ["a", "a"]}, "component 'len', stream 'default': field 'a' is declared twice; rename one of them"),
    ],
)
def test_functions_that_cannot_be_bolts_are_refused_at_once(function: Any, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(TopologyError) as caught:
        bolt(**options)(function)
    assert str(caught.value) == expected


def test_arrays_without_numpy_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(TopologyError, match=r"component 'len': columns='numpy' needs numpy, which is not there; pip install numpy"):
        bolt(columns="numpy")(len)


@pytest.mark.parametrize("thing", [["a"], Holder, clean, "a"])
def test_only_functions_can_be_decorated(thing: Any) -> None:
    with pytest.raises(
        TopologyError, match=r"@bolt needs a function, got .*; write @bolt\(outputs=\['field', ...\]\) over a plain function"
    ):
        bolt(thing)
