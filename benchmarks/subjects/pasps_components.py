"""The workloads as pasps components: a spout, each operator as a function bolt and as a class bolt, and sinks for both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.event_source import EventSource
from benchmarks.options import inherited
from benchmarks.sink import Sink
from benchmarks.workloads import (
    CLASSED_FIELDS,
    COUNTED_FIELDS,
    EVENT_FIELDS,
    FEATURE_FIELDS,
    RATED_FIELDS,
    SCORED_FIELDS,
    RunningCount,
    ident,
    rate,
    sentiment,
    stopwords,
    userclass,
)
from pasps import BatchBolt, Bolt, EndOfInput, Spout, StatefulFunction, Tuple, bolt
from pasps.api import TopologyContext


class EventSpout(Spout):
    """One source in each worker, with its residue class of the ids; tracked ones use the event's id."""

    outputs: tuple[str, ...] = EVENT_FIELDS

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        options = inherited()
        self.source = EventSource(options, ctx.task_index, options.workers)
        self.tracked = options.tracked

    def next_tuple(self) -> float | None:
        events = self.source.take()
        if events is None:
            raise EndOfInput
        if events:
            self.emit_batch(events, [event[0] for event in events] if self.tracked else None)
        return self.source.wait_seconds()


class FeatureSpout(EventSpout):
    """The same for W4."""

    outputs = FEATURE_FIELDS


class Count(RunningCount, StatefulFunction):
    """W3's fourth, as a function with state."""

    outputs = COUNTED_FIELDS


_TWEETS = (
    bolt(outputs=EVENT_FIELDS)(stopwords),
    bolt(outputs=SCORED_FIELDS)(sentiment),
    bolt(outputs=CLASSED_FIELDS)(userclass),
)
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "w1": (bolt(outputs=EVENT_FIELDS)(ident),) * 4,
    "w2": _TWEETS,
    "w3": (*_TWEETS, Count),
    "w4": (bolt(outputs=RATED_FIELDS)(rate),),
}


class Ident(Bolt):
    """W1's operator."""

    outputs = EVENT_FIELDS

    def process(self, tup: Tuple) -> None:
        self.emit(ident(*tup.values))


class StopWords(Bolt):
    """W2's first."""

    outputs = EVENT_FIELDS

    def process(self, tup: Tuple) -> None:
        self.emit(stopwords(*tup.values))


class Sentiment(Bolt):
    """W2's second."""

    outputs = SCORED_FIELDS

    def process(self, tup: Tuple) -> None:
        self.emit(sentiment(*tup.values))


class UserClass(Bolt):
    """W2's third."""

    outputs = CLASSED_FIELDS

    def process(self, tup: Tuple) -> None:
        self.emit(userclass(*tup.values))


class CountByClass(Bolt):
    """W3's fourth."""

    outputs = COUNTED_FIELDS

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.count = RunningCount()

    def process(self, tup: Tuple) -> None:
        self.emit(self.count(*tup.values))


class Rate(Bolt):
    """W4's operator."""

    outputs = RATED_FIELDS

    def process(self, tup: Tuple) -> None:
        self.emit(rate(*tup.values))


CLASSES: dict[str, tuple[type[Bolt], ...]] = {
    "w1": (Ident,) * 4,
    "w2": (StopWords, Sentiment, UserClass),
    "w3": (StopWords, Sentiment, UserClass, CountByClass),
    "w4": (Rate,),
}


class TupleSink(Bolt):
    """The end of the class topologies."""

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.sink = Sink(inherited())

    def process(self, tup: Tuple) -> None:
        self.sink.add(tup.values)

    def close(self) -> None:
        self.sink.close()


class BatchSink(BatchBolt):
    """The end of the function topologies."""

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.sink = Sink(inherited())

    def process_batch(self, tuples: list[Tuple]) -> None:
        add = self.sink.add
        for tup in tuples:
            add(tup.values)

    def close(self) -> None:
        self.sink.close()
