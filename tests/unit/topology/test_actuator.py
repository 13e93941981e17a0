"""The actuator: one table for all bolts of a plan, and what becomes of each."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from pasps.activation import ActivationTable, Routing, first_table, with_active
from pasps.control.decision_log import Act, Outcome, Restarted
from pasps.control.publisher import TablePublisher, Unmovable
from pasps.errors import UnmovableError
from pasps.topology.actuator import TableActuator

WORKERS = {"w0": 1, "w1": 1}
STAY = frozenset({"keyed"})


def table() -> ActivationTable:
    return first_table(
        {
            "first": Routing((0,), ("w0", "w1", "w0", "w1")),
            "second": Routing((0, 1), ("w1", "w0", "w1", "w0")),
            "keyed": Routing((0,), ("w0", "w1"), (0, 0)),
        },
        WORKERS,
    )


async def nobody(wanted: Mapping[str, int], held: Collection[str]) -> tuple[dict[str, Act], int, Restarted | None]:
    raise AssertionError("nobody asked for a restart")


class Confirming:
    """Workers that confirm each table, and each move, as soon as it is sent."""

    def __init__(self, *, confirm: bool = True, versions: ActivationTable | None = None, unmovable: Unmovable | None = None) -> None:
        self.tables: list[ActivationTable] = []
        self.confirm = confirm
        self.arrive = True
        self.publisher = TablePublisher(versions or table(), self.send, unmovable=unmovable)

    def send(self, worker: str, sent: ActivationTable) -> None:
        if worker == "w0" or len(sent.workers) == 1:
            self.tables.append(sent)
        if self.confirm:
            loop = asyncio.get_running_loop()
            loop.call_soon(self.publisher.applied, worker, sent.version)
            for task in range(2 if self.arrive else 0):
                loop.call_soon(self.publisher.moved, "keyed", task, sent.version)


def test_all_changes_of_a_plan_are_one_table() -> None:
    workers = Confirming()
    acts, version = asyncio.run(TableActuator(workers.publisher, nobody).set_replicas({"first": 3, "second": 1}, frozenset()))
    assert version == 2
    assert [sent.version for sent in workers.tables] == [2]
    assert {name: len(routing.active) for name, routing in workers.tables[0].components.items()} == {"first": 3, "second": 1, "keyed": 1}
    assert acts == {"first": Act(1, 3, 3, Outcome.DONE), "second": Act(2, 1, 1, Outcome.DONE)}


def test_what_is_so_already_publishes_nothing() -> None:
    workers = Confirming()
    assert asyncio.run(TableActuator(workers.publisher, nobody).set_replicas({"first": 1}, frozenset())) == ({}, 1)
    assert workers.tables == []


def test_a_bolt_that_must_stay_is_postponed_and_the_others_change() -> None:
    workers = Confirming()
    acts, version = asyncio.run(TableActuator(workers.publisher, nobody).set_replicas({"keyed": 2, "first": 2}, STAY))
    assert version == 2
    assert acts == {"keyed": Act(1, 2, 1, Outcome.POSTPONED), "first": Act(1, 2, 2, Outcome.DONE)}
    assert len(workers.publisher.table.components["keyed"].active) == 1


def test_a_keyed_bolt_changes_where_it_may() -> None:
    workers = Confirming()
    acts, _ = asyncio.run(TableActuator(workers.publisher, nobody).set_replicas({"keyed": 2}, frozenset()))
    assert acts == {"keyed": Act(1, 2, 2, Outcome.DONE)}


def test_with_one_worker_no_task_changes_worker_so_nothing_waits() -> None:
    alone = first_table({"keyed": Routing((0,), ("w0", "w0"), (0, 0))}, {"w0": 1})
    workers = Confirming(versions=alone)
    acts, _ = asyncio.run(TableActuator(workers.publisher, nobody).set_replicas({"keyed": 2}, STAY))
    assert acts == {"keyed": Act(1, 2, 2, Outcome.DONE)}


def test_a_bolt_that_cannot_move_fails_alone() -> None:
    workers = Confirming(unmovable={("keyed", 1): UnmovableError("keyed", 1, "socket", "cannot pickle")})
    acts, version = asyncio.run(TableActuator(workers.publisher, nobody).set_replicas({"keyed": 2, "second": 4}, frozenset()))
    assert version == 2
    assert acts["second"] == Act(2, 4, 4, Outcome.DONE)
    assert (acts["keyed"].outcome, acts["keyed"].after) == (Outcome.FAILED, 1)
    assert "socket" in acts["keyed"].error


def test_a_bolt_with_a_task_that_has_not_arrived_fails_alone() -> None:
    async def test() -> dict[str, Act]:
        workers = Confirming()
        workers.arrive = False
        first = asyncio.create_task(workers.publisher.change(lambda table: with_active(table, "keyed", 2), 5.0))
        await asyncio.sleep(0)
        assert await workers.publisher.wait_confirmed(2, 5.0)
        first.cancel()  # whoever asked has waited long enough
        workers.arrive = True

        acts, _ = await TableActuator(workers.publisher, nobody).set_replicas({"keyed": 1, "second": 4}, frozenset())
        return acts

    acts = asyncio.run(test())
    assert acts["second"] == Act(2, 4, 4, Outcome.DONE)
    assert (acts["keyed"].outcome, acts["keyed"].after) == (Outcome.FAILED, 2)
    assert "task 1 is still on its way to worker w1" in acts["keyed"].error


def test_without_a_live_worker_nothing_is_published() -> None:
    async def test() -> tuple[dict[str, Act], int]:
        workers = Confirming()
        workers.publisher.lose("w0")
        workers.publisher.lose("w1")
        before = workers.publisher.table.version
        acts, version = await TableActuator(workers.publisher, nobody).set_replicas({"first": 2}, frozenset())
        return acts, version - before

    acts, versions = asyncio.run(test())
    assert versions == 0
    assert acts["first"].outcome is Outcome.FAILED


def test_what_was_set_by_hand_meanwhile_is_left_alone() -> None:
    workers = Confirming()
    actuator = TableActuator(workers.publisher, nobody)
    actuator.held = {"first": 1}
    acts, version = asyncio.run(actuator.set_replicas({"first": 3, "second": 1}, frozenset()))
    assert version == 2
    assert acts == {"first": Act(1, 3, 1, Outcome.HELD), "second": Act(2, 1, 1, Outcome.DONE)}


def test_what_is_not_confirmed_has_failed_though_the_table_stands() -> None:
    async def test() -> tuple[dict[str, Act], int]:
        workers = Confirming(confirm=False)
        change = asyncio.create_task(TableActuator(workers.publisher, nobody, 0.01).set_replicas({"first": 3}, frozenset()))
        return await change

    acts, version = asyncio.run(test())
    assert version == 2
    assert (acts["first"].outcome, acts["first"].after) == (Outcome.FAILED, 3)
    assert "confirmed" in acts["first"].error


def test_a_restart_is_told_what_is_held_by_hand_by_then() -> None:
    asked = []

    async def restart(wanted: Mapping[str, int], held: Collection[str]) -> tuple[dict[str, Act], int, Restarted | None]:
        asked.append((wanted, held))
        return {}, 4, Restarted(1.0, 2.0)

    actuator = TableActuator(Confirming().publisher, restart)
    actuator.held = {"first": 1}
    assert asyncio.run(actuator.restart({"first": 3, "second": 1})) == ({}, 4, Restarted(1.0, 2.0))
    assert asked == [({"first": 3, "second": 1}, {"first": 1})]
