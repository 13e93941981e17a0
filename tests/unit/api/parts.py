"""Components that may be put together, rightly or wrongly."""

from __future__ import annotations

from pasps.api import Bolt, Spout, Stream, Tuple, bolt


class Words(Spout):
    outputs = [Stream(["word", "line"]), Stream(["n"], "numbers"), Stream(["task"], "direct", direct=True)]

    def next_tuple(self) -> None: ...


class Count(Bolt):
    outputs = ["word", "count"]

    def process(self, tup: Tuple) -> None: ...


class Sink(Bolt):
    def process(self, tup: Tuple) -> None: ...


@bolt(outputs=["word"])
def clean(word: str, line: str) -> tuple[str]:
    return (word,)
