"""What outlives a lost session of the memory store: registrations, candidacies, watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from pasps.cluster.store.path import ROOT, above, below, turn
from pasps.errors import BusyError
from pasps.testing.memory_tree import Tree


class Kept(Protocol):
    """What is made again after a lost session."""

    @property
    def is_over(self) -> bool:
        """Nothing is to be kept, nor to be taken away."""

    def lose(self) -> None:
        """The session is lost."""

    def repair(self) -> None:
        """Do what is due, if it can be done now."""


class MemoryRegistration:
    """An ephemeral entry of a memory session; the newest who registers a path has it."""

    def __init__(self, tree: Tree, path: str, value: bytes, reachable: Callable[[], bool]) -> None:
        self._tree, self._path, self._value, self._reachable = tree, path, value, reachable
        self._wanted, self._made = True, False

    @property
    def is_over(self) -> bool:
        """Nothing is to be kept, nor to be taken away."""
        return not self._wanted and not self._made

    async def withdraw(self) -> None:
        """See `Registration`."""
        self._wanted = False
        self.repair()
        await asyncio.sleep(0)

    def take(self) -> None:
        """Make it, in the place of another's."""
        there = self._tree.find(self._path)
        if there is not None and there.owner is None:
            raise BusyError(f"store: {self._path!r} exists, and is not ephemeral")
        if there is not None:
            self._tree.drop(self._path)
        self._tree.add(self._path, self._value, self)
        self._made = True

    def lose(self) -> None:
        """The session is lost."""
        self._drop()

    def repair(self) -> None:
        """Make it again, or take it away. Not in the place of another's, nor when what was above it is gone."""
        if not self._reachable():
            return
        if not self._wanted:
            self._drop()
        elif not self._made and self._tree.find(self._path) is None and self._tree.find(above(self._path)) is not None:
            self.take()

    def _drop(self) -> None:
        there = self._tree.find(self._path)
        if there is not None and there.owner is self:
            self._tree.drop(self._path)
        self._made = False


class MemoryCandidacy:
    """A part in an election of a memory session: an ephemeral entry with a number, the smallest leads."""

    def __init__(
        self,
        tree: Tree,
        path: str,
        name: str,
        elected: Callable[[], None],
        deposed: Callable[[], None],
        reachable: Callable[[], bool],
    ) -> None:
        self._tree, self._path, self._name, self._reachable = tree, path, name, reachable
        self._elected, self._deposed = elected, deposed
        self._entry = ROOT
        self._wanted, self._leads = True, False

    @property
    def is_over(self) -> bool:
        """Nothing is to be kept, nor to be taken away."""
        return not self._wanted and not self._stands()

    async def withdraw(self) -> None:
        """See `Candidacy`."""
        self._wanted = False
        self.repair()
        await asyncio.sleep(0)

    def lose(self) -> None:
        """The session is lost."""
        self._step_down()
        if self._stands():
            self._tree.drop(self._entry)

    def repair(self) -> None:
        """Stand, lead or stand no more."""
        if not self._wanted:
            self._step_down()
        if not self._reachable():
            return
        if self._stands() and not self._wanted:
            self._tree.drop(self._entry)
        elif not self._stands() and self._wanted:
            self._step_down()
            self._entry = below(self._path, f"{self._name}-{self._tree.next_turn():010}")
            self._tree.add(self._entry, self._name.encode(), self)
        elif self._wanted and not self._leads and below(self._path, min(self._tree.names(self._path), key=turn)) == self._entry:
            self._leads = True
            asyncio.get_running_loop().call_soon(self._elected)

    def _stands(self) -> bool:
        return self._entry != ROOT and self._tree.find(self._entry) is not None

    def _step_down(self) -> None:
        if self._leads:
            self._leads = False
            asyncio.get_running_loop().call_soon(self._deposed)


class MemoryWatch:
    """A subscription of a memory session; several changes at once are told once."""

    def __init__(self, path: str, changed: Callable[[], None]) -> None:
        self.path = path
        self.is_kept = True
        self._changed = changed
        self._told = False

    def tell(self) -> None:
        """Call it soon."""
        if not self._told:
            self._told = True
            asyncio.get_running_loop().call_soon(self._call)

    def cancel(self) -> None:
        """See `Watch`."""
        self.is_kept = False

    def _call(self) -> None:
        self._told = False
        if self.is_kept:
            self._changed()
