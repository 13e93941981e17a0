"""Sentences that are made up, and what counts as a word."""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import accumulate

WORDS = (
    "the of and to a in is that it was for on are with as be at have this from or one by word but not what all were when we there "
    "can an your which their said if will do each about how up out them then she many some so these would other into has more two "
    "like him see time could no make than first been its who now people my made over did down only way find use may water long "
    "little very after words called just where most know cow moon apple doctor score seven snow dwarf nature day night storm river"
).split()
"""The first is the most frequent, the second half as frequent, and so on."""

_WEIGHTS = list(accumulate(1 / rank for rank in range(1, len(WORDS) + 1)))
_LEAST, _MOST = 4, 12
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")


def sentence(number: int, seed: int) -> str:
    """The same for the same number and seed, on any machine."""
    dice = random.Random(f"{seed}:{number}")
    return " ".join(dice.choices(WORDS, cum_weights=_WEIGHTS, k=dice.randint(_LEAST, _MOST)))


def counted(text: str) -> Counter[str]:
    """How often each word stands in a text; capitals make no difference."""
    return Counter(_WORD.findall(text.lower()))
