from __future__ import annotations

import asyncio

from pasps.activation import Routing, first_table
from pasps.topology.keeper import Keeper, NoKeeper, Resume

TABLE = first_table({"step": Routing((0,), ("w0",))}, {"w0": 1})


def test_on_one_machine_incarnations_are_counted_for_each_worker() -> None:
    async def test() -> list[int]:
        keeper: Keeper = NoKeeper()
        return [await keeper.incarnation(worker) for worker in ("w0", "w0", "w1", "w0")]

    assert asyncio.run(test()) == [1, 2, 1, 3]


def test_on_one_machine_nothing_is_kept() -> None:
    keeper: Keeper = NoKeeper()
    asyncio.run(keeper.intend(TABLE))
    keeper.acted(TABLE, {"w0": "here"})
    keeper.reached({1: b"p"})
    assert keeper.resume == Resume(0, {}, {})
