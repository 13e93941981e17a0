"""What the views say of whoever decides on replicas: the input against what was expected of it, and the last decision. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from pasps.cli.words import rate_text

_SECONDS = 48
_BARS = "▁▂▃▄▅▆▇█"
_UNKNOWN = " "


class Trail:
    """Input and expectation of the last seconds; `add` is given every frame's time and what was said with it."""

    def __init__(self) -> None:
        self._seconds: deque[tuple[float | None, float | None]] = deque(maxlen=_SECONDS)
        self._expected: float | None = None
        self._second = -1

    def add(self, seconds: float, elastic: Mapping[str, Any]) -> None:
        """One point a second: what arrived in it, and what had been expected of it at its beginning."""
        if int(seconds) == self._second:
            return
        self._second = int(seconds)
        self._seconds.append((elastic.get("arrived"), self._expected))
        self._expected = elastic.get("predicted")

    def bars(self) -> tuple[str, str]:
        """Both as bars of one scale."""
        most = max((value for pair in self._seconds for value in pair if value is not None), default=0.0)
        return _bars((arrived for arrived, _ in self._seconds), most), _bars((expected for _, expected in self._seconds), most)


def _bars(values: Iterable[float | None], most: float) -> str:
    last = len(_BARS) - 1
    return "".join(_UNKNOWN if value is None else _BARS[round(value / most * last) if most > 0 else 0] for value in values)


def elastic_lines(elastic: Mapping[str, Any], trail: Trail) -> list[str]:
    """A few lines for the live view."""
    arrived, expected = trail.bars()
    lines = [f"input     {arrived.rjust(_SECONDS)}  {_rate(elastic.get('arrived'))}"]
    if elastic.get("predicted") is not None or elastic.get("predictor") is not None:
        lines.append(f"expected  {expected.rjust(_SECONDS)}  {_rate(elastic.get('predicted'))}  {_whose(elastic)}".rstrip())
    said = elastic.get("decision") or "nothing decided yet"
    held = elastic.get("held") or {}
    by_hand = f"   by hand: {', '.join(f'{name}={count}' for name, count in held.items())}" if held else ""
    return [*lines, f"policy {elastic.get('policy')}   {said}{by_hand}"]


def elastic_status(elastic: Mapping[str, Any]) -> list[str]:
    """Lines for a status."""
    held = ", ".join(f"{name}={count}" for name, count in (elastic.get("held") or {}).items())
    lines = [f"policy     {elastic.get('policy')}   {elastic.get('decision') or 'nothing decided yet'}"]
    if elastic.get("arrived") is not None:
        lines.append(f"input      {_rate(elastic.get('arrived'))}   {elastic_words(elastic)}")
    return lines + ([f"by hand    {held}"] if held else [])


def elastic_words(elastic: Mapping[str, Any]) -> str:
    """A few words for one line."""
    if elastic.get("predictor") is None and elastic.get("predicted") is None:
        return f"policy {elastic.get('policy')}"
    return f"expected {_rate(elastic.get('predicted'))} {_whose(elastic)}".rstrip()


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate_text(rate)}/s"


def _whose(elastic: Mapping[str, Any]) -> str:
    """The model, and the rung of the ladder when it is not the model's own answer."""
    rung = elastic.get("source")
    if elastic.get("predictor") is None:
        return ""
    return str(elastic["predictor"]) if rung in (None, "predictor") else f"{elastic['predictor']}, {rung}"
