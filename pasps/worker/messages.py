"""What a topology's controller and its workers say to each other over the control connection: tagged MessagePack records."""

from __future__ import annotations

import msgspec

from pasps.activation import ActivationTable
from pasps.metrics import WorkerCounts


class Address(msgspec.Struct, frozen=True):
    """Where a worker listens for its peers."""

    host: str
    port: int
    incarnation: int


# ---- controller to worker


class Launch(msgspec.Struct, tag="launch"):
    """The first message: who you are, what you run, and what you may trust."""

    worker: str
    incarnation: int
    workers: int
    blueprint: bytes
    table: ActivationTable
    positions: dict[int, bytes]
    """What spout tasks saved last, by task id, packed."""
    secret: bytes
    sys_path: list[str]
    host: str = "127.0.0.1"
    restarted: bool = False
    """Whether the topology runs already, and this worker makes up for one that was lost."""


class Dial(msgspec.Struct, tag="dial"):
    """Connect to these workers; answer `Linked` when that is done."""

    peers: dict[str, Address]


class Table(msgspec.Struct, tag="table"):
    """Route by this table."""

    table: ActivationTable
    positions: dict[int, bytes]


class Awake(msgspec.Struct, tag="awake"):
    """Spouts begin or stop."""

    awake: bool


class Cut(msgspec.Struct, tag="cut"):
    """Answer with `Counts` for cut `k`."""

    k: int


class Finish(msgspec.Struct, tag="finish"):
    """No more input can come to this bolt: call `finish` of its instances. What is not over, every `Counts` says."""

    component: str


class Fence(msgspec.Struct, tag="fence"):
    """Fail what your spouts have pending: a worker or a connection was lost, and everyone knows it now."""


class ReadLog(msgspec.Struct, tag="read_log"):
    """Answer `LogText`: what your process and its predecessors in this place wrote, from byte `offset` on; None: the last lines."""

    number: int
    offset: int | None
    lines: int


class Close(msgspec.Struct, tag="close"):
    """Close everything, then end."""


class Stuck(msgspec.Struct, frozen=True):
    """What a worker has not come back from, for how long, and in which line. No component: none called it, or nobody can see."""

    component: str
    task: int
    seconds: float
    where: str


class Beat(msgspec.Struct, tag="beat"):
    """Are you there? Answered in kind; a worker also says it unasked, and, when its loop does not come back, from what."""

    stuck: Stuck | None = None


ToWorker = Launch | Dial | Table | Awake | Cut | Finish | Fence | ReadLog | Close | Beat

# ---- worker to controller


class Unmovable(msgspec.Struct):
    """A keyed task that cannot leave the worker where it is."""

    component: str
    task: int
    attribute: str
    reason: str


class Hello(msgspec.Struct, tag="hello"):
    """Ready but for the connections to peers; or, with `error`, unable to run."""

    host: str
    port: int
    unmovable: list[Unmovable] = []
    error: str = ""


class Linked(msgspec.Struct, tag="linked"):
    """Connected to everyone named in `Dial`; `error` names the one that failed."""

    error: str = ""


class Applied(msgspec.Struct, tag="applied"):
    """Routing by that table."""

    version: int


class Moved(msgspec.Struct, tag="moved"):
    """A keyed task has arrived."""

    version: int
    component: str
    task: int


class MoveFailed(msgspec.Struct, tag="move_failed"):
    """A keyed task could not leave."""

    version: int
    component: str
    task: int
    attribute: str
    reason: str


class Problem(msgspec.Struct, tag="problem"):
    """An exception of user code; no component: what happened to the worker as a whole."""

    component: str
    task: int
    text: str


class LinkLost(msgspec.Struct, tag="link_lost"):
    """The connection with a peer broke."""

    peer: str
    incarnation: int


class Pressed(msgspec.Struct, tag="pressed"):
    """More comes to a bolt than its replicas here take; at most a few times a second of each."""

    component: str


class Finished(msgspec.Struct, tag="finished"):
    """A spout task reached the end of its input, or (done False) has something to replay after all."""

    task: int
    done: bool


class Counts(msgspec.Struct, tag="counts"):
    """The answer to cut `k`; k 0: unasked, so that little is lost when this worker dies."""

    k: int
    counts: WorkerCounts


class LogText(msgspec.Struct, tag="log_text"):
    """A part of a log, and the offset behind it."""

    number: int
    text: str
    offset: int


class Closed(msgspec.Struct, tag="closed"):
    """Everything is closed; the process ends now."""


FromWorker = Hello | Linked | Applied | Moved | MoveFailed | Problem | LinkLost | Pressed | Finished | Counts | LogText | Closed | Beat
