"""What is known to vary in messages is masked before templates are looked for; and what of a message says where that is done."""

from __future__ import annotations

import re

MOST_CHARACTERS = 1_000
"""A message is looked at so far when its template is sought; the whole is stored."""

_ADDRESS = r"\d{1,3}(?:\.\d{1,3}){3}"
# no mask is Drain's wildcard, because Drain does not count wildcards as what two lines share
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


def word_count(content: str) -> int:
    """How many words a message has. Drain never compares two that differ in it, so each number may belong to a task of its own."""
    return len(content.split())
