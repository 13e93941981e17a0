"""What cannot travel, and what comes from workers that are gone: nothing is lost, nothing stays counted, no credit leaks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pasps import Bolt, Grouping, Spout, Topology, TopologyContext, Tuple
from pasps.activation import without_worker
from pasps.errors import UnmovableError
from pasps.testing import StepOptions, StepRun
from pasps.transport.messages import Bundle, Mark, WireBatch
from tests.unit.transport import sample_classes as samples

FRAME = 4096
CONFIG = {"pasps.wire.max.frame.bytes": FRAME}


class Values(Spout):
    outputs = ["number", "value"]

    def next_tuple(self) -> float | None:
        return None


class Keep(Bolt):
    outputs = ["number", "value"]

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


class Chain(Topology):
    config = CONFIG
    values = Values.spec()
    one = Keep.spec(inputs={values: Grouping.SHUFFLE}, par=2)
    two = Keep.spec(inputs={one: Grouping.fields("number")}, par=2)


def told(run: StepRun) -> list[str]:
    return [report.text for report in run.journal.of("error")]


def check_accounts(run: StepRun) -> None:
    """When nothing is under way, nothing is counted as such, and all credit is back."""
    for worker in run.workers.values():
        assert not worker.acks
        for targets in worker.targets.values():
            assert [(target.component, target.task, target.outstanding) for target in targets if target.outstanding] == []
        for peer in worker.peers.values():
            back = run.workers[peer.id].peers[worker.id].got
            assert {edge: sent for edge, sent in peer.sent.items() if sent} == {edge: got for edge, got in back.items() if got}


def large(number: int) -> bool:
    return number % 7 == 3


def rows(count: int) -> list[list[Any]]:
    return [[number, "x" * (2 * FRAME if large(number) else 10)] for number in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_a_tuple_larger_than_a_frame_fails_alone_and_is_told(seed: int) -> None:
    with StepRun(Chain, 2, inputs={"values": rows(70)}, options=StepOptions(seed=seed, delays=True)) as run:
        run.run_to_end()
        check_accounts(run)
        arrived = {row[0] for row in run.emitted["two"]["default"]}
        failed = set(run.verdicts.failed["values"])
        assert arrived >= {number for number in range(70) if not large(number)}
        assert failed
        assert all(large(number) for number in failed)  # those that stayed in their worker came through
        assert set(run.verdicts.acked["values"]) | failed == set(range(70))
        assert f"a frame holds {FRAME} (pasps.wire.max.frame.bytes)" in told(run)[0]
        assert "component 'values', stream 'default': a tuple of 82" in "".join(told(run))


class Moody(Topology):
    config = {"pasps.wire.pickle": True}
    values = Values.spec()
    one = Keep.spec(inputs={values: Grouping.SHUFFLE}, par=2)


def test_a_tuple_that_cannot_be_had_at_the_other_end_fails_alone_and_is_told() -> None:
    samples.MOODS["_again"] = SystemExit(2)
    try:
        values = [[number, samples.Moody() if number % 5 == 1 else number] for number in range(40)]
        with StepRun(Moody, 2, inputs={"values": values}) as run:
            run.run_to_end()
            check_accounts(run)
            failed = set(run.verdicts.failed["values"])
            assert failed
            assert all(number % 5 == 1 for number in failed)
            assert set(run.verdicts.acked["values"]) | failed == set(range(40))
            assert "component 'values', stream 'default'" in told(run)[0]
            assert "SystemExit(2)" in told(run)[0]
    finally:
        samples.MOODS.clear()


class Hoard(Bolt):
    """Its state grows; large tuples queue up in front of it."""

    outputs = ["number"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.kept = "x" * conf["test.state"]

    def process(self, tup: Tuple) -> None:
        self.emit([tup.values[0]])


class Hoarded(Topology):
    config = CONFIG
    values = Values.spec()
    hoard = Hoard.spec(inputs={values: Grouping.fields("number")}, par=1, pool=2)


class SlowHoard(Hoard):
    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        await asyncio.sleep(0.1)
        super().process(tup)


class SlowlyHoarded(Topology):
    config = CONFIG
    values = Values.spec()
    hoard = SlowHoard.spec(inputs={values: Grouping.fields("number")}, par=1, pool=2)


def test_a_task_moves_with_a_queue_larger_than_a_frame() -> None:
    values = [[number, "x" * 1000] for number in range(60)]
    with StepRun(SlowlyHoarded, 2, inputs={"values": values}, config={"test.state": 10}) as run:
        for _ in range(50):
            run.step()
        assert run.left()["hoard"] > 20
        run.set_active("hoard", 2)
        run.run_to_end()
        check_accounts(run)
        assert run.journal.of("move_failed") == []
        assert len(run.journal.of("moved")) > 0
        assert sorted(row[0] for row in run.emitted["hoard"]["default"]) == list(range(60))
        assert run.verdicts.failed["values"] == []


def test_a_state_larger_than_a_frame_stays_where_it_is_and_is_told() -> None:
    with StepRun(Hoarded, 2, inputs={"values": rows(30)}, config={"test.state": 2 * FRAME}) as run:
        with pytest.raises(UnmovableError, match="a pickled task of "):
            run.set_active("hoard", 2)
        run.run_to_end()
        (report,) = run.journal.of("move_failed")
        assert "a pickled task of " in report.text
        assert f"a frame holds {FRAME} (pasps.wire.max.frame.bytes)" in report.text
        assert {row[0] for row in run.emitted["hoard"]["default"]} >= {number for number in range(30) if not large(number)}


def test_what_a_worker_sent_that_a_table_has_dropped_meanwhile_is_dropped() -> None:
    """It was on the way when the worker was lost: told to nobody, and not taken for a word of the worker's successor."""
    with StepRun(Chain, 3, inputs={"values": rows(3)}) as run:
        run.run_to_end()
        worker = run.workers["w1"]
        link = next(link for names, link in run.net.links.items() if set(names) == {"w0", "w1"})
        end = link.ends[0] if link.ends[0].peer.worker == "w1" else link.ends[1]
        edge = run.blueprint.components["two"].inputs[0].index
        end.send(Mark(1000))
        end.send(Bundle([WireBatch(edge, 0, 2, [(1, "late")], [5], [6])]))
        worker.apply(without_worker(worker.keeper.table, "w0"), {})
        link.pump()  # raises what a callback raises
        assert "w0" not in worker.peers
        assert not worker.acks


def test_an_earlier_connection_of_a_worker_does_not_speak_for_the_newer_one() -> None:
    with StepRun(Chain, 2, inputs={"values": rows(3)}) as run:
        run.run_to_end()
        worker, old = run.workers["w1"], run.workers["w1"].peers["w0"].connection
        assert old is not None
        run.net.join(run.workers["w0"], worker, {name: run.net.rows() for name in run.workers}, {"w0": 1, "w1": 1})
        marked = worker.peers["w0"].marked
        worker.on_message("w0", old, Mark(1000))
        assert worker.peers["w0"].marked == marked
