"""The links between the workers of a step run: in one process, real frames, moved only when the run says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from pasps.errors import BrokenError
from pasps.runtime.worker import Worker
from pasps.transport.codec import Refusal
from pasps.transport.connection import Connection
from pasps.transport.handshake import Identity
from pasps.transport.inproc import InprocLink
from pasps.transport.messages import Message
from pasps.transport.values import RowWrapper

Link = tuple[str, str]


class Net:
    """One link between any two live workers."""

    def __init__(self, topology: str, allow_pickle: bool, most_frame_bytes: int) -> None:
        self._topology = topology
        self._allow_pickle = allow_pickle
        self._most_frame_bytes = most_frame_bytes
        self.links: dict[Link, InprocLink] = {}

    def rows(self) -> RowWrapper:
        """A wrapper for one worker's rows."""
        return RowWrapper(self._allow_pickle, self._most_frame_bytes)

    def join(self, one: Worker, other: Worker, rows: dict[str, RowWrapper], incarnations: dict[str, int]) -> None:
        """Connect two workers."""
        pair = (one, other)
        names = (one.id, other.id)
        link = InprocLink(
            (self._identity(one.id, incarnations), self._identity(other.id, incarnations)),
            (self._deliver(one, other.id), self._deliver(other, one.id)),
            (self._lose(one, other.id), self._lose(other, one.id)),
            (rows[one.id], rows[other.id]),
            self._allow_pickle,
            self._most_frame_bytes,
            (self._refuse(one, other.id), self._refuse(other, one.id)),
        )
        self.links[names] = link
        for i in (0, 1):
            peer = names[1 - i]
            pair[i].meet(peer, incarnations[peer], link.ends[i])

    def _identity(self, worker: str, incarnations: dict[str, int]) -> Identity:
        return Identity(self._topology, worker, incarnations[worker])

    @staticmethod
    def _deliver(worker: Worker, peer: str) -> Callable[[Connection, Message], None]:
        return lambda connection, message: worker.on_message(peer, connection, message)

    @staticmethod
    def _refuse(worker: Worker, peer: str) -> Callable[[Connection, Sequence[Refusal]], None]:
        return lambda connection, refused: worker.refused(peer, connection, refused)

    @staticmethod
    def _lose(worker: Worker, peer: str) -> Callable[[Connection, Exception | None], None]:
        return lambda connection, error: worker.lose(peer, connection)

    def pump(self, random: Random | None) -> int:
        """Deliver everything on every link; with `random`, some frames of some links. How many frames came through."""
        links = list(self.links.values())
        if random is None:
            return sum(link.pump() for link in links)
        random.shuffle(links)
        return sum(link.pump(random.choice((0, 1, 1, 2, 5))) for link in links)

    def in_flight(self) -> int:
        """Frames that wait."""
        return sum(len(end.outbox) for link in self.links.values() for end in link.ends)

    def break_link(self, one: str, other: str, *, both_hear: bool = True) -> None:
        """The link between two live workers breaks: what is on it is gone, and both hear of it, or for now only `one`."""
        for names in [names for names in self.links if set(names) == {one, other}]:
            link = self.links.pop(names)
            if both_hear:
                link.drop("broken by the test")
            else:
                link.ends[names.index(one)].lose(BrokenError("broken by the test"))

    def cut(self, worker: str) -> None:
        """A worker died: whatever was on the way from it or to it is gone."""
        for names in [names for names in self.links if worker in names]:
            self.links.pop(names).drop(f"worker {worker} died")
