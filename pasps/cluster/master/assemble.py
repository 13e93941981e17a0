"""Joins what a master does, above its session with the store and below HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from pasps.clock import Clock
from pasps.cluster.master.app import Parts
from pasps.cluster.master.driver_process import Drivers
from pasps.cluster.master.endings import Endings
from pasps.cluster.master.intents import Intents
from pasps.cluster.master.leadership import Leadership
from pasps.cluster.master.locks import Locks
from pasps.cluster.master.package_check import Check, FewAtOnce, check_package
from pasps.cluster.master.packages import Packages
from pasps.cluster.master.rebalance import Rebalances
from pasps.cluster.master.reconciler import Reconciler
from pasps.cluster.master.records import Member
from pasps.cluster.master.submissions import Submissions
from pasps.cluster.master.topologies import Topologies
from pasps.cluster.store.contract import Store


@dataclass(frozen=True, slots=True)
class Means:
    """What a master works with. `incoming` is a directory for packages on their way in; `signing` is the token where it is empty."""

    packages: Packages
    processes: Drivers
    token: str
    clock: Clock
    incoming: Path
    check: Check = check_package
    signing: str = ""


@dataclass(frozen=True, slots=True)
class Master:
    """`leadership` is to be joined, `reconciler` to be run, and `parts` answer requests."""

    leadership: Leadership
    reconciler: Reconciler
    parts: Parts


def assemble(store: Store, me: Member, means: Means) -> Master:
    """A master that has not begun."""
    leadership = Leadership(store, f"{me.host}-{token_hex(4)}", me)
    locks, clock, signing = Locks(), means.clock, means.signing or means.token

    def leads() -> bool:
        return leadership.leads

    endings = Endings(store, means.packages, clock, leads)
    reconciler = Reconciler(store, means.processes, means.packages, endings, locks, signing, clock)
    check = FewAtOnce(means.check)
    submissions = Submissions(store, means.packages, leadership, signing, clock, reconciler.wake, check, means.processes)
    intents = Intents(store, locks, signing, leads, reconciler.wake)
    topologies = Topologies(store, reconciler, endings, intents, signing, clock)
    rebalances = Rebalances(store, intents, means.packages, check, means.incoming)
    return Master(leadership, reconciler, Parts(store, leadership, submissions, topologies, rebalances, endings, means.incoming))
