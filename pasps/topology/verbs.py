"""The verbs: what a topology that runs can be asked, each a record of its arguments that says what answers it. Knows no transport.

Whoever asks makes the record, and reads the answer by it: `arguments_of`, `answer_of`. Whoever answers hands what comes to
`Verbs.answer`; an error travels as its class's name and its text. Loads nothing that runs a topology.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, cast, get_args

import msgspec
from msgspec import Meta

from pasps import errors
from pasps.errors import BrokenError, InvalidError, PaspsError, ProtocolError, TimeoutExpiredError
from pasps.metrics import Histogram

_log = logging.getLogger(__name__)

_R = TypeVar("_R")

HOP_SECONDS = 5.0
"""So much longer than what it asks somebody in between waits: the far end can then say itself what did not work."""


class Verb(msgspec.Struct, Generic[_R], frozen=True, omit_defaults=True):
    """A request. Each verb is a class below this one: its fields are the arguments, with what they must be, and `_R` is its answer."""

    name: ClassVar[str]
    seconds: ClassVar[float | None] = 30.0
    """So long it may take where it is done; None: without end."""
    patience: ClassVar[float | None] = 10.0
    """So long a command waits for the answer."""
    is_kept: ClassVar[bool] = False
    """Whether masters write it down, so that it is done also where the topology does not run now."""


_V = TypeVar("_V", bound=Verb[Any])

# ---- what changes a topology


@dataclass(frozen=True, slots=True)
class Scaled:
    """What became of one bolt: active replicas before and after, and how many were asked for, None for auto.

    `error` is why it is not as asked: the class's name and the text.
    """

    before: int
    planned: int | None
    after: int
    error: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ScaleDone:
    """The answer to `Scale`; the table is the newest."""

    table_version: int
    bolts: Mapping[str, Scaled]


class Scale(Verb[ScaleDone], frozen=True):
    """Set how many replicas of bolts work; "auto" lets the policy decide again. From 1 to a pool, which only the topology knows."""

    name = "scale"
    seconds = 120.0
    patience = seconds + 2 * HOP_SECONDS

    bolts: dict[str, int | Literal["auto"]]


class Activity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether spouts emit; `wanted`, "active" or "inactive", is there when it cannot be done yet, and is kept."""

    state: str
    wanted: str | None = None


class Activate(Verb[Activity], frozen=True):
    """Let the spouts emit."""

    name = "activate"
    is_kept = True


class Deactivate(Verb[Activity], frozen=True):
    """Stop the spouts."""

    name = "deactivate"
    is_kept = True


class Kill(Verb[Mapping[str, Any] | None], frozen=True):
    """End it, drained for at most `wait` seconds, None: as it was started. The answer is its summary, None when nobody could make one."""

    name = "kill"
    seconds = None
    patience = None
    is_kept = True

    wait: Annotated[float, Meta(ge=0)] | None = None


# ---- what is read of one


class GetStatus(Verb[Any], frozen=True):
    """All that is known of it: a `topology.status.Status`, which `status_from` reads."""

    name = "status"


class GetErrors(Verb[Any], frozen=True):
    """The last exceptions of user code, and workers that died: `{"errors": [...]}` of `topology.controller.ErrorReport`."""

    name = "errors"

    limit: Annotated[int, Meta(ge=1)] = 50
    component: str | None = None


class Explain(Verb[str], frozen=True):
    """Why bolts have their replicas, in words."""

    name = "explain"

    bolt: str | None = None
    at: str | None = None


# ---- what only drivers keep


@dataclass(frozen=True, slots=True)
class LogPart:
    """What a worker wrote, or all of them; `offset` is where the next part of that worker's begins."""

    worker: str | None
    host: str
    text: str
    offset: int


class GetLogs(Verb[LogPart], frozen=True):
    """The last lines of a worker's log, or what came since `offset`; of all workers when none is named."""

    name = "logs"

    worker: str | None = None
    lines: Annotated[int, Meta(ge=1, le=10_000)] = 100
    offset: Annotated[int, Meta(ge=0)] | None = None


@dataclass(frozen=True, slots=True)
class RunFile:
    """A file of a run. Its number stays while a log gets another name."""

    id: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Those of a run, by name."""

    files: Mapping[str, RunFile]


class GetFiles(Verb[RunFiles], frozen=True):
    """Which files there are of its run."""

    name = "files"
    patience = 60.0


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file, compressed by zlib; `offset` is where the next one begins. In JSON the bytes are base64."""

    content: bytes
    offset: int


class GetFile(Verb[FilePart], frozen=True):
    """A part of a file of its run, from `offset`."""

    name = "file"
    patience = 60.0

    id: int
    offset: Annotated[int, Meta(ge=0)] = 0


_KINDS: tuple[type[Verb[Any]], ...] = (Scale, Activate, Deactivate, Kill, GetStatus, GetErrors, Explain, GetLogs, GetFiles, GetFile)
KNOWN: Mapping[str, type[Verb[Any]]] = {kind.name: kind for kind in _KINDS}
"""By name. A topology may know fewer: those of this machine keep no logs."""


# ---- as they travel


def arguments_of(asked: Verb[Any]) -> dict[str, Any]:
    """The arguments, as JSON has them."""
    return cast("dict[str, Any]", msgspec.to_builtins(asked))


