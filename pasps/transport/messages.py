"""What workers say to each other: compiled records, written as arrays. The two ends of a connection must agree on this file.

`Bundle` is the only hot one: everything that waited for the same peer, in one frame.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from pasps.api.splitting import MOST_PAYLOAD_BYTES

Row = tuple[Any, ...]
Links = tuple[tuple[int, int], ...]
"""(root, edge) pairs of a tuple that descends from several spout tuples."""


class WireBatch(msgspec.Struct, array_like=True, gc=False):
    """Tuples of one edge from one task to one task. `edges` None: the same as `roots`; `roots` None: nothing is tracked."""

    edge: int
    task: int
    source: int
    rows: list[Row]
    roots: list[int] | None = None
    edges: list[int] | None = None
    links: list[Links | None] | None = None


class Credit(msgspec.Struct, array_like=True, gc=False):
    """The receiver took `count` tuples of ours out of the inbox of that task."""

    component: int
    task: int
    count: int


class Acks(msgspec.Struct, array_like=True, gc=False):
    """XOR deltas for the ledger of spout task `owner`; `deltas` None: each equals its root."""

    owner: int
    roots: list[int]
    deltas: list[int] | None = None


class Fails(msgspec.Struct, array_like=True, gc=False):
    """Roots that failed."""

    owner: int
    roots: list[int]


class Load(msgspec.Struct, array_like=True, gc=False):
    """What a replica has before it: seconds of unfinished work, seconds for one tuple, and, once a second, tuples done in it."""

    component: int
    replica: int
    waiting: float
    seconds_each: float
    done: int | None


class Bundle(msgspec.Struct, array_like=True, tag=0):
    """All that was buffered for one peer, in the order of its parts."""

    batches: list[WireBatch] = []
    credits: list[Credit] = []
    acks: list[Acks] = []
    fails: list[Fails] = []
    loads: list[Load] = []


class Mark(msgspec.Struct, array_like=True, tag=1):
    """Everything that the sender routed by tables before `version` is ahead of this."""

    version: int


class Handover(msgspec.Struct, array_like=True, tag=2):
    """A keyed task moves: its pickled state and what was queued for it, oldest first.

    `state` None and `kept` False: there is none to give (the host makes a fresh instance).
    `kept` True: the sender could not pickle it and keeps it; what was held must come back with the next table.
    `origins[i]` is the worker whose credit `batches[i]` holds. `finished`: see `TaskSlot`. `unacked` tuples are in its state,
    neither acked nor failed.
    `more` True: a part of the queue alone; the parts behind it, and the state with the last, follow on the same connection.
    """

    version: int
    component: int
    task: int
    state: bytes | None
    batches: list[WireBatch]
    origins: list[str]
    kept: bool = False
    finished: bool = False
    unacked: int = 0
    more: bool = False


class Took(msgspec.Struct, array_like=True, tag=3):
    """The new host has the task; the old one may forget it."""

    version: int
    component: int
    task: int


class Define(msgspec.Struct, array_like=True, tag=4):
    """A user's dataclass that cannot be imported by name, sent once a connection before its first value."""

    name: str
    pickled: bytes


class Probe(msgspec.Struct, array_like=True, tag=5):
    """Asks for an `Echo`: then everything that was sent before it has arrived."""

    number: int


class Echo(msgspec.Struct, array_like=True, tag=6):
    """The answer to the `Probe` with that number."""

    number: int


class Ask(msgspec.Struct, array_like=True, tag=7):
    """Replicas of that bolt at the sender have nothing to do, and would take some of what waits for it at the receiver."""

    component: int


class Gave(msgspec.Struct, array_like=True, tag=8):
    """The answer to an `Ask`: so many tuples went ahead of it."""

    component: int
    count: int


_Payload = Annotated[bytes, msgspec.Meta(max_length=MOST_PAYLOAD_BYTES)]


class Carried(msgspec.Struct, array_like=True, tag=9):
    """A payload for the observer of a task of an edge's target, from the splitter of `sender`: behind all that this has sent before it."""

    edge: int
    task: int
    sender: int
    payload: _Payload


class Told(msgspec.Struct, array_like=True, tag=10):
    """What the observer of a task tells the splitter of `sender`, or, with 0, those of all senders of the edge."""

    edge: int
    task: int
    sender: int
    payload: _Payload


Message = Bundle | Mark | Handover | Took | Define | Probe | Echo | Ask | Gave | Carried | Told
