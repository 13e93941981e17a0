"""Other workers and pools for a topology that was submitted: checked as a submission is, written down, and left to the loop.

A topology that runs must not be ended for what cannot be started, so nothing is written before its package was loaded with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pasps.cluster.master import records
from pasps.cluster.master.intents import TRIES, Intents
from pasps.cluster.master.locks import Locks
from pasps.cluster.master.package_check import Check
from pasps.cluster.master.packages import Packages
from pasps.cluster.master.records import Rebalance
from pasps.cluster.store.contract import Store
from pasps.cluster.store.submission import Submission, decoded
from pasps.errors import BusyError, InvalidError


class Rebalances:
    """For the leader. `scratch` is a directory for what checks write."""

    def __init__(self, store: Store, intents: Intents, packages: Packages, check: Check, scratch: Path) -> None:
        self._store, self._intents, self._packages = store, intents, packages
        self._check, self._scratch = check, scratch
        # of its own: the loop goes on while a package is checked
        self._turns = Locks()

    async def rebalance(self, name: str, wanted: Rebalance) -> None:
        """Keep what a restart is to change; the driver drains and ends, and the next one starts with it.

        Raises:
            UnknownTopologyError: there is no such topology.
            InvalidError: the topology cannot run so, in the words of its check; nothing was changed.
            BusyError: it is being killed, or another master changes it all the time.
            BrokenError: it could not be checked; nothing was changed.
        """

        def change(submission: Submission) -> Submission:
            workers = submission.workers if wanted.workers is None else wanted.workers
            return replace(submission, workers=workers, pools={**submission.pools, **wanted.pools})

        async with self._turns.of(name):
            for _ in range(TRIES):
                changed = await self._intents.restart_with(name, change)
                await self._check_pools(name, wanted.pools)
                await self._check(Path(await self._packages.local(changed.package)), self._scratch, changed)
                if await self._intents.restart(name, change, changed, wanted.wait):
                    return
        raise BusyError(f"topology {name!r} is changed by another master all the time; ask again")

    async def _check_pools(self, name: str, pools: Mapping[str, int]) -> None:
        """What can be told without loading its package."""
        entry = await self._store.read(records.components(name))
        if entry is None or not pools:
            return
        known = decoded(entry.value, dict[str, dict[str, Any]], records.components(name))
        bolts = [component for component, plan in known.items() if plan.get("shape") != "spout"]
        for bolt in pools:
            if bolt not in bolts:
                raise InvalidError(f"there is no bolt {bolt!r} in topology {name!r}; it has {', '.join(bolts)}")
