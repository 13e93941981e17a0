"""What was answered for the last events, so that an event that comes again is not counted again."""

from __future__ import annotations

from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Recent(Generic[Answer]):
    """Remembers the answers to the last `most` events that a task has counted; older ones are forgotten.

    At least once means that an event may come twice (docs/delivery.md). A bolt that counts asks here first, and gives the answer of
    the first time. An event that comes again after `most` others is counted again: that bounds the memory, and says how wrong a
    count may be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._answers: dict[int, Answer] = {}

    def get(self, event: int) -> Answer | None:
        """The answer of the first time; None when the event is new, or forgotten."""
        return self._answers.get(event)

    def keep(self, event: int, answer: Answer) -> Answer:
        """Remember the answer to an event, and forget the oldest when there are too many."""
        self._answers[event] = answer
        if len(self._answers) > self._most:
            del self._answers[next(iter(self._answers))]
        return answer
