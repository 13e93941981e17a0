"""What the recorded series are called in figures and tables: by their file, in words."""

from __future__ import annotations

from pathlib import PurePath

_WORDS = {
    "ads_3d_1s": "Demeter's clicks",
    "bgelasor_fluctuate": "BGElasor's fluctuating load",
    "bgelasor_periodic": "BGElasor's periodic load",
    "dns": "the paper's DNS traffic",
    "log": "the paper's log",
    "sbac": "the paper's tweets, smoothed",
    "twitter": "the paper's tweets",
    "twitter-raw": "the paper's tweets, raw",
    "twitter_volume_AAPL": "tweets about Apple",
    "twitter_volume_FB": "tweets about Facebook",
    "twitter_volume_GOOG": "tweets about Google",
    "twitter_volume_IBM": "tweets about IBM",
    "twitter_volume_KO": "tweets about Coca-Cola",
    "worldcup98_per_minute": "the World Cup of 1998",
}

_RECORDED_SECONDS = {
    "bgelasor_fluctuate": 600,
    "bgelasor_periodic": 300,
    "worldcup98_per_minute": 60,
    **dict.fromkeys(("ads_3d_1s", "dns", "log", "sbac", "twitter", "twitter-raw"), 1),
    **dict.fromkeys((name for name in _WORDS if name.startswith("twitter_volume")), 300),
}
"""What a row took when it was recorded."""


def series_in_words(name: str) -> str:
    """A series by its file, with a folder, an ending and rows in brackets or without; one that nobody named keeps its file's name."""
    return _WORDS.get(_stem(name), _stem(name).replace("_", " "))


def pace_in_words(name: str, row_seconds: float) -> str:
    """How much quicker it is than it was recorded when a row takes so long; nothing where nobody said."""
    recorded = _RECORDED_SECONDS.get(_stem(name))
    if recorded is None:
        return ""
    return "as quick as recorded" if recorded == row_seconds else f"{recorded / row_seconds:g} times as quick as recorded"


def _stem(name: str) -> str:
    return PurePath(name.partition("[")[0]).name.removesuffix(".csv")
