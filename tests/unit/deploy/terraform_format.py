"""The rules of `terraform fmt` that matter here, for machines without a terraform. Pure.

Two spaces for each line whose brackets are open; in consecutive lines that are whole arguments the equals signs stand below each other, and
otherwise one space is on each side; no blank at the end of a line, no tab. And, which is ours, one newline at the end of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ARGUMENT = re.compile(r"""^(?P<name>[\w-]+|"[^"]*")(?P<gap> *)=(?!=)(?P<after> *)\S""")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')


@dataclass(frozen=True)
class Line:
    """One line; `depth` is how far it is to be indented, `net` how many more brackets it opens than it closes."""

    number: int
    text: str
    depth: int
    net: int

    @property
    def argument(self) -> re.Match[str] | None:
        """Its name and gaps, when it is one whole argument."""
        return _ARGUMENT.match(self.text.strip()) if self.net == 0 else None


def faults(text: str) -> list[str]:
    """What `terraform fmt` would change, line by line."""
    lines = list(_lines(text))
    found = [fault for line in lines for fault in _alone(line)] + list(_unaligned(lines))
    if not text.endswith("\n") or text.endswith("\n\n"):
        found.append("the file does not end with one newline")
    return found


def _lines(text: str) -> Iterator[Line]:
    levels: list[int] = []  # how many brackets each line opened that are still open: together they indent once
    for number, line in enumerate(text.splitlines(), 1):
        code = "" if line.strip().startswith("#") else _STRING.sub('""', line)
        net = sum(code.count(bracket) for bracket in "{[(") - sum(code.count(bracket) for bracket in "}])")
        _close(levels, -net)
        yield Line(number, line, len(levels), net)
        if net > 0:
            levels.append(net)


def _close(levels: list[int], closed: int) -> None:
    while closed > 0 and levels:
        taken = min(closed, levels[-1])
        closed -= taken
        levels[-1] -= taken
        if levels[-1] == 0:
            levels.pop()


def _alone(line: Line) -> Iterator[str]:
    if line.text != line.text.rstrip() or "\t" in line.text:
        yield f"line {line.number}: a blank at its end, or a tab"
    indent = len(line.text) - len(line.text.lstrip())
    if line.text.strip() and indent != 2 * line.depth:
        yield f"line {line.number}: indented by {indent}, expected {2 * line.depth}"
    opening = _ARGUMENT.match(line.text.strip())
    if opening and (opening["after"] != " " or (line.net > 0 and opening["gap"] != " ")):
        yield f"line {line.number}: not one space beside ="


def _unaligned(lines: list[Line]) -> Iterator[str]:
    group: list[tuple[Line, re.Match[str]]] = []
    for line in [*lines, Line(0, "", 0, 0)]:
        argument = line.argument
        if argument and (not group or group[-1][0].depth == line.depth):
            group.append((line, argument))
            continue
        longest = max((len(made["name"]) for _, made in group), default=0)
        yield from (f"line {at.number}: = is not aligned" for at, made in group if len(made["name"] + made["gap"]) != longest + 1)
        group = [(line, argument)] if argument else []
