"""A stream with one group in memory, and the members that read it: what Redis does, as far as the reader can see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pasps import TopologyContext
from pasps.connectors.read_ahead import Event
from pasps.connectors.redis_client import FIRST, AwayError, NoGroupError, RedisEntry, RedisSettings, RefusedError, place_of, settings_of
from pasps.connectors.redis_reader import RedisReader
from pasps.testing import FakeClock

NEEDED = {"redis.stream": "orders", "redis.group": "shop"}


class Context:
    topology_name, component_id, task_index = "shop", "orders", 0

    def __init__(self, index: int = 0, tasks: int = 1) -> None:
        self.task_index, self.tasks = index, tasks

    def component_tasks(self, component: str) -> list[int]:
        assert component == "orders"
        return list(range(5, 5 + self.tasks))


def settings(index: int = 0, tasks: int = 1, **more: Any) -> RedisSettings:
    """`dead__stream=x` is the key redis.dead.stream."""
    conf = {**NEEDED, **{f"redis.{name.replace('__', '.')}": value for name, value in more.items()}, "topology.debug": False}
    return settings_of(conf, cast("TopologyContext", Context(index, tasks)))


@dataclass
class Stream:
    """`entries` by id, in order; None: deleted. `pending` by id: who has it, and when that was told last."""

    clock: FakeClock
    entries: dict[str, dict[str, bytes] | None] = field(default_factory=dict)
    group: bool = False
    given: str = FIRST
    pending: dict[str, tuple[str, float]] = field(default_factory=dict)
    dead: list[tuple[str, bytes]] = field(default_factory=list)
    knows_lag: bool = True
    away: str = ""
    refuses: str = ""
    answers_lost: int = 0

    def add(self, *numbers: int) -> None:
        for number in numbers:
            self.entries[f"{number}-0"] = {"n": str(number).encode()}

    def delete(self, *numbers: int) -> None:
        for number in numbers:
            self.entries[f"{number}-0"] = None

    def crash(self) -> None:
        """It forgets who was given what, and that there was a group."""
        self.group, self.given, self.pending = False, FIRST, {}


@dataclass
class Member:
    """What `RedisGroup` does."""

    stream: Stream
    name: str
    joined_at: list[str] = field(default_factory=list)
    acks: list[list[str]] = field(default_factory=list)
    closed: int = 0
    refused: int = 0

    def _check(self) -> None:
        if self.stream.away:
            raise AwayError(self.stream.away)
        if not self.stream.group:
            raise NoGroupError("no group")

    def join(self, start: str) -> bool:
        if self.stream.away:
            raise AwayError(self.stream.away)
        self.joined_at.append(start)
        if self.stream.group:
            return False
        self.stream.group, self.stream.given = True, max(self.stream.entries, key=place_of, default=FIRST) if start == "$" else start
        return True

    def given(self) -> str:
        self._check()
        return self.stream.given

    def newest(self) -> str | None:
        return max(self.stream.entries, key=place_of, default=None)

    def own(self, after: str, most: int) -> list[RedisEntry]:
        self._check()
        mine = [i for i, (who, _) in self.stream.pending.items() if who == self.name and place_of(i) > place_of(after)]
        return [self._entry(i) for i in sorted(mine, key=place_of)[:most]]

    def fresh(self, most: int, seconds: float) -> list[RedisEntry]:
        self._check()
        new = [i for i, fields in self.stream.entries.items() if fields and place_of(i) > place_of(self.stream.given)][:most]
        for i in new:
            self.stream.given = i
            self.stream.pending[i] = (self.name, self.stream.clock.now())
        if new and self.stream.answers_lost:
            self.stream.answers_lost -= 1
            raise AwayError("connection reset")
        return [self._entry(i) for i in new]

    def claim(self, idle_seconds: float, after: str, most: int) -> tuple[str, list[RedisEntry], int]:
        self._check()
        now, deleted = self.stream.clock.now(), 0
        old = [i for i, (_, at) in self.stream.pending.items() if now - at >= idle_seconds and place_of(i) > place_of(after)]
        found = []
        for i in sorted(old, key=place_of)[:most]:
            if self.stream.entries.get(i) is None:
                del self.stream.pending[i]
                deleted += 1
            else:
                self.stream.pending[i] = (self.name, now)
                found.append(self._entry(i))
        return (found[-1].id if len(old) > most else FIRST), found, deleted

    def hold(self, ids: Sequence[str]) -> None:
        self._check()
        for i in ids:
            if i in self.stream.pending:
                self.stream.pending[i] = (self.name, self.stream.clock.now())

    def ack(self, ids: Sequence[str]) -> None:
        self._check()
        self.acks.append(list(ids))
        for i in ids:
            self.stream.pending.pop(i, None)

    def copy(self, entry: RedisEntry, target: str, reason: bytes) -> None:
        if self.stream.away:
            raise AwayError(self.stream.away)
        if self.stream.refuses:
            self.refused += 1
            raise RefusedError(self.stream.refuses)
        self.stream.dead.append((f"{target}:{entry.id}", reason))

    def lag(self) -> int | None:
        self._check()
        after = [i for i, fields in self.stream.entries.items() if fields and place_of(i) > place_of(self.stream.given)]
        return len(after) if self.stream.knows_lag else None

    def pending(self) -> int:
        self._check()
        return sum(1 for who, _ in self.stream.pending.values() if who == self.name)

    def close(self) -> None:
        self.closed += 1

    def _entry(self, entry_id: str) -> RedisEntry:
        return RedisEntry("orders", entry_id, self.stream.entries.get(entry_id) or {})


class Run:
    """A reader over a stream; `read` is a step, and several runs may share a stream."""

    def __init__(self, stream: Stream | None = None, index: int = 0, tasks: int = 1, **more: Any) -> None:
        self.stream = stream or Stream(FakeClock())
        self.clock = self.stream.clock
        if stream is None:
            self.clock.advance(100.0)
        found = settings(index, tasks, **more)
        self.member = Member(self.stream, found.consumer)
        self.reader = RedisReader(found, self.clock, self.member, wait_seconds=0.0)
        self.events: list[Event] = []

    def read(self, steps: int = 3) -> None:
        for _ in range(steps):
            self.reader.step()

    def take(self, most: int = 5000, most_bytes: int = 1 << 40) -> list[int]:
        self.events = self.reader.take(most, most_bytes)
        return [int(event.record.fields["n"]) for event in self.events]

    def finish(self) -> None:
        """All that were taken last are acked."""
        for event in self.events:
            self.reader.done(event)
        self.read(1)
