"""Spark SQL as text: literals, names, and the expressions that read a time. Pure.

A job's expressions run in Spark's Java process alone: no record passes through Python.
"""

from __future__ import annotations

import re

TIME_FORMATS = ("iso", "seconds", "millis", "micros", "nanos")
"""Times that have a name; every other format is a pattern of Spark's, such as `dd/MMM/yyyy:HH:mm:ss Z`."""

_ZONE_LETTERS = re.compile(r"[VzOXxZ]")
_QUOTED = re.compile(r"'[^']*'")
_UTC = frozenset({"UTC", "Z", "GMT", "Etc/UTC"})
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def name(column: str) -> str:
    """A column's name as SQL writes it."""
    return "`" + column.replace("`", "``") + "`"


def is_utc(zone: str) -> bool:
    """Whether it is a name of UTC; then nothing needs to be moved."""
    return zone in _UTC


def has_optional_zone(pattern: str) -> bool:
    """Whether a pattern such as `HH:mm[XXX]` takes times with a zone and times without one."""
    depth = 0
    for letter in _QUOTED.sub("", pattern):
        depth += (letter == "[") - (letter == "]")
        if depth and _ZONE_LETTERS.match(letter):
            return True
    return False


def month_number(text: str) -> str:
    """`Jan` to `Dec` as `01` to `12`; NULL for anything else."""
    pairs = ", ".join(f"'{month}', '{number:02}'" for number, month in enumerate(_MONTHS, 1))
    return f"decode({text}, {pairs}, NULL)"


def micros_of_text(text: str, time_format: str, zone: str) -> str:
    """The moment that a text writes, in microseconds; NULL where it writes none.

    A local time that a change of the clocks left out counts as so much later as the clocks went forward; one that came twice counts
    as the first of the two.
    """
    if time_format in TIME_FORMATS[1:]:
        if time_format in ("micros", "nanos"):
            return micros_of_number(f"try_cast({text} AS BIGINT)", time_format)
        # Java reads 12d and 0x1p30 as numbers, too
        return micros_of_number(f"try_cast(if({text} RLIKE '[^-+.0-9eE\\\\s]', NULL, {text}) AS DOUBLE)", time_format)
    if time_format != "iso":
        has_zone = _ZONE_LETTERS.search(_QUOTED.sub("", time_format)) is not None
        return micros_of_moment(f"try_to_timestamp({text}, {literal(time_format)})", "UTC" if has_zone else zone)
    # the places of the two dashes, since a cast takes a time without a date too, and means today
    dashed = f"substr({text}, 5, 1) = '-' AND substr({text}, 8, 1) = '-'"
    # a digit alone at the end is the rest of a time that was cut; those of the usual lengths need not be searched for it
    usual = f"(octet_length({text}) IN (10, 19) AND NOT contains({text}, '+') AND NOT endswith({text}, ' '))"
    whole = f"(endswith({text}, 'Z') OR {usual} OR NOT {text} RLIKE '[-+:T ][0-9]\\\\s*$')"
    moment = f"coalesce(try_cast({text} AS TIMESTAMP), try_cast(replace({text}, ',', '.') AS TIMESTAMP))"
    if not is_utc(zone):
        moment = f"if(substr({text}, 12) RLIKE '[-+A-Za-z]', {moment}, to_utc_timestamp({moment}, {literal(zone)}))"
    return f"if({dashed} AND {whole}, unix_micros({moment}), NULL)"


def micros_of_moment(moment: str, zone: str) -> str:
    """The microseconds of a TIMESTAMP that was read as if it were in UTC, and is a local time of that zone; NULL if they are too many."""
    in_utc = moment if is_utc(zone) else f"to_utc_timestamp({moment}, {literal(zone)})"
    # for the sake of the `try`: what goes wrong with a year that no 64 bits hold ends the job otherwise
    return f"unix_micros(try_add({in_utc}, INTERVAL '0' SECOND))"


def micros_of_number(number: str, time_format: str) -> str:
    """The microseconds of a number of seconds or millis, to the nearest; or of micros or nanos, rounded down."""
    if time_format == "micros":
        return f"CAST({number} AS BIGINT)"
    if time_format == "nanos":
        # the least of 64 bits, which pandas writes where it has no time, has nothing below it
        return f"(try_subtract({number}, pmod({number}, 1000L)) DIV 1000L)"
    return f"try_cast(rint({number} * {'1e6' if time_format == 'seconds' else '1e3'}D) AS BIGINT)"
