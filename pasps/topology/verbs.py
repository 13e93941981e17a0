"""Verbs: what can be asked of something that runs, by name, with arguments and results that are JSON. Knows no transport.

A control socket, and later an HTTP API, hand requests to `answer`; an error travels as its class's name and its text.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_type_hints

import msgspec

from pasps import errors
from pasps.errors import BrokenError, InvalidError, PaspsError, ProtocolError, TimeoutExpiredError
from pasps.metrics import Histogram

_log = logging.getLogger(__name__)

Function = Callable[..., Awaitable[Any]]

VERB_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Verb:
    """Types by argument; `required` are those without a default."""

    function: Function
    types: Mapping[str, Any]
    required: frozenset[str]
    seconds: float | None


class Verbs:
    """A table of async functions, all run on one event loop. Several requests may be under way at once."""

    def __init__(self) -> None:
        self._verbs: dict[str, _Verb] = {}

    @property
    def names(self) -> list[str]:
        """In the order in which they were added."""
        return list(self._verbs)

    def add(self, name: str, function: Function, seconds: float | None = VERB_SECONDS) -> None:
        """Let `name` mean this function.

        Its parameters are the arguments, and their annotations say what they must be (types of JSON, also with
        `Annotated[..., msgspec.Meta(...)]`); what it returns must be JSON, records and `Histogram` included. It is cancelled
        after `seconds`; None: never.

        Raises:
            InvalidError: the name is taken.
        """
        if name in self._verbs:
            raise InvalidError(f"there is a verb {name!r} already")
        parameters = inspect.signature(function).parameters
        types = get_type_hints(function, include_extras=True)
        required = frozenset(n for n, parameter in parameters.items() if parameter.default is parameter.empty)
        self._verbs[name] = _Verb(function, {n: types.get(n, Any) for n in parameters}, required, seconds)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Do it; the result as JSON has it.

        Raises:
            InvalidError: no such verb, or an argument that is unknown, missing or ill-typed; nothing was done.
            TimeoutExpiredError: it took too long.
            PaspsError: whatever the verb itself raises.
        """
        verb = self._verbs.get(name)
        if verb is None:
            raise InvalidError(f"there is no verb {name!r}; {_meant(name, self.names)}the verbs are {', '.join(self._verbs)}")
        given = _checked(name, verb, arguments)
        limit = asyncio.timeout(verb.seconds)
        try:
            async with limit:
                return json_ready(await verb.function(**given))
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise TimeoutExpiredError(f"verb {name!r} was not done after {verb.seconds:g} s") from error

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


def _checked(name: str, verb: _Verb, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, converted to what the function takes."""
    for argument in arguments:
        if argument not in verb.types:
            takes = f"it takes {', '.join(verb.types)}" if verb.types else "it takes none"
            raise InvalidError(f"verb {name!r}: there is no argument {argument!r}; {_meant(argument, verb.types)}{takes}")
    if missing := verb.required - arguments.keys():
        raise InvalidError(f"verb {name!r}: missing {', '.join(map(repr, sorted(missing)))}")
    return {argument: _converted(name, argument, verb.types[argument], value) for argument, value in arguments.items()}


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
