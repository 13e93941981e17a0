"""One line of JSON to a record of a known schema. Pure."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from pasps.errors import InvalidError


class Versioned(Protocol):
    """A record that says which schema it is of."""

    @property
    def schema(self) -> str:
        """Name and version."""


RecordType = TypeVar("RecordType", bound=Versioned)


def record_in(line: bytes | str, kind: type[RecordType], what: str, schema: str) -> RecordType:
    """The record in a line; `what` names the file for the message: `decision log`.

    Raises:
        InvalidError: there is none, or it is of another schema.
    """
    try:
        record = msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidError(f"{what}: expected a record of schema {schema!r} as JSON, got {line[:80]!r}: {error}") from error
    if record.schema != schema:
        raise InvalidError(f"{what}: expected schema {schema!r}, got {record.schema!r}")
    return record
