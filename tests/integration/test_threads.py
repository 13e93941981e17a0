"""A call on a thread that takes long holds nothing up but itself: what was kept ready behind it is done by another replica."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from pasps import Bolt, EndOfInput, LocalCluster, Spout, Topology, Tuple
from tests.integration.running import finish, until

COUNT = 40
OVER = threading.Event()
DONE: list[int] = []


class Numbers(Spout):
    outputs = ("number",)

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.given = 0

    def next_tuple(self) -> None:
        if self.given == COUNT:
            raise EndOfInput
        self.emit([self.given], tup_id=self.given)
        self.given += 1


class Hangs(Bolt):
    """Its first call is over when all others are, or gives up."""

    execution = "thread"
    outputs = ()

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.written = Path(conf["written"])

    def process(self, tup: Tuple) -> None:
        if tup[0] == 0:
            self.written.with_suffix(".begun").touch()
            self.written.write_text("in time" if OVER.wait(60) else "gave up")
            return
        DONE.append(tup[0])
        if len(DONE) == COUNT - 1:
            OVER.set()


class Behind(Topology):
    numbers = Numbers.spec()
    hangs = Hangs.spec(inputs=[numbers], pool=2)


@pytest.mark.parametrize("change", ["before it", "while it hangs"])
@pytest.mark.parametrize("tracked", [True, False])
def test_what_stands_behind_a_call_that_hangs_is_done_by_another(tmp_path: Path, change: str, tracked: bool) -> None:
    config = {"written": str(tmp_path / "written"), "topology.acker.executors": None if tracked else 0}
    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(Behind, config=config)
        if change == "before it":
            running.set_active("hangs", 2)
        until((tmp_path / "written.begun").exists, "the call that hangs")
        if change == "while it hangs":
            running.set_active("hangs", 2)
        finish(running, 90)
        stats = running.stats()
        running.kill()
    assert (tmp_path / "written").read_text() == "in time"
    assert stats.components["hangs"].executed == COUNT
    assert (stats.components["numbers"].acked, stats.failed, stats.pending) == (COUNT, 0, 0)
