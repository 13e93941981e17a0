"""What a worker knows of the load of one component's replicas; shared by all of its senders to that component."""

from __future__ import annotations

from math import isfinite

from pasps.errors import ProtocolError

UNKNOWN_SECONDS = 10e-6
"""What one tuple is taken to cost until any replica has reported."""
SHORTEST_SECONDS = 1e-7
"""No tuple costs less: a cost of zero would give one replica everything."""
REPORT_SECONDS = 1.0
"""The interval that `done` of a report counts over: td of Eq. 1."""


class LoadTable:
    """When each replica will have finished what it is known to have, and what a tuple costs it.

    Single-threaded, never blocks. For a replica the table keeps the absolute time at which its known work ends, so that
    the time that passes since a report needs no update. `finish` and `each` may be read and `finish` be written by a
    splitter, which charges a whole batch at once; all lists keep their identity for the table's life.

    Where an index stands for a queue of several replicas, its work ends when all of them are through, so that who reports or
    charges it divides by their number; what a tuple costs is what it costs one of them.
    """

    def __init__(self, tasks: int) -> None:
        self.finish = [0.0] * tasks
        self.each = [UNKNOWN_SECONDS] * tasks
        self.done = [0] * tasks
        self.reports = [0] * tasks
        """How often each replica has reported a whole second."""
        self.version = 0
        """Grows with every report."""
        self._unknown = set(range(tasks))

    def report(self, index: int, waiting: float, seconds_each: float, done: int | None, now: float) -> None:
        """Take a replica's own word: seconds of unfinished work, seconds for one tuple, tuples done in the last second.

        `done` None: the second is not over yet, so this report does not count as one of the paper's (`reports`).

        A number that is not finite, or a cost that is not above zero, says nothing: what was known before stays.
        """
        if not 0 <= index < len(self.finish):
            raise ProtocolError(f"load report of replica {index!r}, expected an index below {len(self.finish)}")
        if isfinite(waiting):
            self.finish[index] = now + max(0.0, waiting)
        if isfinite(seconds_each) and seconds_each > 0.0:
            self.each[index] = max(SHORTEST_SECONDS, seconds_each)
            self._unknown.discard(index)
        if done is not None:
            self.done[index] = max(0, done)
            self.reports[index] += 1
        self.version += 1
        if self._unknown:
            mean = self._mean_known()
            for other in self._unknown:
                self.each[other] = mean

    def waiting(self, index: int, now: float) -> float:
        """Seconds of work that the replica is believed to have before it."""
        return max(0.0, self.finish[index] - now)

    def component_each(self) -> float:
        """et_i: seconds one tuple takes in the component, over what its replicas did in their last intervals."""
        done = sum(self.done)
        if not done:
            return self._mean_known()
        return sum(count * each for count, each in zip(self.done, self.each, strict=True)) / done

    def _mean_known(self) -> float:
        known = [each for index, each in enumerate(self.each) if index not in self._unknown]
        return sum(known) / len(known) if known else UNKNOWN_SECONDS
