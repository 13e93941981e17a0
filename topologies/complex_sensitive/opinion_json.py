"""Reads an opinion from a line of a file: a JSON object. Pure."""

from __future__ import annotations

import json
from typing import Any

from topologies.complex_sensitive.opinions import MOST_AGE, Opinion
from topologies.number_keys import LARGEST
from topologies.simple_sensitive.sensitive import MOST_VALUE


def opinion_in(line: str) -> Opinion:
    """The opinion that the line holds.

    Raises:
        ValueError: a field is missing, unknown, or not of its type or within its bounds.
    """
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"expected an opinion as a JSON object: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ValueError("expected an opinion as a JSON object: it is nested too deeply") from None
    if not isinstance(found, dict) or found.keys() != set(Opinion._fields):
        raise ValueError(f"expected an object with {', '.join(Opinion._fields)}")
    user, age, code = _whole(found, "user", 0, LARGEST), _whole(found, "age", 0, MOST_AGE - 1), _whole(found, "code", 1, MOST_VALUE)
    return Opinion(user, age, code, _topic(found["topic"]), _side(found["opinion"]))


def _whole(found: dict[str, Any], field: str, least: int, most: int) -> int:
    value = found[field]
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"expected {field!r} to be a whole number from {least} to {most}")
    return value


def _topic(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
        raise ValueError("expected 'topic' to be text that a database can hold")
    return value


def _side(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1 <= value <= 1:
        raise ValueError("expected 'opinion' to be a number from -1 to 1")
    return float(value)
