"""DABS-Storm's complex sensitive topology (its Figure 10): opinions in two branches, by city and by age.

    pasps run topologies/complex_sensitive/complex_sensitive.py -o events.total=12000

The dispatcher drops opinions on topics that nobody asked for, and sends each branch only what it needs. Where a user lives is
found at a cost that depends on the code, as in the simple sensitive topology; the analyzers keep what says something about a
subgroup, and the persister stores it.

Configuration: the keys of `EventSpout`; `values.skew` of the Zipf law of the codes (1.5; 0: all alike); `work.rounds`, what finding a
city costs for each one of its code (1000); `sql.url`.
"""

from __future__ import annotations

from typing import Any

from pasps import Bolt, Stream, Topology, TopologyContext, Tuple, bolt
from pasps.connectors.sql import SqlSink
from pasps.spouts import EventSpout
from topologies.complex_sensitive.opinion_json import opinion_in
from topologies.complex_sensitive.opinions import IRRELEVANT, Opinion, age_group, city_of, opinion_of, verdict
from topologies.simple_sensitive.sensitive import Sensitive, skew_of
from topologies.work import work


class OpinionSource(EventSpout):
    """Opinions, at a rate that rises far, stays there and falls; of a file, one JSON object a line."""

    outputs = ["event", "user", "age", "code", "topic", "opinion"]
    usual_kind = "progressive"
    own_keys = ("values.skew", "work.rounds")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.skew = skew_of(conf, ctx.component_id)
        super().initialize(conf, ctx)

    def synthetic(self, number: int) -> Opinion:
        return opinion_of(number, self.seed, self.skew)

    def from_line(self, line: str) -> Opinion:
        return opinion_in(line)


class CategoryDispatcher(Bolt):
    """Drops irrelevant topics; to each branch goes what it works on."""

    outputs = [
        Stream(name="city", fields=["event", "code", "topic", "opinion"]),
        Stream(name="age", fields=["event", "age", "topic", "opinion"]),
    ]

    def process(self, tup: Tuple) -> None:
        event, _, age, code, topic, opinion = tup.values
        if topic not in IRRELEVANT:
            self.emit([event, code, topic, opinion], stream="city")
            self.emit([event, age, topic, opinion], stream="age")


class CityFinder(Sensitive):
    """The city in place of its code; as dear as `Sensitive` finds the code."""

    outputs = ["event", "city", "topic", "opinion"]

    def process(self, tup: Tuple) -> None:
        event, code, topic, opinion = tup.values
        work(code * self.rounds, code)
        self.emit([event, city_of(code), topic, opinion])


@bolt(outputs=["event", "age_group", "topic", "opinion"])
def age_finder(event: int, age: int, topic: str, opinion: float) -> tuple[int, str, str, float]:
    """The age's group in its place."""
    return event, age_group(age), topic, opinion


class Analyzer(Bolt):
    """Keeps the opinions that say something about their subgroup: who lives in a city, or is of an age."""

    outputs = ["event", "branch", "subgroup", "topic", "verdict"]
    branch = ""

    def process(self, tup: Tuple) -> None:
        event, subgroup, topic, opinion = tup.values
        found = verdict(opinion)
        if found is not None:
            self.emit([event, self.branch, subgroup, topic, found])


class CityAnalyzer(Analyzer):
    """Subgroups by city."""

    branch = "city"


class AgeAnalyzer(Analyzer):
    """Subgroups by age."""

    branch = "age"


class Store(SqlSink):
    """The persister: up to two rows an event, one for each branch."""

    table = "opinions"
    columns = {"event": int, "branch": str, "subgroup": str, "topic": str, "verdict": str}
    key = ("event", "branch")


class ComplexSensitive(Topology):
    """source -> dispatcher -> city_finder -> city_analyzer -> persister, and dispatcher -> age_finder -> age_analyzer -> persister."""

    source = OpinionSource.spec()
    dispatcher = CategoryDispatcher.spec(inputs=[source], par=1, pool=4)
    city_finder = CityFinder.spec(inputs=[dispatcher["city"]], par=1, pool=8)
    city_analyzer = CityAnalyzer.spec(inputs=[city_finder], par=1, pool=4)
    ages = age_finder.spec(inputs=[dispatcher["age"]], name="age_finder", par=1, pool=4)
    age_analyzer = AgeAnalyzer.spec(inputs=[ages], par=1, pool=4)
    persister = Store.spec(inputs=[city_analyzer, age_analyzer], par=1, pool=4)
