"""Every error of pasps, drawn as one tree; anyone may import this module, it imports nothing of pasps.

PaspsError
├── InvalidError            your input is wrong: fix it and call again
│   ├── TopologyError       a topology that cannot run, refused when it is defined
│   │   └── FileError       a topology file that cannot be used (topology/load_file)
│   ├── ConfigError         an unknown or ill-typed configuration key
│   ├── GroupingError       a grouping that cannot serve its edge
│   ├── EmitError           a value that does not fit the stream it was emitted to
│   ├── WireError           a value that cannot travel between workers
│   │   └── TooLargeError   it is larger than a frame
│   ├── UnmovableError      an instance that cannot move between workers, so the change was refused
│   └── PackageError        a package for a cluster that cannot be made, or that is none (cluster/package)
├── ClosedError             the thing you use was closed, by you
├── BusyError               somebody else is using it right now: try again
│   └── ConflictError       the store's entry has another version than was expected (cluster/store)
├── TimeoutExpiredError     it did not happen in the time you gave
│   └── DrainTimeoutError   what was left when the time to drain ran out
└── BrokenError             the outside failed: a worker, a connection, a peer
    ├── WorkerStartError    a worker did not come up
    │   └── ComponentStartError   it did, but what it was given does not, and would not anywhere
    ├── CrashLoopError      a worker dies again and again; says of what
    ├── ProtocolError       a peer sent what no peer of ours sends
    ├── AuthenticationError a peer that does not hold the topology's secret
    ├── PredictorError      the predictor gave no forecast that can be used; never reaches users, only their log
    ├── StoreUnavailableError   ZooKeeper cannot be reached now (cluster/store)
    ├── MissingJavaError, MissingSparkError   not on this machine (cluster/launch/java)
    ├── AwayError           Redis cannot be reached, or did not do it (connectors/redis_client)
    ├── ZooKeeperStartError     a ZooKeeper server of ours did not come up (cluster/dev/zookeeper_server)
    └── ClusterStartError       a part of the development cluster did not come up (cluster/dev/bring_up)

Those with a module behind them stand there; `cli`, `topology` and `cluster` have a few more below these, for themselves.

`EndOfInput` is not an error: a finite spout raises it to say that it has nothing more.
`Interrupt` is none either: what a process raises into user code to get out of it, and what no door of a step may hold.
"""

from __future__ import annotations

from collections.abc import Sequence


def shown(value: object, most: int = 200) -> str:
    """`repr(value)` for a message: cut, valid, and words of our own where the value's `__repr__` raises."""
    try:
        text = repr(value)
    except Interrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a user's `__repr__` does, there must be a message
        text = f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    if len(text) > most:
        text = f"{text[: most - 20]}... ({len(text)} characters)"
    return text.encode("utf-8", "backslashreplace").decode()


class Interrupt(BaseException):
    """Raised into running user code by the process that runs it, to end the step: a real Ctrl-C in a test, a call that is given up.

    Whatever else user code raises, an interrupt of its own making included, is the outcome of its call.
    """


class PaspsError(Exception):
    """Root of every error raised by pasps; carries fields, and survives pickling."""

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(kind: type[PaspsError], args: tuple[object, ...], fields: dict[str, object]) -> PaspsError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(fields)
    return error


class InvalidError(PaspsError, ValueError):
    """What the caller gave is wrong; the message says what was expected and the likely cure."""


class TopologyError(InvalidError):
    """A topology that cannot run: names the component, the stream where there is one, and the cure."""

    def __init__(self, problem: str, *, component: str | None = None, stream: str | None = None, cure: str = "") -> None:
        self.problem, self.component, self.stream, self.cure = problem, component, stream, cure
        where = f"component {component!r}" if component is not None else "topology"
        if stream is not None:
            where += f", stream {stream!r}"
        super().__init__(f"{where}: {problem}" + (f"; {cure}" if cure else ""))


class ConfigError(InvalidError):
    """An unknown or ill-typed configuration key."""

    def __init__(self, key: str, problem: str, *, where: str = "", cure: str = "") -> None:
        self.key, self.problem, self.where, self.cure = key, problem, where, cure
        place = f"{where}: " if where else ""
        super().__init__(f"{place}configuration key {key!r} {problem}" + (f"; {cure}" if cure else ""))


class GroupingError(InvalidError):
    """A grouping that cannot choose a target, for example a key that cannot be hashed."""


