"""Word count: sentences are split into words, equal words meet in the same task, which counts them, and the database adds them up.

    pasps run topologies/word_count/word_count.py -o events.total=10000

Configuration: the keys of `EventSpout` (`events.file`: the lines of a text instead) and of `SqlSink` (`sql.url`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pasps import Bolt, Grouping, Topology, TopologyContext, Tuple, bolt
from pasps.connectors.sql import SqlSink
from pasps.spouts import EventSpout
from topologies.recent import Recent
from topologies.word_count.sentences import counted, sentence


class Sentences(EventSpout):
    """Made up, or the lines of a text."""

    outputs = ["event", "sentence"]

    def synthetic(self, number: int) -> tuple[str]:
        return (sentence(number, self.seed),)

    def from_line(self, line: str) -> tuple[str]:
        return (line,)


@bolt(outputs=["event", "word", "times"])
def split(event: int, sentence: str) -> Iterator[tuple[int, str, int]]:
    """One tuple for each different word, and how often it stands in the sentence."""
    for word, times in counted(sentence).items():
        yield event, word, times


class Count(Bolt):
    """Sees every occurrence of the words that are its own, wherever its task runs.

    A sentence that comes again gets the counts of the first time, and is not counted. What a killed worker had counted is gone.
    """

    outputs = ["event", "word", "times", "running"]
    remembered = 4096

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.counts: Counter[str] = Counter()
        self.recent: Recent[dict[str, int]] = Recent(self.remembered)

    def process(self, tup: Tuple) -> None:
        event, word, times = tup.values
        known = self.recent.get(event)
        if known is None:
            known = self.recent.keep(event, {})
        if word not in known:
            self.counts[word] += times
            known[word] = self.counts[word]
        self.emit([event, word, times, known[word]])


class Store(SqlSink):
    """One row for a word of a sentence, however often that comes; so sums over them are exact."""

    table = "words"
    columns = {"event": int, "word": str, "times": int, "running": int}
    key = ("event", "word")


class WordCount(Topology):
    """sentences -> split -> count, by word -> store."""

    # what is in flight is remembered by `count`, so that what fails is not counted twice
    config = {"topology.max.spout.pending": 4_000}

    sentences = Sentences.spec()
    words = split.spec(inputs=[sentences], name="split", par=1, pool=4)
    count = Count.spec(inputs={words: Grouping.fields("word")}, par=2, pool=8)
    store = Store.spec(inputs=[count], par=1, pool=4)