def made(kind: type[_V], arguments: Mapping[str, Any]) -> _V:
    """The record again, of what came as JSON.

    Raises:
        InvalidError: an argument is unknown, missing or ill-typed.
    """
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    for argument in arguments:
        if argument not in fields:
            takes = f"it takes {', '.join(fields)}" if fields else "it takes none"
            raise InvalidError(f"verb {kind.name!r}: there is no argument {argument!r}; {_meant(argument, fields)}{takes}")
    if missing := {name for name, field in fields.items() if field.required} - arguments.keys():
        raise InvalidError(f"verb {kind.name!r}: missing {', '.join(map(repr, sorted(missing)))}")
    return kind(**{name: _converted(kind.name, name, fields[name].type, value) for name, value in arguments.items()})


def answer_of(asked: Verb[_R], told: Any, whose: str) -> _R:
    """The answer, of what came as JSON.

    Raises:
        ProtocolError: it is something else; names `whose` it is.
    """
    try:
        return cast(_R, msgspec.convert(told, _answered_by(type(asked))))
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{whose} answered `{asked.name}` with something else: {error}; it was {told!r:.100}") from error


def _answered_by(kind: type[Verb[Any]]) -> Any:
    """What stands in its brackets."""
    return get_args(vars(kind)["__orig_bases__"][0])[0]


# ---- where they are done


class Verbs:
    """What does each of some verbs, all on one event loop. Several requests may be under way at once."""

    def __init__(self) -> None:
        self._verbs: dict[str, tuple[type[Verb[Any]], Callable[[Any], Awaitable[Any]]]] = {}

    @property
    def names(self) -> list[str]:
        """In the order in which they were added."""
        return list(self._verbs)

    def add(self, kind: type[_V], function: Callable[[_V], Awaitable[Any]]) -> None:
        """Have it done by this function, which is cancelled after the verb's `seconds`. What it returns must be JSON, records and
        `Histogram` included.

        Raises:
            InvalidError: the name is taken.
        """
        if kind.name in self._verbs:
            raise InvalidError(f"there is a verb {kind.name!r} already")
        self._verbs[kind.name] = kind, function

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Do it; the result as JSON has it.

        Raises:
            InvalidError: no such verb, or an argument that is unknown, missing or ill-typed; nothing was done.
            TimeoutExpiredError: it took too long.
            PaspsError: whatever the verb itself raises.
        """
        if name not in self._verbs:
            raise InvalidError(f"there is no verb {name!r}; {_meant(name, self.names)}the verbs are {', '.join(self._verbs)}")
        kind, function = self._verbs[name]
        asked = made(kind, arguments)
        limit = asyncio.timeout(kind.seconds)
        try:
            async with limit:
                return json_ready(await function(asked))
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise TimeoutExpiredError(f"verb {name!r} was not done after {kind.seconds:g} s") from error

    async def answer(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """`{"ok": true, "result": ...}` or `{"ok": false, "error": {"kind": ..., "text": ...}}`. Raises nothing."""
        try:
            return {"ok": True, "result": await self.call(name, arguments)}
        except PaspsError as error:
            return refusal(error)
        except Exception as error:  # noqa: BLE001 - the control cycle's door: the request fails, the topology goes on
            _log.exception("verb %r failed", name)
            return refusal(BrokenError(f"verb {name!r} failed, see the log of the run: {type(error).__name__}: {error}"))


def json_ready(value: Any) -> Any:
    """Records, mappings and sequences as plain dicts and lists. Durations that are not known stay NaN, which JSON writes as null."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_histogram)


def refusal(error: PaspsError) -> dict[str, Any]:
    """The answer that an error makes."""
    return {"ok": False, "error": {"kind": type(error).__name__, "text": str(error)}}


def result_of(answer: bytes, whose: str) -> Any:
    """What a verb returned, of the line that answered it.

    Raises:
        ProtocolError: it is no answer; names `whose` it was to be.
        PaspsError: what the verb raised, see `error_of`.
    """
    try:
        told = msgspec.json.decode(answer)
        if told["ok"]:
            return told["result"]
        kind, text = told["error"]["kind"], told["error"]["text"]
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise ProtocolError(f"{whose} answered with {answer[:80]!r}, which is no answer") from error
    raise error_of(kind, text)


def error_of(kind: object, text: object) -> PaspsError:
    """The error that such an answer told of, without its fields; a kind that this version does not know is a BrokenError."""
    found = getattr(errors, str(kind), None)
    known = found if isinstance(found, type) and issubclass(found, PaspsError) else BrokenError
    error = known.__new__(known)
    error.args = (str(text),)
    return error


def _converted(name: str, argument: str, kind: Any, value: Any) -> Any:
    try:
        return msgspec.convert(value, kind, strict=True, str_keys=True)
    except msgspec.ValidationError as error:
        wrong = str(error)
        raise InvalidError(f"verb {name!r}, argument {argument!r}: {wrong[:1].lower()}{wrong[1:]}; the value was {value!r:.100}") from error


def _meant(name: str, known: Mapping[str, Any] | list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}? " if near else ""


def _histogram(value: Any) -> Any:
    if isinstance(value, Histogram):
        return {"buckets": {str(bucket): count for bucket, count in value.buckets.items()}, "total": value.total}
    raise NotImplementedError(f"expected something that JSON can hold, got {type(value).__name__}")
