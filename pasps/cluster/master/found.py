"""What the store holds of one topology, read at once. Everything that decides or shows starts from it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from pasps.cluster.master.records import DriverStart
from pasps.cluster.store import layout
from pasps.cluster.store.contract import Entry, Store
from pasps.cluster.store.submission import Desired, DriverRecord, Submission, decoded, desired_of, driver_of, signed_submission
from pasps.cluster.store.tokens import submission_key
from pasps.errors import InvalidError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Found:
    """One topology. `submission` is None for what is left of one that was removed, and when it cannot be understood.

    `kept` is its entry as it was read, `problem` what of it cannot be understood. `alive` is the epoch of the driver that is
    registered, `launch` the newest start for this very topology, `last_epoch` that of any topology of this name.
    """

    name: str
    submission: Submission | None = None
    desired: Desired = field(default_factory=Desired)
    record: DriverRecord | None = None
    alive: int | None = None
    launch: DriverStart | None = None
    last_epoch: int = 0
    summary: bool = False
    problem: str = ""
    kept: bytes = b""

    @property
    def newest(self) -> int:
        """The epoch of the newest driver of this topology; 0: there was none."""
        return max(self.launch.epoch if self.launch else 0, self.record.epoch if self.record else 0, self.alive or 0)

    @property
    def is_refused(self) -> bool:
        """Whether its newest driver said that it cannot be started."""
        return self.launch is not None and self.launch.refused and self.launch.epoch == self.newest

    @property
    def newest_record(self) -> DriverRecord | None:
        """What the newest driver says of itself; None until it said something."""
        return self.record if self.record is not None and self.record.epoch == self.newest else None


async def find(store: Store, name: str, signing: str) -> Found | None:
    """Read it all; None when there is nothing of that name. What cannot be understood is None, and said in `problem`; so is a submission
    that no master with this key wrote.

    Raises:
        StoreUnavailableError: the store cannot be reached.
    """
    paths = [
        layout.topology(name),
        layout.driver(name),
        layout.alive(name),
        layout.launch(name),
        layout.summary(name),
    ]
    entry, driver, alive, launch, summary = await asyncio.gather(*map(store.read, paths))
    if entry is None:
        return None
    problems: list[str] = []
    key = submission_key(signing, name)
    submission = _understood(entry, lambda value, where: signed_submission(value, where, key), paths[0], problems)
    # where the submission cannot be understood that is problem enough
    desired = _understood(entry if entry.value else None, desired_of, paths[0], [] if problems else problems)
    last = _understood(launch, _launch_of, paths[3], problems)
    registered = _understood(alive, _alive_of, paths[2], problems)
    return Found(
        name=name,
        submission=submission,
        desired=desired or Desired(),
        record=_understood(driver, driver_of, paths[1], problems),
        alive=registered.epoch if registered else None,
        launch=last if last and submission and last.package == submission.package else None,
        last_epoch=last.epoch if last else 0,
        summary=summary is not None,
        problem="; ".join(problems),
        kept=entry.value,
    )


@dataclass(frozen=True, slots=True)
class _Alive:
    epoch: int


def _alive_of(value: bytes, where: str) -> _Alive:
    return decoded(value, _Alive, where)


def _launch_of(value: bytes, where: str) -> DriverStart:
    return decoded(value, DriverStart, where)


def _understood(entry: Entry | None, read: Callable[[bytes, str], _T], path: str, problems: list[str]) -> _T | None:
    if entry is None:
        return None
    try:
        return read(entry.value, path)
    except InvalidError as error:
        problems.append(str(error))
        return None
