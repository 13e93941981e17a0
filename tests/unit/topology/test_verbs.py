from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from pasps import errors
from pasps.errors import BrokenError, InvalidError, PaspsError, ProtocolError, TimeoutExpiredError, UnmovableError
from pasps.metrics import Histogram
from pasps.topology.verbs import (
    KNOWN,
    Activate,
    Activity,
    GetFile,
    GetLogs,
    Kill,
    LogPart,
    Scale,
    Verb,
    Verbs,
    answer_of,
    arguments_of,
    error_of,
    json_ready,
    made,
    refusal,
)


@dataclass(frozen=True)
class Point:
    x: int
    by_number: dict[int, float]


class Resize(Verb[Any], frozen=True):
    name = "scale"

    bolts: dict[str, int | Literal["auto"]]
    hard: bool = False


class Look(Verb[Any], frozen=True):
    name = "look"


class Broken(Verb[None], frozen=True):
    name = "broken"


class Opaque(Verb[Any], frozen=True):
    name = "opaque"


class Sleepy(Verb[None], frozen=True):
    name = "sleepy"
    seconds = 0.0


class Late(Verb[None], frozen=True):
    name = "late"


async def kill(asked: Kill) -> float | None:
    return asked.wait


async def scale(asked: Resize) -> Any:
    return {"bolts": asked.bolts, "hard": asked.hard}


async def look(_: Look) -> Any:
    return Point(1, {2: 0.5}), Histogram({3: 4}, 0.25)


async def broken(_: Broken) -> None:
    raise KeyError("oops")


async def opaque(_: Opaque) -> Any:
    return object()


async def sleepy(_: Sleepy) -> None:
    await asyncio.Event().wait()


async def late(_: Late) -> None:
    raise TimeoutExpiredError("not confirmed")


def verbs() -> Verbs:
    made = Verbs()
    made.add(Kill, kill)
    made.add(Resize, scale)
    made.add(Look, look)
    made.add(Broken, broken)
    made.add(Opaque, opaque)
    made.add(Late, late)
    made.add(Sleepy, sleepy)
    return made


def call(name: str, **arguments: Any) -> Any:
    return asyncio.run(verbs().call(name, arguments))


def test_arguments_come_as_the_function_takes_them() -> None:
    assert call("kill", wait=3) == 3.0
    assert call("kill") is None
    assert call("scale", bolts={"a": 2, "b": "auto"}) == {"bolts": {"a": 2, "b": "auto"}, "hard": False}


def test_results_are_what_json_can_hold() -> None:
    assert list(call("look")) == [{"x": 1, "by_number": {"2": 0.5}}, {"buckets": {"3": 4}, "total": 0.25}]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("kil", {}, "there is no verb 'kil'; did you mean 'kill'? the verbs are kill, scale"),
        ("kill", {"wiat": 3}, "verb 'kill': there is no argument 'wiat'; did you mean 'wait'? it takes wait"),
        ("look", {"at": 3}, "there is no argument 'at'; it takes none"),
        ("scale", {}, "verb 'scale': missing 'bolts'"),
        ("kill", {"wait": -1}, "verb 'kill', argument 'wait': expected `float` >= 0.0; the value was -1"),
        ("kill", {"wait": "3"}, "argument 'wait': expected `float | null`, got `str`; the value was '3'"),
        ("scale", {"bolts": {"a": True}}, "expected `int | str`, got `bool`"),
        ("scale", {"bolts": {"a": "all"}}, "invalid enum value 'all'"),
        ("scale", {"bolts": [1]}, "expected `object`, got `array`"),
        ("scale", {"bolts": {}, "hard": 1}, "expected `bool`, got `int`"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_done(name: str, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidError) as caught:
        call(name, **arguments)
    assert words in str(caught.value)


def test_a_verb_that_takes_too_long_is_ended() -> None:
    with pytest.raises(TimeoutExpiredError, match="verb 'sleepy' was not done after 0 s"):
        call("sleepy")


def test_a_time_out_of_the_verb_itself_keeps_its_words() -> None:
    with pytest.raises(TimeoutExpiredError, match="not confirmed"):
        call("late")


def test_answers_tell_errors_and_never_raise(caplog: pytest.LogCaptureFixture) -> None:
    table = verbs()
    assert asyncio.run(table.answer("kill", {"wait": 1})) == {"ok": True, "result": 1.0}
    assert asyncio.run(table.answer("late", {})) == {"ok": False, "error": {"kind": "TimeoutExpiredError", "text": "not confirmed"}}
    with caplog.at_level(logging.ERROR):
        told = asyncio.run(table.answer("broken", {}))["error"]
        opaque = asyncio.run(table.answer("opaque", {}))["error"]
    assert told == {"kind": "BrokenError", "text": "verb 'broken' failed, see the log of the run: KeyError: 'oops'"}
    assert opaque["kind"] == "BrokenError"
    assert "Traceback" in caplog.text


ASKED = [Scale({"a": 3, "b": "auto"}), Kill(), Kill(2.5), GetLogs("w0", offset=7), GetFile(3), Activate()]


@pytest.mark.parametrize("asked", ASKED, ids=repr)
def test_a_request_arrives_as_it_was_made_and_says_no_more_than_it_has_to(asked: Verb[Any]) -> None:
    told = arguments_of(asked)
    assert made(KNOWN[asked.name], told) == asked
    assert None not in told.values()


def test_an_answer_arrives_as_it_was_given() -> None:
    part = LogPart("w0", "node-1", "a\nb", 4)
    assert answer_of(GetLogs("w0"), json_ready(part), "topology 'a'") == part
    assert answer_of(Activate(), {"state": "running"}, "topology 'a'") == Activity("running")
    assert json_ready(Activity("running")) == {"state": "running"}
    assert answer_of(Kill(), None, "topology 'a'") is None


WHOLE = {"worker": "w0", "host": "h", "text": "a", "offset": 4}


@pytest.mark.parametrize("told", [None, [], {}, {**WHOLE, "text": 3}, {name: WHOLE[name] for name in ("worker", "host", "text")}])
def test_what_is_no_answer_to_that_is_the_fault_of_who_gave_it(told: Any) -> None:
    with pytest.raises(ProtocolError, match=r"^topology 'a' answered `logs` with something else: "):
        answer_of(GetLogs(), told, "topology 'a'")


def test_a_name_has_one_meaning() -> None:
    with pytest.raises(InvalidError, match="there is a verb 'kill' already"):
        verbs().add(Kill, kill)


KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, PaspsError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_arrives_as_its_own_kind(kind: type[PaspsError]) -> None:
    error = error_of(kind.__name__, "what it said")
    assert (type(error), str(error)) == (kind, "what it said")


def test_errors_travel_as_kind_and_text() -> None:
    error = UnmovableError("count", 3, "log", "a file")
    told = refusal(error)["error"]
    assert (told["kind"], told["text"]) == ("UnmovableError", str(error))


@pytest.mark.parametrize("kind", ["NewError", "EndOfInput", "annotations", "", None])
def test_a_kind_that_is_not_known_is_a_broken_outside(kind: object) -> None:
    assert type(error_of(kind, "x")) is BrokenError
