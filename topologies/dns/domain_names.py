"""Names that are asked for: of sites that people visit, of malware that makes its names up, of data that leaves as names.

All are made up, under top-level domains that are reserved for examples and tests.
"""

from __future__ import annotations

from base64 import b32encode
from random import Random

_SYLLABLES = tuple(first + vowel for first in ("b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t", "tr", "st") for vowel in "aeiou")
_HOSTS = ("www", "www", "www", "mail", "api", "img", "static", "cdn", "news", "login")
_TOP = ("example", "example", "test")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_HEX = "0123456789abcdef"


def site(dice: Random) -> str:
    """The domain of a site, as somebody would name it."""
    word = "".join(dice.choices(_SYLLABLES, k=dice.randint(2, 4)))
    return f"{word}{dice.choice(('', '', 'shop', 'media', '24'))}.{dice.choice(_TOP)}"


def visited(dice: Random, domain: str) -> str:
    """A host of a site; one in six has a label that a machine made, as those of content networks have."""
    roll = dice.random()
    if roll < 0.15:
        return domain
    if roll < 0.32:
        return f"{''.join(dice.choices(_HEX, k=dice.randint(8, 14)))}.cdn.{domain}"
    return f"{dice.choice(_HOSTS)}.{domain}"


def generated(dice: Random) -> str:
    """A name by an algorithm, to be found by those who know the algorithm."""
    return f"{''.join(dice.choices(_LETTERS, k=dice.randint(9, 20)))}.{dice.choice(_TOP)}"


def carrier(dice: Random, domain: str, load: int) -> str:
    """`load` bytes of data as labels below the tunnel's own domain."""
    text = b32encode(dice.randbytes(load)).decode().rstrip("=").lower()
    labels = [text[place : place + 60] for place in range(0, len(text), 60)]
    return ".".join([*labels, domain])


def reverse(dice: Random) -> str:
    """The name of an address."""
    return ".".join(str(dice.randint(1, 254)) for _ in range(4)) + ".in-addr.arpa"
