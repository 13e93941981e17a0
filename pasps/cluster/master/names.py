"""Names of topologies: they become paths in the store, directories, and words of a command line. Pure."""

from __future__ import annotations

import re

from pasps.errors import InvalidError

MOST_CHARACTERS = 100
_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{MOST_CHARACTERS - 1}}}")


def is_name(text: str) -> bool:
    """Whether a topology can be called so."""
    return _NAME.fullmatch(text) is not None


def check_name(name: str) -> None:
    """Refuse what cannot be a name.

    Raises:
        InvalidError: it says what a name is made of.
    """
    if not is_name(name):
        raise InvalidError(
            f"topology name: expected 1 to {MOST_CHARACTERS} letters, digits, '-', '_' and '.', beginning with a letter, a digit or '_', "
            f"got {name[:120]!r}; choose another with --name"
        )
