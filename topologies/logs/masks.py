"""What is known to vary in messages is masked before templates are looked for; and what of a message decides where they are kept."""

from __future__ import annotations

import re

MOST_CHARACTERS = 1_000
"""A message is looked at so far when its template is sought; the whole is stored."""

WILDCARD = "<*>"
"""Drain's own sign for what varies. Masks are different from it, because Drain does not count wildcards as what two lines share."""

_ADDRESS = r"\d{1,3}(?:\.\d{1,3}){3}"
_MASKS = (
    (re.compile(r"\bblk_-?\d+"), "<block>"),
    (re.compile(rf"(?<![\w.-])/?{_ADDRESS}(?::\d{{1,5}})?(?![\w-]|\.\w)"), "<address>"),
    (re.compile(r"\b(?:attempt|task|job|application|container|executor)_\d+(?:_\w+)*"), "<job>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<hex>"),
    (re.compile(r"\b(?:0x[0-9a-fA-F]+|(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{8,}|(?:[0-9a-fA-F]{2}:){5,}[0-9a-fA-F]{2})\b"), "<hex>"),
    (re.compile(r"(?<![\w/.-])(?:hdfs:/|file:/)?/(?:[\w.+@:-]+/)+[\w.+@:$-]*"), "<path>"),
    (re.compile(r"(?<![\w.-])[+-]?\d+(?:\.\d+)?(?![\w-])"), "<number>"),
    # a list of blocks is one list, however long it is
    (re.compile(r"(<\w+>)(?:[\s,]+\1)+"), r"\1"),
)


def masked(message: str) -> str:
    """The message with names in place of numbers, addresses, paths and identifiers; lists of one kind are one."""
    content = message if len(message) <= MOST_CHARACTERS else _beginning(message)
    for pattern, mask in _MASKS:
        content = pattern.sub(mask, content)
    return content


def _beginning(message: str) -> str:
    """Whole words: half an address would be none."""
    beginning = message[: MOST_CHARACTERS + 1]
    return beginning.rpartition(" ")[0] or beginning[:MOST_CHARACTERS]


def shape(content: str) -> str:
    """Number of words and first word of a masked message: the path that Drain's tree takes to the templates it compares with.

    Two messages of different shapes never have the same template, so each shape may belong to a task of its own.
    """
    words = content.split()
    if len(words) < 2:
        return str(len(words))
    first = WILDCARD if any(map(str.isdigit, words[0])) else words[0]
    return f"{len(words)} {first}"
