"""What keeps a set of components from being a topology, and the words in which each is refused."""

from __future__ import annotations

from typing import Any

import pytest

from pasps.api import Grouping, Spout, StatefulFunction, Stream, bolt
from pasps.api.declaration import Declaration, Input
from pasps.api.validate import validated
from pasps.errors import TopologyError
from tests.unit.api.parts import Count, Sink, Words, clean


class Seen(StatefulFunction):
    def __call__(self, word: str) -> None: ...


class Anything(Spout):
    outputs = [Stream([])]

    def next_tuple(self) -> None: ...


@bolt
def nothing() -> None: ...


@bolt
def keyword_only(word: str, line: str, *, strict: bool) -> None: ...


WORDS = Declaration("words", Words)
COUNT = Declaration("count", Count, (Input("words"),))


def reading(*inputs: Input, subject: Any = Sink, **more: Any) -> list[Declaration]:
    return [WORDS, COUNT, Declaration("sink", subject, inputs, **more)]


def on(grouping: Any, stream: str = "default") -> list[Declaration]:
    return reading(Input("words", stream, grouping))


REFUSED: list[tuple[str, list[Declaration], str, str, str]] = [
    (
        "no spout",
        [Declaration("count", Count, (Input("count"),))],
        "topology",
        "there is no spout, so nothing would ever flow",
        "add a component derived from Spout",
    ),
    ("no input", reading(), "component 'sink'", "this bolt has no input", "give it one of 'words', 'count'"),
    (
        "spout with input",
        [WORDS, Declaration("more", Words, (Input("words", "numbers"),))],
        "component 'more', stream 'numbers'",
        "a spout has no inputs, got 'words'",
        "drop its inputs, or derive it from Bolt",
    ),
    ("duplicate", [WORDS, WORDS], "component 'words'", "two components have this name", "rename one of them"),
    ("empty id", [Declaration("", Words)], "topology", "a component's name must be a non-empty string, got ''", "name the component"),
    ("id no string", [Declaration(3, Words)], "topology", "a component's name must be a non-empty string, got 3", "name the component"),  # type: ignore[arg-type]
    (
        "reserved id",
        [Declaration("__words", Words)],
        "component '__words'",
        "names that begin with '__' are reserved",
        "rename the component",
    ),
    (
        "odd id",
        [Declaration("a=b", Words)],
        "component 'a=b'",
        "a component's name must have no '/', '=' or control character",
        "rename it",
    ),
    (
        "unknown",
        reading(Input("word")),
        "component 'sink', stream 'default'",
        "its input 'word' is no component of this topology",
        "did you mean 'words'?",
    ),
    (
        "unknown far",
        reading(Input("x9")),
        "component 'sink', stream 'default'",
        "its input 'x9' is no component of this topology",
        "there are 'words', 'count', 'sink'",
    ),
    (
        "no stream",
        reading(Input("words", "nums")),
        "component 'sink', stream 'nums'",
        "'words' has no such stream",
        "it has 'default', 'numbers', 'direct'",
    ),
    (
        "no outputs",
        [*reading(Input("words")), Declaration("end", Sink, (Input("sink"),))],
        "component 'end', stream 'default'",
        "'sink' has no such stream",
        "declare the outputs of 'sink'",
    ),
    (
        "twice",
        reading(Input("words"), Input("words", grouping=Grouping.ALL)),
        "component 'sink', stream 'default'",
        "it reads this stream of 'words' twice",
        "list it once, with one grouping",
    ),
    (
        "unknown field",
        on(Grouping.fields("word", "wrod")),
        "component 'sink', stream 'default'",
        "fields(word, wrod) names field 'wrod', which 'words' does not emit",
        "its fields are 'word', 'line'",
    ),
    (
        "partial key",
        on(Grouping.partial_key("m"), "numbers"),
        "component 'sink', stream 'numbers'",
        "partial_key(m) names field 'm', which 'words' does not emit",
        "its fields are 'n'",
    ),
    (
        "direct on plain",
        on(Grouping.DIRECT),
        "component 'sink', stream 'default'",
        "DIRECT needs a direct stream of 'words'",
        "declare it with Stream([...], direct=True)",
    ),
    (
        "plain on direct",
        on(Grouping.SHUFFLE, "direct"),
        "component 'sink', stream 'direct'",
        "'words' emits directly to it, so shuffle cannot choose",
        "use Grouping.DIRECT",
    ),
    (
        "no grouping",
        on("shuffle"),
        "component 'sink', stream 'default'",
        "'shuffle' is no grouping for 'words'",
        "use for example Grouping.SHUFFLE or Grouping.fields('word')",
    ),
    (
        "par 0",
        reading(Input("words"), par=0),
        "component 'sink'",
        "par must be an integer of at least 1, got 0",
        "set par to the number of replicas",
    ),
    (
        "par no int",
        reading(Input("words"), par=True),
        "component 'sink'",
        "par must be an integer of at least 1, got True",
        "set par to the number of replicas",
    ),
    (
        "pool no int",
        reading(Input("words"), pool="8"),
        "component 'sink'",
        "pool must be an integer of at least 1, got '8'",
        "set pool to the number of replicas",
    ),
    (
        "pool < par",
        reading(Input("words"), par=4, pool=2),
        "component 'sink'",
        "pool = 2 is less than par = 4",
        "raise pool to at least 4, or lower par",
    ),
    ("pool too large", reading(Input("words"), pool=4097), "component 'sink'", "pool = 4097 is more than 4096", "set it to at most 4096"),
    (
        "spout pool",
        [Declaration("words", Words, par=1, pool=2)],
        "component 'words'",
        "pool = 2 differs from par = 1, but all tasks of a spout are always active",
        "leave pool out",
    ),
    (
        "self loop",
        [WORDS, Declaration("a", Count, (Input("words"), Input("a")))],
        "component 'a', stream 'default'",
        "a cycle: a -> a",
        "drop the input 'a' of 'a', or another one of these",
    ),
    (
        "arity",
        reading(Input("count"), Input("words", "numbers"), subject=clean),
        "component 'sink', stream 'numbers'",
        "clean(word, line) is called with the 1 field (n) of 'words': missing a required argument: 'line'",
        "let it take one positional argument for each field of every input",
    ),
    (
        "arity none",
        reading(Input("words"), subject=nothing),
        "component 'sink', stream 'default'",
        "nothing() is called with the 2 fields (word, line) of 'words': too many positional arguments",
        "let it take one positional argument for each field of every input",
    ),
    (
        "arity keyword",
        reading(Input("words"), subject=keyword_only),
        "component 'sink', stream 'default'",
        "keyword_only(word, line, *, strict) is called with the 2 fields (word, line) of 'words': missing a required argument: 'strict'",
        "let it take one positional argument for each field of every input",
    ),
    (
        "arity of a stateful function",
        reading(Input("words"), subject=Seen),
        "component 'sink', stream 'default'",
        "Seen.__call__(word) is called with the 2 fields (word, line) of 'words': too many positional arguments",
        "let it take one positional argument for each field of every input",
    ),
    (
        "arity of an instance",
        reading(Input("words"), subject=Seen()),
        "component 'sink', stream 'default'",
        "Seen.__call__(word) is called with the 2 fields (word, line) of 'words': too many positional arguments",
        "let it take one positional argument for each field of every input",
    ),
    (
        "arity columns",
        reading(Input("words"), subject=bolt(columns=True)(lambda a: None)),
        "component 'sink', stream 'default'",
        "<lambda>(a) is called by column with the 2 fields (word, line) of 'words': too many positional arguments",
        "let it take one positional argument for each field of every input",
    ),
    (
        "columns of nothing",
        [Declaration("any", Anything), Declaration("sink", bolt(columns=True)(lambda: None), (Input("any"),))],
        "component 'sink', stream 'default'",
        "it is called by column, but 'any' emits tuples without fields",
        "write batch=True in place of columns=",
    ),
    (
        "arity batch",
        reading(Input("words"), subject=bolt(batch=True)(lambda a, b: None)),
        "component 'sink', stream 'default'",
        "<lambda>(a, b) is called with one list of rows: missing a required argument: 'b'",
        "let it take one positional argument",
    ),
]


@pytest.mark.parametrize(("declarations", "where", "problem", "cure"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_broken_topology_is_refused_with_component_stream_and_cure(
    declarations: list[Declaration], where: str, problem: str, cure: str
) -> None:
    with pytest.raises(TopologyError) as caught:
        validated("t", declarations)
    assert str(caught.value) == f"{where}: {problem}; {cure}"
    assert caught.value.cure == cure


def test_a_cycle_is_named_in_the_direction_of_its_flow() -> None:
    declarations = [
        Declaration("after", Sink, (Input("c"),)),
        Declaration("a", Count, (Input("words"), Input("c"))),
        Declaration("b", Count, (Input("a"),)),
        Declaration("c", Count, (Input("b"),)),
        WORDS,
    ]
    with pytest.raises(TopologyError) as caught:
        validated("t", declarations)
    assert str(caught.value) == (
        "component 'a', stream 'default': a cycle: c -> a -> b -> c; drop the input 'c' of 'a', or another one of these"
    )
