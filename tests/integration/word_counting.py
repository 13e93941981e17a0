"""A word count in one file, without a database, for the tests of the command line: equal words meet in the same task.

`wordcount.sentences`: how many (without it: no end); `wordcount.rate`: sentences a second (1000; null: as fast as it goes);
`wordcount.output`: a file for the counts.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pasps import Bolt, EndOfInput, Grouping, Spout, Topology, TopologyContext, Tuple, bolt

SENTENCES = (
    "the cow jumped over the moon",
    "an apple a day keeps the doctor away",
    "four score and seven years ago",
    "snow white and the seven dwarfs",
    "i am at two with nature",
)


class Sentences(Spout):
    """The same five sentences over and over. A sentence that failed is emitted again."""

    outputs = ["sentence"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.most = conf.get("wordcount.sentences")
        rate = conf.get("wordcount.rate", 1000)
        self.pause = 1 / rate if rate else None
        self.next = 0

    def next_tuple(self) -> float | None:
        if self.next == self.most:
            raise EndOfInput
        self.emit_sentence(self.next)
        self.next += 1
        return self.pause

    def fail(self, tup_id: int) -> None:
        self.emit_sentence(tup_id)

    def emit_sentence(self, number: int) -> None:
        self.emit([SENTENCES[number % len(SENTENCES)]], tup_id=number)


@bolt(outputs=["word"])
def split(sentence: str) -> list[tuple[str]]:
    """One tuple for each word."""
    return [(word,) for word in sentence.split()]


class Count(Bolt):
    """Sees every occurrence of the words that are its own, wherever its task runs."""

    outputs = ["word", "count"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.counts: Counter[str] = Counter()

    def process(self, tup: Tuple) -> None:
        word = tup["word"]
        self.counts[word] += 1
        self.emit([word, self.counts[word]])


class Totals(Bolt):
    """Keeps the newest count of every word, and writes them down at the end."""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.output = conf.get("wordcount.output")
        self.totals: dict[str, int] = {}

    def process(self, tup: Tuple) -> None:
        word, count = tup.values
        self.totals[word] = max(count, self.totals.get(word, 0))

    def close(self) -> None:
        if self.output:
            lines = [f"{word} {count}\n" for word, count in sorted(self.totals.items())]
            Path(self.output).write_text("".join(lines), encoding="utf-8")


class WordCount(Topology):
    """sentences -> split -> count, by word -> totals."""

    sentences = Sentences.spec()
    words = split.spec(inputs=[sentences], name="split", par=2, pool=4)
    count = Count.spec(inputs={words: Grouping.fields("word")}, par=2, pool=8)
    totals = Totals.spec(inputs={count: Grouping.GLOBAL})
