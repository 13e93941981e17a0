"""From the header and the bytes of a request to its events. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

_JSON = "application/json"
_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")
_MOST_KEY = 200

Event = dict[str, Any]


class RefusedError(Exception):
    """A request that is not taken: the status and the words of the answer."""

    def __init__(self, status: int, detail: str) -> None:
        self.status, self.detail = status, detail
        super().__init__(f"{status}: {detail}")


def kind_of(content_type: str, content_encoding: str) -> str:
    """The media type, one of those that are read. One is needed: without it any page in a browser could send events.

    Raises:
        RefusedError: it is another one, or compressed.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind != _JSON and kind not in _LINES:
        raise RefusedError(415, f"expected the header Content-Type: {_JSON}, or {_LINES[0]} for a line for each event, got {kind[:60]!r}")
    if content_encoding.strip().lower() not in ("", "identity"):
        raise RefusedError(415, f"expected a body that is not compressed, got Content-Encoding: {content_encoding[:60]!r}")
    return kind


def key_of(header: str) -> str | None:
    """The idempotency key; None: the client sent none.

    Raises:
        RefusedError: it is too long, or has characters that no key should have.
    """
    key = header.strip().strip('"')
    if not key:
        return None
    if len(key) > _MOST_KEY or not key.isascii() or not key.isprintable():
        raise RefusedError(400, f"Idempotency-Key: expected at most {_MOST_KEY} printable ASCII characters")
    return key


def events_in(body: bytes, kind: str) -> list[Event]:
    """The events of a body of this kind: objects, at least one.

    Raises:
        RefusedError: it is not what it says, or holds something else.
    """
    if kind == _JSON:
        value = _decoded(body, "body")
        events = value if isinstance(value, list) else [value]
        where = "event {}" if isinstance(value, list) else "body"
        found = [_object(event, where.format(number)) for number, event in enumerate(events)]
    else:
        lines = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
        found = [_object(_decoded(line, f"line {number}"), f"line {number}") for number, line in lines]
    if not found:
        raise RefusedError(400, "body: expected at least one event, got none")
    return found


def _decoded(data: bytes, where: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RefusedError(400, f"{where}: expected JSON in UTF-8: {error}") from error
    except RecursionError as error:
        raise RefusedError(400, f"{where}: nested too deeply") from error


def _object(value: Any, where: str) -> Event:
    if not isinstance(value, dict):
        names = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "true or false", type(None): "null"}
        raise RefusedError(400, f"{where}: expected a JSON object, got {names.get(type(value), type(value).__name__)}")
    return value
