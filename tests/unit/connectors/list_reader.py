"""A reader of a spout that reads ahead, without a server and without a thread."""

from __future__ import annotations

from collections import deque

from pasps.connectors.read_ahead import Event, Reader


class ListReader(Reader):
    """Gives out numbers; everything is put into it by the test."""

    def __init__(self) -> None:
        super().__init__("list")
        self.waiting: deque[Event] = deque()
        self.lost: set[int] = set()
        self.finished: list[int] = []
        self.aside: list[tuple[int, str]] = []
        self.sure = self.away = 0
        self.started = self.closed = False

    def put(self, *numbers: int) -> None:
        self.waiting.extend(Event(None, number, 1_000_000.0 + number) for number in numbers)

    def step(self) -> None:
        raise AssertionError("there is no thread")

    def end(self) -> None:
        raise AssertionError("there is no thread")

    def start(self) -> None:
        self.started = True

    def close(self) -> None:
        self.closed = True

    def take(self, most: int) -> list[Event]:
        return [self.waiting.popleft() for _ in range(min(most, len(self.waiting)))]

    def owns(self, event: Event) -> bool:
        return event.record not in self.lost

    def done(self, event: Event) -> None:
        self.finished.append(event.record)

    def set_aside(self, event: Event, reason: str) -> str:
        self.aside.append((event.record, reason))
        return "it goes nowhere"

    def parting(self) -> int:
        return self.away

    def backlog(self) -> int | None:
        return len(self.waiting)

    def settled(self) -> int:
        return self.sure
