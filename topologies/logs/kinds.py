"""The third step: what kind of event a line is, given how often lines of its template come; and the session it belongs to.

`Rates` is the pure part; each task keeps one, for the templates that belong to the task.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pasps import Bolt, TopologyContext, Tuple
from topologies.logs.line_formats import Line
from topologies.number_keys import above_zero, whole
from topologies.recent import Recent

_SEVERITIES = {
    "debug": ("trace", "debug"),
    "info": ("info", "notice"),
    "warning": ("warn", "warning"),
    "error": ("error", "crit", "critical", "alert", "emerg", "fatal"),
}
_BY_LEVEL = {level: severity for severity, levels in _SEVERITIES.items() for level in levels}
_ERROR_WORDS = re.compile(r"(?i)\b(?:fatal|panic|exception|errors?|corrupt\w*|out of memory)\b")
_WARNING_WORDS = re.compile(
    r"(?i)\b(?:fail(?:ed|ure|ures|s)?|denied|refused|rejected|wrong|invalid|timed out|timeout|attempt!?|forbidden|unknown)\b"
)
_SESSIONS = (
    re.compile(r"\bblk_-?\d+"),
    re.compile(r"\b(?:application|attempt|job|container)_\d+(?:_\w+)*"),
    re.compile(r"\bTID \d+"),
    re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])"),
)
_LEARNED_WINDOWS = 3
_LEAST_BURST = 10
_DEVIATIONS = 4.0
_WEIGHT = 0.3
"""Of the window that just ended, in the mean and the variance of all before."""
_LATE_WINDOWS = 5


def severity(line: Line) -> str:
    """ "debug", "info", "warning" or "error": by the level, or by what the message says where there is no level."""
    known = _BY_LEVEL.get(line.level)
    if known is not None:
        return known
    beginning = line.message[:500]
    if _ERROR_WORDS.search(beginning):
        return "error"
    return "warning" if _WARNING_WORDS.search(beginning) else "info"


def session(message: str) -> str:
    """What lines of one story have in common: a block, a job, a task, an address; "" when there is none."""
    for pattern in _SESSIONS:
        match = pattern.search(message)
        if match:
            return match[0]
    return ""


@dataclass(slots=True)
class _Rate:
    """Lines of one template in windows of time; mean and variance are of the windows that have ended, newer ones weigh more."""

    window: int
    count: int = 0
    ended: int = 0
    mean: float = 0.0
    variance: float = 0.0

    def end_window(self, window: int) -> None:
        """Take in the window that ends, and those without a line since."""
        # after so many empty windows further ones change nothing
        for count in (self.count, *(0 for _ in range(min(window - self.window - 1, 50)))):
            off = count - self.mean
            weight = max(_WEIGHT, 1 / (self.ended + 1))
            self.mean += weight * off
            self.variance = (1 - weight) * (self.variance + weight * off * off)
            self.ended += 1
        self.window, self.count = window, 0

    def is_burst(self) -> bool:
        """Whether there are already far more lines in this window than in those before."""
        # the counts of lines that come independently vary by their mean at least
        usual = self.mean + _DEVIATIONS * math.sqrt(max(self.variance, self.mean))
        return self.ended >= _LEARNED_WINDOWS and self.count > max(_LEAST_BURST, usual)


class Rates:
    """How often lines of each template come, by the lines' own times; of `most` templates, those seen last."""

    def __init__(self, window_seconds: float = 60.0, most: int = 4096) -> None:
        self._window_seconds, self._most = window_seconds, most
        self._rates: OrderedDict[str, _Rate] = OrderedDict()

    def __len__(self) -> int:
        return len(self._rates)

    def add(self, origin: str, at: datetime | None) -> str:
        """Count a line in: "new" for the first of its template, "burst" when there are unusually many, else "usual".

        A line without a time is in the window of the line before. One that is some windows late is too; much earlier than that, it
        begins another recording, and what was usual is learned anew.
        """
        rate = self._rates.get(origin)
        if rate is None:
            rate = self._rates[origin] = _Rate(self._window(at) or 0)
            rate.count = 1
            if len(self._rates) > self._most:
                self._rates.popitem(last=False)
            return "new"
        self._rates.move_to_end(origin)
        window = self._window(at)
        if window is not None and window > rate.window:
            rate.end_window(window)
        elif window is not None and window < rate.window - _LATE_WINDOWS:
            rate = self._rates[origin] = _Rate(window)
        rate.count += 1
        return "burst" if rate.is_burst() else "usual"

    def _window(self, at: datetime | None) -> int | None:
        return None if at is None else int(at.replace(tzinfo=UTC).timestamp() // self._window_seconds)


class Kinds(Bolt):
    """Severity, kind and session of each line. A line that comes again gets the kind of the first time, and is not counted.

    Keys: `logs.window.seconds`, the length of the windows in which lines are counted (60); `logs.templates.max` (1024).
    """

    outputs = ["event", "line", "template", "severity", "kind", "session"]
    remembered = 4096

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        where = f"component {ctx.component_id!r}"
        window_seconds = above_zero(conf, "logs.window.seconds", 60.0, where)
        self.rates = Rates(window_seconds, whole(conf, "logs.templates.max", 1024, 1, 10_000_000, where))
        self.recent: Recent[str] = Recent(self.remembered)

    def process(self, tup: Tuple) -> None:
        event, line, template, _ = tup.values
        kind = self.recent.get(event) or self.recent.keep(event, self.rates.add(template.origin, line.at))
        self.emit([event, line, template, severity(line), kind, session(line.message)])
