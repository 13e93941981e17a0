"""What is counted as emitted again after a crash of a spout that reads several parts, as files or partitions are."""

from __future__ import annotations

from typing import Any

from pasps import Bolt, Topology, TopologyContext, Tuple
from pasps.api.spout import Spout
from pasps.testing import StepRun

PARTS = ("a", "b")


class Parts(Spout):
    """Two parts, each with a position of its own: where everything before it is done. What was emitted behind it comes again."""

    outputs = ["part", "number"]
    most = 1

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.done = dict(ctx.position or dict.fromkeys(PARTS, 0))
        self.began = sum(self.done.values())
        self.next = dict(self.done)
        self.acked: set[tuple[str, int]] = set()

    def next_tuple(self) -> float:
        for part in PARTS:
            for number in range(self.next[part], type(self).most):
                self.emit([part, number], tup_id=(part, number))
            self.next[part] = max(self.next[part], type(self).most)
        return 0.1

    def ack(self, tup_id: tuple[str, int]) -> None:
        self.acked.add(tup_id)
        for part in PARTS:
            while (part, self.done[part]) in self.acked:
                self.done[part] += 1
        self.save_position(dict(self.done), covers=sum(self.done.values()) - self.began)


class KeepsFirst(Bolt):
    """Never lets go of the first event of part a, while `keeps`; all others it acks."""

    auto_ack = False
    keeps = True

    def process(self, tup: Tuple) -> None:
        if not (type(self).keeps and tup.values == ("a", 0)):
            self.ack(tup)


class Reading(Topology):
    parts = Parts.spec()
    kept = KeepsFirst.spec(inputs=[parts])


def test_new_events_are_no_replays_though_the_last_one_before_the_crash_was_done() -> None:
    Parts.most, KeepsFirst.keeps = 1, True
    with StepRun(Reading, 1) as run:
        run.run_until_idle()
        KeepsFirst.keeps = False
        run.kill("w0")
        run.restart("w0")
        Parts.most = 50
        for _ in range(20):
            run.run_until_idle()
            run.advance(0.1)
        counts = run.counts()["parts"]
    assert (counts.acked, counts.emitted, counts.replayed) == (100, 101, 1)
