"""Round robin over the active replicas: whose turn it is, kept while replicas come and go."""

from __future__ import annotations

from bisect import bisect_left
from random import Random

from pasps.errors import GroupingError


class Ring:
    """Targets in ascending order and the position of the next one; starts at a random one, so that senders do not march in step."""

    __slots__ = ("_random", "cursor", "targets")

    def __init__(self, random: Random) -> None:
        self._random = random
        self.targets: tuple[int, ...] = ()
        self.cursor = 0

    def refresh(self, targets: tuple[int, ...]) -> None:
        """Go on over `targets` with the first that is not before the one whose turn it was."""
        if not targets:
            raise GroupingError("no active replica to send to; a component keeps at least one")
        if not self.targets:
            self.cursor = self._random.randrange(len(targets))
        elif targets != self.targets:
            self.cursor = bisect_left(targets, self.targets[self.cursor]) % len(targets)
        self.targets = targets

    def next(self) -> int:
        """The target whose turn it is."""
        cursor = self.cursor
        self.cursor = cursor + 1 if cursor + 1 < len(self.targets) else 0
        return self.targets[cursor]

    def take(self, rows: int) -> list[tuple[int, int]]:
        """Give out `rows` turns at once: pairs of a target and how many of them it has, no zeros."""
        targets, size = self.targets, len(self.targets)
        turn = self.cursor
        everyone, extra = divmod(rows, size)
        self.cursor = (turn + extra) % size
        order = targets[turn:] + targets[:turn]
        counts = [(target, everyone + 1) for target in order[:extra]]
        if everyone:
            counts += [(target, everyone) for target in order[extra:]]
        return counts