class EmitError(InvalidError):
    """A value that does not fit the stream it was emitted to."""

    def __init__(self, component: str, stream: str, problem: str) -> None:
        self.component, self.stream, self.problem = component, stream, problem
        super().__init__(f"component {component!r}, stream {stream!r}: {problem}")


class WireError(InvalidError):
    """A value that cannot travel between workers; names component, field and type; `row` is its place in the batch, -1 when in none."""

    def __init__(self, type_name: str, *, component: str = "", stream: str = "", field: str = "", cure: str = "", row: int = -1) -> None:
        self.type_name, self.component, self.stream, self.field, self.cure, self.row = type_name, component, stream, field, cure, row
        super().__init__(f"{self._where()}a value of type {type_name} cannot travel between workers" + (f"; {cure}" if cure else ""))

    def _where(self) -> str:
        if not self.component:
            return ""
        return f"component {self.component!r}, stream {self.stream!r}" + (f", field {self.field!r}: " if self.field else ": ")

    def of(self, component: str, stream: str) -> WireError:
        """The same error, found where nobody knew whose value it was, with the name of who emitted it."""
        if self.component:
            return self
        found = WireError(self.type_name, component=component, stream=stream, field=self.field, cure=self.cure, row=self.row)
        found.__cause__ = self.__cause__
        return found


class TooLargeError(WireError):
    """A tuple, or the state of a task, that takes more bytes than a frame holds."""

    def __init__(self, what: str, size: int, limit: int, *, cure: str, component: str = "", stream: str = "") -> None:
        super().__init__(what, component=component, stream=stream, cure=cure)
        self.size, self.limit = size, limit
        self.args = (
            f"{self._where()}a {what} of {size} bytes cannot travel between workers: a frame holds {limit} "
            f"(pasps.wire.max.frame.bytes); {self.cure}",
        )

    def of(self, component: str, stream: str) -> WireError:
        """See `WireError.of`."""
        return (
            self
            if self.component
            else TooLargeError(self.type_name, self.size, self.limit, cure=self.cure, component=component, stream=stream)
        )


class UnmovableError(InvalidError):
    """A keyed task that would have to move between workers but cannot be pickled; nothing was changed."""

    def __init__(self, component: str, task: int, attribute: str, reason: str) -> None:
        self.component, self.task, self.attribute, self.reason = component, task, attribute, reason
        super().__init__(
            f"component {component!r}, task {task}: attribute {attribute!r} cannot move between workers ({reason}); "
            "drop it in on_move_out() and open it again in on_move_in(ctx)"
        )


class ClosedError(PaspsError):
    """The object was closed or the topology killed; calling it again will not help."""


class BusyError(PaspsError):
    """Another change is under way; calling again later will help."""


class TimeoutExpiredError(PaspsError, TimeoutError):
    """What was asked for did not happen in the time that was given."""


class DrainTimeoutError(TimeoutExpiredError):
    """A drain ran out of time; `left` says what was still queued, executing or in flight, by component."""

    def __init__(self, seconds: float, left: dict[str, int], troubles: Sequence[str] = ()) -> None:
        self.seconds, self.left = seconds, left
        what = ", ".join(f"{name}: {count}" for name, count in sorted(left.items())) or "nothing that can be named"
        super().__init__("; ".join((f"not drained after {seconds:g} s; left: {what}", *troubles)))


class BrokenError(PaspsError):
    """The outside failed: a process, a connection or a peer."""


class WorkerStartError(BrokenError):
    """A worker did not come up, or a component failed in `initialize`; carries the worker's own words."""


class ComponentStartError(WorkerStartError):
    """A worker runs, but what it was given does not: most often an `initialize` raised. It would fail anywhere."""


class CrashLoopError(BrokenError):
    """A worker dies again and again, so that what is waited for may never be; says what kills it. The topology goes on."""


class ProtocolError(BrokenError):
    """A peer sent a frame that is malformed, oversized or out of turn; its connection is closed."""


class AuthenticationError(BrokenError):
    """A peer that could not prove that it holds the topology's secret."""


class PredictorError(BrokenError):
    """The predictor gave no forecast that can be used; `reason` is a whole sentence in words.

    `quiet`: this is no news (it still starts, or somebody has said it already), so nobody is warned.
    """

    def __init__(self, reason: str, *, quiet: bool = False) -> None:
        self.reason, self.quiet = reason, quiet
        super().__init__(reason)


class EndOfInput(Exception):  # noqa: N818 - a signal, not an error
    """Raised by a finite spout's `next_tuple` to say that it will emit nothing new any more."""
