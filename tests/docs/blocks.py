"""Fenced blocks of a Markdown page, with what their info strings say is to be done with them. Pure.

The first word of an info string is the language; `key=value` words after it are options:

    python                 executed; all such blocks of a page share one namespace, as the cells of a notebook do
    python raises=Name     executed; must raise that exception
    python file=name.py    saved under that name, where the later blocks of the page can import or run it
    text output            what the block before it prints; `...` stands for anything
    console                lines that begin with `$ ` are run, the others are what they print
    console exit=2         the last command of the block ends with that status

Every other language is only read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)$")


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is the line of the page on which its first line of text stands."""

    page: str
    line: int
    language: str
    text: str
    flags: frozenset[str] = frozenset()
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Command:
    """One command of a console block, and what it is said to print."""

    line: int
    words: str
    output: str


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    return blocks_in(page.read_text(encoding="utf-8"), page.name)


def blocks_in(text: str, page: str) -> list[Block]:
    """All fenced blocks of a text.

    Raises:
        ValueError: a fence that is never closed.
    """
    found: list[Block] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        at += 1
        if opening is None:
            continue
        start, indent = at, len(opening["indent"])
        while at < len(lines) and lines[at].strip() != opening["ticks"]:
            at += 1
        if at == len(lines):
            raise ValueError(f"{page}:{start}: this fence is never closed")
        body = [line[indent:] for line in lines[start:at]]
        at += 1
        found.append(_block(page, start + 1, opening["info"], body))
    return found


def _block(page: str, line: int, info: str, body: list[str]) -> Block:
    language, *words = info.split() or [""]
    options = dict(word.split("=", 1) for word in words if "=" in word)
    flags = frozenset(word for word in words if "=" not in word)
    return Block(page, line, language, "\n".join(body) + "\n", flags, options)


def commands_of(block: Block) -> list[Command]:
    """The commands of a console block."""
    found: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(block.text.splitlines(), block.line):
        if line.startswith("$ "):
            found.append((number, line[2:], []))
        elif found:
            found[-1][2].append(line)
    return [Command(number, words, "\n".join(output).strip()) for number, words, output in found]


def matches(expected: str, printed: str) -> bool:
    """Whether `printed` is what was expected; `...` stands for anything, white space at line ends for nothing."""
    parts = [re.escape(part) for part in _trimmed(expected).split("...")]
    return re.fullmatch(".*".join(parts), _trimmed(printed), re.DOTALL) is not None


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
