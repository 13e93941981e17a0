"""The second step: what a message's flow looks like up to that message, as numbers (in the spirit of CIRA-CIC-DoHBrw-2020's).

`FlowTable` is the pure part; the bolt keeps one in each task. A flow belongs to one task, wherever that runs.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Any

from pasps import Bolt, TopologyContext, Tuple
from topologies.dns.parsing import Message
from topologies.number_keys import above_zero, whole
from topologies.recent import Recent

Vector = tuple[float, ...]

FEATURES = (
    "messages",
    "bytes",
    "query_size_mean",
    "query_size_deviation",
    "answer_size_mean",
    "answer_size_deviation",
    "gap_mean",
    "gap_deviation",
    "name_length_mean",
    "longest_label_mean",
    "name_entropy_mean",
    "digit_share_mean",
    "new_domain_share",
    "address_share",
    "data_record_share",
    "nxdomain_share",
    "error_share",
)
"""What the places of a vector mean; a model names those that it was trained on. Counts and bytes are logarithms."""

_ADDRESSES = frozenset({"A", "AAAA", "HTTPS"})
_DATA_RECORDS = frozenset({"TXT", "NULL", "CNAME", "MX", "SRV", "KEY"})


@dataclass(slots=True)
class Moments:
    """Mean and standard deviation of numbers that come one by one."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Count one in."""
        self.count += 1
        self.total += value
        self.squares += value * value

    @property
    def mean(self) -> float:
        """0 before the first."""
        return self.total / self.count if self.count else 0.0

    @property
    def deviation(self) -> float:
        """0 before the second."""
        return math.sqrt(max(0.0, self.squares / self.count - self.mean**2)) if self.count else 0.0


class Flow:
    """What is kept of a flow: sums, so that its size does not depend on its length."""

    __slots__ = ("began", "codes", "domain", "domains", "gaps", "labels", "last", "names", "records", "sizes")

    def __init__(self, at: float) -> None:
        self.began = self.last = at
        self.sizes = (Moments(), Moments())
        """Of queries, and of answers."""
        self.gaps = Moments()
        self.names = tuple(Moments() for _ in range(4))
        """Length, longest label, entropy and share of digits of the names asked for."""
        self.records = [0, 0]
        self.codes = [0, 0]
        self.domain = ""
        self.domains = 0

    def add(self, at: float, message: Message) -> None:
        """Count a message in; one that comes late counts with no gap."""
        if self.sizes[0].count or self.sizes[1].count:
            self.gaps.add(max(0.0, at - self.last))
        self.last = max(self.last, at)
        self.sizes[message.is_answer].add(message.size)
        if message.is_answer:
            self.codes[0] += message.code == "NXDOMAIN"
            self.codes[1] += message.code not in ("NXDOMAIN", "NOERROR")
            return
        self.records[0] += message.record in _ADDRESSES
        self.records[1] += message.record in _DATA_RECORDS
        for moments, value in zip(self.names, described(message.name), strict=True):
            moments.add(value)
        domain = registered(message.name)
        self.domains += domain != self.domain
        self.domain = domain

    def vector(self) -> Vector:
        """The numbers of FEATURES."""
        queries, answers = self.sizes
        asked, answered = max(1, queries.count), max(1, answers.count)
        return (
            math.log1p(queries.count + answers.count),
            math.log1p(queries.total + answers.total),
            queries.mean,
            queries.deviation,
            answers.mean,
            answers.deviation,
            self.gaps.mean,
            self.gaps.deviation,
            *(moments.mean for moments in self.names),
            self.domains / asked,
            self.records[0] / asked,
            self.records[1] / asked,
            self.codes[0] / answered,
            self.codes[1] / answered,
        )


class FlowTable:
    """The flows that are going on: at most `most_flows`, those without a message for the longest time are forgotten first.

    A flow ends after `idle_seconds` without a message, and after `most_seconds` in all, by the messages' own times; what comes
    after that begins a new one. So does a message from long before, as when a recording is played again from its beginning.
    """

    def __init__(self, most_flows: int = 4096, idle_seconds: float = 60.0, most_seconds: float = 600.0) -> None:
        self._most_flows, self._idle, self._most_seconds = most_flows, idle_seconds, most_seconds
        self._flows: OrderedDict[str, Flow] = OrderedDict()

    def __len__(self) -> int:
        return len(self._flows)

    def add(self, key: str, at: float, message: Message) -> Vector:
        """Count a message in, and give what its flow looks like with it."""
        flow = self._flows.get(key)
        if flow is None or not self._goes_on(flow, at):
            flow = self._flows[key] = Flow(at)
        self._flows.move_to_end(key)
        flow.add(at, message)
        self._forget(at)
        return flow.vector()

    def _goes_on(self, flow: Flow, at: float) -> bool:
        return flow.began - self._idle <= at <= min(flow.last + self._idle, flow.began + self._most_seconds)

    def _forget(self, now: float) -> None:
        while self._flows:
            key, flow = next(iter(self._flows.items()))
            if len(self._flows) <= self._most_flows and now - flow.last <= self._idle:
                return
            del self._flows[key]


def described(name: str) -> tuple[int, int, float, float]:
    """Length, longest label, entropy in bits a character, and share of digits of a name without its top-level domain."""
    text = name.rpartition(".")[0] or name
    if not text:
        return 0, 0, 0.0, 0.0
    letters = Counter(text.replace(".", ""))
    size = letters.total()
    if not size:
        return len(text), 0, 0.0, 0.0
    entropy = -sum(count / size * math.log2(count / size) for count in letters.values())
    digits = sum(letters[digit] for digit in "0123456789")
    return len(text), max(map(len, text.split("."))), entropy, digits / size


def registered(name: str) -> str:
    """The last two labels. There is no list of public suffixes here: sites below "co.uk" count as one."""
    return ".".join(name.rsplit(".", 2)[-2:])


class Features(Bolt):
    """What each message's flow looks like with it. An event that comes again gets the answer of the first time, and is not counted.

    Keys: `dns.flows.max`, flows that a task keeps (4096); `dns.flow.idle.seconds` (60) and `dns.flow.most.seconds` (600), after
    which a flow ends.
    """

    outputs = ["event", "flow", "at", "message", "vector"]
    remembered = 4096

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        where = f"component {ctx.component_id!r}"
        self.flows = FlowTable(
            whole(conf, "dns.flows.max", 4096, 1, 10_000_000, where),
            above_zero(conf, "dns.flow.idle.seconds", 60.0, where),
            above_zero(conf, "dns.flow.most.seconds", 600.0, where),
        )
        self.recent: Recent[Vector] = Recent(self.remembered)

    def process(self, tup: Tuple) -> None:
        event, flow, at, message = tup.values
        vector: Vector | None = None
        if message.problem is None:
            vector = self.recent.get(event) or self.recent.keep(event, self.flows.add(flow, at, message))
        self.emit([event, flow, at, message, vector])
