"""The entries of the memory store, and who owns the ephemeral ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pasps.cluster.store.path import above, ancestors, below
from pasps.errors import BusyError, InvalidError


@dataclass(slots=True)
class Node:
    """A value, how often it was written, and the owner whose going takes it away; None: it stays."""

    value: bytes
    owner: object | None
    version: int = 0


class Tree:
    """All entries. Tells its listeners every path whose entry or children changed, while it changes: they are to act later."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {"/": Node(b"", None)}
        self._listeners: list[Callable[[str], None]] = []
        self._turns = 0

    def listen(self, changed: Callable[[str], None]) -> None:
        """Tell it of all changes from now on."""
        self._listeners.append(changed)

    def forget(self, changed: Callable[[str], None]) -> None:
        """Tell it nothing more."""
        self._listeners.remove(changed)

    def next_turn(self) -> int:
        """A number that is larger than all before."""
        self._turns += 1
        return self._turns

    def find(self, path: str) -> Node | None:
        """What is there."""
        return self._nodes.get(path)

    def names(self, path: str) -> list[str]:
        """What is below it, sorted."""
        start = below(path, "")
        return sorted(
            found[len(start) :] for found in self._nodes if found.startswith(start) and found != "/" and "/" not in found[len(start) :]
        )

    def add(self, path: str, value: bytes, owner: object | None = None) -> None:
        """Make an entry that is not there, and those above it."""
        if path in self._nodes:
            raise BusyError(f"store: {path!r} exists")
        for parent in ancestors(path):
            if parent not in self._nodes:
                self._put(parent, b"", None)
            elif self._nodes[parent].owner is not None:
                raise InvalidError(f"store: {parent!r} is ephemeral, so nothing can be below it, got {path!r}")
        self._put(path, value, owner)

    def change(self, path: str, value: bytes) -> int:
        """Write what is there."""
        node = self._nodes[path]
        node.value, node.version = value, node.version + 1
        self._tell(path)
        return node.version

    def drop(self, path: str) -> None:
        """Take it away with all below."""
        for found in sorted((found for found in self._nodes if found == path or found.startswith(below(path, ""))), reverse=True):
            del self._nodes[found]
            self._tell(found)
            self._tell(above(found))

    def _put(self, path: str, value: bytes, owner: object | None) -> None:
        self._nodes[path] = Node(value, owner)
        self._tell(path)
        self._tell(above(path))

    def _tell(self, path: str) -> None:
        for changed in tuple(self._listeners):
            changed(path)
