"""A finished figure, as the page sees it: apart from `figures`, because that one needs matplotlib. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure: the name of its file, its PNG, and what one sees on it in words, for who cannot see it."""

    name: str
    png: bytes
    seen: str
