"""Where a cluster keeps what must survive: a small tree of versioned values, with ephemeral entries, watches and elections.

Level-triggered: a watch says that something may have changed, never what; who is told reads, and acts on what is there. Nothing
per tuple and no metric goes through here. `zookeeper_store` and, for tests, `testing.memory_store` keep the contract of `Store`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pasps.errors import BrokenError, BusyError


class StoreUnavailableError(BrokenError):
    """The store cannot be reached now. Whether a write was done is not known."""


class ConflictError(BusyError):
    """The entry has another version than was expected; nothing was written."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A value, and how often it was written: 0 when it was created, one more with every write."""

    value: bytes
    version: int


class Registration(Protocol):
    """An ephemeral entry that is kept there as long as this process lives and the store can be reached."""

    async def withdraw(self) -> None:
        """Take it away, and keep it no more. More calls do nothing."""


class Watch(Protocol):
    """A subscription."""

    def cancel(self) -> None:
        """`changed` is not called any more."""


class Candidacy(Protocol):
    """A part in an election; after being deposed it stands again by itself."""

    async def withdraw(self) -> None:
        """Stand no more; a leader steps down."""


class Store(Protocol):
    """One session. Belongs to one event loop, on which all callbacks run; nothing blocks it.

    Paths begin with a slash. A call raises StoreUnavailableError within a few seconds when the store cannot be reached;
    registrations, watches and candidacies survive that, and go on by themselves.
    """

    @property
    def connected(self) -> bool:
        """Whether the store can be reached, as far as is known."""

    async def read(self, path: str) -> Entry | None:
        """What is there; None: nothing."""

    async def create(self, path: str, value: bytes) -> None:
        """Make an entry, and those above it.

        Raises:
            BusyError: there is one.
        """

    async def write(self, path: str, value: bytes, expected: int | None = None) -> int:
        """Write it, and make it if need be; with `expected` only if it has that version. Returns the new version.

        Raises:
            ConflictError: it has another version, or does not exist.
        """

    async def remove(self, path: str) -> None:
        """Take it away with everything below; nothing happens when it is not there."""

    async def children(self, path: str) -> list[str]:
        """The names below it, sorted; none when it is not there."""

    async def increment(self, path: str) -> int:
        """Count on, atomically: 1 the first time."""

    async def register(self, path: str, value: bytes) -> Registration:
        """Keep an ephemeral entry: it goes when this session ends, and is made again when this session lost it."""

    def watch(self, path: str, changed: Callable[[], None]) -> Watch:
        """Call `changed` soon after the entry, or the list of names below it, changed; after an outage too, and now and then
        for nothing."""

    async def candidate(self, path: str, name: str, elected: Callable[[], None], deposed: Callable[[], None]) -> Candidacy:
        """Stand for election. `deposed` is called before another one can be elected, as far as this process runs at all."""

    async def close(self) -> None:
        """End the session: ephemeral entries go at once. More calls do nothing."""
