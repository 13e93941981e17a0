"""Takes a package in: looks at it, keeps it, and makes the one entry that means that the topology is submitted.

The entry is made in one step, after everything else, and refused when the name is in use: a master that dies before it leaves at most
a file that nobody refers to, one that dies after it leaves a topology that the next leader starts. What is wanted of it is part of
that entry.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from pasps.clock import Clock
from pasps.cluster.master import records
from pasps.cluster.master.driver_process import Drivers
from pasps.cluster.master.failures import NameInUseError, NotLeadingError
from pasps.cluster.master.leadership import Leadership, misfit
from pasps.cluster.master.names import check_name
from pasps.cluster.master.package_check import Check, Checked, submission_in
from pasps.cluster.master.packages import Packages
from pasps.cluster.master.records import Submitted
from pasps.cluster.store import layout
from pasps.cluster.store.contract import Store, StoreUnavailableError
from pasps.cluster.store.submission import Desired, Submission, kept, signed_submission
from pasps.cluster.store.tokens import submission_key
from pasps.errors import BusyError, InvalidError

_log = logging.getLogger(__name__)


class Submissions:
    """For the leader. `wake` tells whoever starts drivers; `drivers` begins one that gets ready while a package is checked."""

    def __init__(
        self,
        store: Store,
        packages: Packages,
        leadership: Leadership,
        signing: str,
        clock: Clock,
        wake: Callable[[], None],
        check: Check,
        drivers: Drivers,
    ) -> None:
        self._store, self._packages, self._leadership = store, packages, leadership
        self._signing_key, self._clock, self._wake, self._check = signing, clock, wake, check
        self._drivers = drivers

    async def accept(self, package: Path, sha256: str) -> Submitted:
        """Submit what is in the file; the file stays.

        Raises:
            InvalidError: the package is refused, or the masters do not fit together; nothing was started.
            NameInUseError: a topology of its name is there.
            BrokenError: it could not be checked, kept or written down.
        """
        await self._refuse_unreadable()
        submission = await asyncio.to_thread(submission_in, package)
        if submission.name:
            check_name(submission.name)
            await self._refuse_used(submission.name)
        # neither knows of the other: it runs nothing of the package, and is told of it only by whoever starts the topology
        prepared = self._drivers.prepare()
        try:
            checked = await self._check(package, package.parent)
            check_name(checked.name)
            await self._refuse_used(checked.name)
            location = await self._packages.keep(package, checked.name, sha256)
            whole = replace(submission, name=checked.name, package=location, sha256=sha256, submitted=self._clock.wall())
            prepared.keep_for(checked.name)
            await self._create(whole, checked)
        except BaseException:
            prepared.drop()
            raise
        self._wake()
        return Submitted(checked.name, checked.workers)

    async def _create(self, submission: Submission, checked: Checked) -> None:
        name, wanted = submission.name, Desired("inactive" if submission.inactive else "active")
        try:
            if not self._leadership.leads:
                raise NotLeadingError("this master stopped leading while the package was checked; submit it again")
            await self._store.create(layout.topology(name), kept(submission, wanted, self._key(name)))
        except StoreUnavailableError as error:
            # it may be there, so its package must stay
            raise StoreUnavailableError(f"whether topology {name!r} was submitted is not known, `pasps list` shows it: {error}") from error
        except BusyError as error:
            if not await self._is_there(submission):
                await self._packages.remove(submission.package)
                raise _in_use(name) from error
        except BaseException:
            await self._packages.remove(submission.package)
            raise
        _log.info("topology %s was submitted", name)
        try:
            await self._store.write(records.components(name), msgspec.json.encode(checked.components))
        except StoreUnavailableError as error:
            # it is submitted; only a later `rebalance` is checked less well
            _log.warning("topology %s: what its components are is not kept: %s", name, error)

    async def _is_there(self, submission: Submission) -> bool:
        """Whether an entry of this name is this very one: a call that was repeated after a lost connection finds its own work."""
        path = layout.topology(submission.name)
        entry = await self._store.read(path)
        try:
            return entry is not None and signed_submission(entry.value, path, self._key(submission.name)) == submission
        except InvalidError:
            return False

    def _key(self, name: str) -> str:
        return submission_key(self._signing_key, name)

    async def _refuse_used(self, name: str) -> None:
        if await self._store.read(layout.topology(name)) is not None:
            raise _in_use(name)

    async def _refuse_unreadable(self) -> None:
        """Masters may have come after this one joined."""
        members = await self._leadership.members()
        me = self._leadership.me
        if problem := misfit(me, [member for member in members.values() if member.url != me.url]):
            raise InvalidError(problem)


def _in_use(name: str) -> NameInUseError:
    return NameInUseError(f"there is a topology {name!r} already; kill it first, or choose another name with --name")
