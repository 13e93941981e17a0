from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from pasps import errors
from pasps.errors import BrokenError, InvalidError, PaspsError, TimeoutExpiredError, UnmovableError
from pasps.metrics import Histogram
from pasps.topology.verbs import Verbs, error_of, refusal


@dataclass(frozen=True)
class Point:
    x: int
    by_number: dict[int, float]


async def kill(wait: Annotated[float, Meta(ge=0)] | None = None) -> float | None:
    return wait


async def scale(bolts: dict[str, int | Literal["auto"]], hard: bool = False) -> Any:
    return {"bolts": bolts, "hard": hard}


async def look() -> Any:
    return Point(1, {2: 0.5}), Histogram({3: 4}, 0.25)


async def broken() -> None:
    raise KeyError("oops")


async def opaque() -> Any:
    return object()


async def sleepy() -> None:
    await asyncio.Event().wait()


async def late() -> None:
    raise TimeoutExpiredError("not confirmed")


def verbs() -> Verbs:
    made = Verbs()
    for function in (kill, scale, look, broken, opaque, late):
        made.add(function.__name__, function)
    made.add("sleepy", sleepy, seconds=0.0)
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


def test_a_name_has_one_meaning() -> None:
    with pytest.raises(InvalidError, match="there is a verb 'kill' already"):
        verbs().add("kill", look)


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
