"""Pickles as a peer with other modules would write them, for the tests of this folder; without the stop at their end."""

from __future__ import annotations

_MADE = b"cpasps.transport.values\n_made\n"


def apart(how: str, path: str, *parts: str) -> bytes:
    """What `how` makes of the class `module:name`, or of one that was sent by definition, and of texts; no text: no attributes."""
    module, _, name = path.partition(":")
    found = f"c{module}\n{name}\n".encode() if module[:1] != "#" else _MADE + b"(" + _text("class") + _text(path) + b"tR"
    return _MADE + b"(" + _text(how) + found + (b"".join(map(_text, parts)) or b"}") + b"tR"


def _text(text: str) -> bytes:
    return b"V" + text.encode() + b"\n"
