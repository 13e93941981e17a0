"""The pattern of `--format regex`, which is Java's: its groups are found here, and whether it is one Java says. Pure."""

from __future__ import annotations

import re

from pasps.errors import InvalidError

# what is escaped or quoted; a bracket, with one right after it that is a character of the class; a parenthesis, and what it begins
_TOKEN = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?|\]|\((?:\?<(?P<name>[A-Za-z]\w*)>|(?P<no_group>\?))?", re.DOTALL)


def java_pattern(pattern: str) -> str:
    """The pattern with its named groups as Java writes them."""
    return pattern.replace("(?P<", "(?<")


def pattern_groups(pattern: str) -> dict[str, int]:
    """The named groups of a pattern, and their numbers.

    Raises:
        InvalidError: it has no group `time`.
    """
    groups: dict[str, int] = {}
    number = depth = 0
    for token in _TOKEN.finditer(java_pattern(pattern)):
        if token[0].startswith("["):
            depth += 1
        elif token[0] == "]":
            depth = max(depth - 1, 0)
        elif token[0].startswith("(") and depth == 0 and not token["no_group"]:
            number += 1
            if token["name"]:
                groups[token["name"]] = number
    if "time" not in groups:
        raise InvalidError(rf"--pattern: expected a group for the time, such as (?<time>\S+), got {pattern!r}")
    return groups
