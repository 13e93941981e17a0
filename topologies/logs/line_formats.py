"""The first step: from a line of a log to its time, level, component and message. Every line is read: the last format takes all.

The formats are those of HDFS, Spark, syslog (OpenSSH) and Apache as Loghub collects them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pasps import Bolt, TopologyContext, Tuple
from topologies.logs.masks import masked, word_count
from topologies.number_keys import whole

_MONTHS = {name: number for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_YEAR = 2000
"""Of syslog's times, which have none; a leap year, so that every day there is can be written."""


@dataclass(frozen=True, slots=True)
class Line:
    """What a line says.

    Attributes:
        source: The format that it was read by: "hdfs", "spark", "syslog", "apache" or "other".
        at: Local time of whoever wrote the line; None when it has none that can be read.
        level: In lower case, as "info"; "" without one.
        component: Program or class that wrote it; "" when unknown.
        message: The rest; of a line of format "other" all of it.
    """

    source: str
    at: datetime | None
    level: str
    component: str
    message: str


Reader = Callable[[re.Match[str], int], Line]

_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRIT|CRITICAL|ALERT|EMERG|FATAL"
_LEVEL = f"(?i:{_LEVELS})"
_HDFS = re.compile(rf"(\d\d)(\d\d)(\d\d) (\d\d)(\d\d)(\d\d) \d+ ({_LEVEL}) ([^\s:]+): ?(.*)", re.DOTALL)
_SPARK = re.compile(rf"(\d\d)/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d) ({_LEVEL}) ([^\s:]+): ?(.*)", re.DOTALL)
_SYSLOG = re.compile(r"([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d) \S+ ([^\s:\[]+)(?:\[\d+\])?: ?(.*)", re.DOTALL)
_APACHE = re.compile(
    rf"\[\w{{3}} (\w{{3}}) {{1,2}}(\d{{1,2}}) (\d\d):(\d\d):(\d\d)(?:\.\d+)? (\d{{4}})\] \[(?:(\w*):)?({_LEVEL})\] ?(.*)", re.DOTALL
)
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?!\d)")
_SOME_LEVEL = re.compile(rf"\b({_LEVELS})\b")
_PREFIX = 120
"""Characters in which a line of no known format may have a level."""


def _numeric(source: str) -> Reader:
    def read(match: re.Match[str], year: int) -> Line:
        short, month, day, hour, minute, second = map(int, match.groups()[:6])
        at = datetime(short + (1900 if short >= 70 else 2000), month, day, hour, minute, second)
        return Line(source, at, match[7].lower(), match[8], match[9])

    return read


def _syslog(match: re.Match[str], year: int) -> Line:
    at = datetime(year, _MONTHS[match[1]], int(match[2]), int(match[3]), int(match[4]), int(match[5]))
    return Line("syslog", at, "", match[6], match[7])


def _apache(match: re.Match[str], year: int) -> Line:
    at = datetime(int(match[6]), _MONTHS[match[1]], int(match[2]), int(match[3]), int(match[4]), int(match[5]))
    return Line("apache", at, match[8].lower(), match[7] or "", match[9])


_FORMATS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (_HDFS, _numeric("hdfs")),
    (_SPARK, _numeric("spark")),
    (_SYSLOG, _syslog),
    (_APACHE, _apache),
)


def read_line(line: str, year: int = _YEAR) -> Line:
    """What the line says; a time that no calendar has makes it a line of no known format."""
    for pattern, read in _FORMATS:
        match = pattern.fullmatch(line)
        if match:
            try:
                return read(match, year)
            except (ValueError, KeyError):
                break
    level = _SOME_LEVEL.search(line, 0, _PREFIX)
    return Line("other", _iso(line), level[1].lower() if level else "", "", line)


def _iso(line: str) -> datetime | None:
    found = _ISO.match(line)
    try:
        return datetime.fromisoformat(f"{found[1]} {found[2]}") if found else None
    except ValueError:
        return None


class Parse(Bolt):
    """The line's parts, and the number of words in its message, by which templates are kept.

    Key: `logs.year`, the year of syslog's times (2000).
    """

    outputs = ["event", "line", "masked", "words"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.year = whole(conf, "logs.year", _YEAR, 1, 9998, f"component {ctx.component_id!r}")

    def process(self, tup: Tuple) -> None:
        event, text = tup.values
        line = read_line(text, self.year)
        content = masked(line.message)
        self.emit([event, line, content, word_count(content)])
