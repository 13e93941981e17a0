"""A reader of a spout that reads ahead, without a server and without a thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from pasps.connectors.read_ahead import Event, Reader


class ListReader(Reader):
    """Gives out numbers; everything is put into it by the test."""

    def __init__(self) -> None:
        super().__init__("list")
        self.waiting: deque[Event] = deque()
        self.lost: set[int] = set()
        self.finished: list[int] = []
        self.aside: list[tuple[int, str]] = []
        self.away = (0, 0)
        self.started = self.closed = False
        self.closes: Callable[[float], None] = lambda seconds: None
        """What happens then."""

    def put(self, *numbers: int, size: int = 1) -> None:
        self.waiting.extend(Event(None, number, 1_000_000.0 + number, size) for number in numbers)

    def step(self) -> None:
        raise AssertionError("there is no thread")

    def end(self) -> None:
        raise AssertionError("there is no thread")

    def start(self) -> None:
        self.started = True

    def close(self, seconds: float = 3.5) -> None:
        self.closed = True
        self.closes(seconds)

    def take(self, most: int, most_bytes: int) -> list[Event]:
        found: list[Event] = []
        while self.waiting and len(found) < most and most_bytes > 0:
            found.append(self.waiting.popleft())
            most_bytes -= found[-1].size
        return found

    def owns(self, event: Event) -> bool:
        return event.record not in self.lost

    def done(self, event: Event) -> None:
        self.finished.append(event.record)

    def set_aside(self, event: Event, reason: str) -> str:
        self.aside.append((event.record, reason))
        return "it goes nowhere"

    def parting(self) -> tuple[int, int]:
        return self.away

    def backlog(self) -> int | None:
        return len(self.waiting)
