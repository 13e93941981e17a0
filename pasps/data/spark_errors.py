"""What Spark raises, in one line, as an error of pasps that tells whose fault it is. Asks Spark's process, which must be there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from pasps.errors import BrokenError, InvalidError, PaspsError

_USERS = {
    "PATH_NOT_FOUND": "there is no such path; check it, and put a pattern such as 'logs/*.gz' in quotes",
    "UNABLE_TO_INFER_SCHEMA": "no such file is there; names that begin with _ or . are not read",
}
_CONNECTOR = "Spark has no connector for it; add one with --conf spark.jars.packages=GROUP:NAME:VERSION"
CURES = {
    "No FileSystem for scheme": _CONNECTOR,
    "FileSystem not found": _CONNECTOR,
    "Java heap space": "give Spark more memory with --driver-memory, or with --conf spark.executor.memory=SIZE on a cluster",
    "StackOverflowError": "a --pattern that repeats a group, as (a|b)*, needs as much as a line is long; write it (?:a|b)*+",
    "Relative path in absolute URI": "Spark reads no file whose name has a colon; rename it",
}
"""What to do about something, by a sign of it."""
_CODE = re.compile(r"^\[(?P<code>[A-Z_0-9.]+)\] ")
_STATE = re.compile(r"\s*SQLSTATE: \w+\s*$")


@contextmanager
def errors_translated() -> Iterator[None]:
    """What Spark raises in the block leaves it as an error of pasps."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise translated(error) from error


def translated(error: Exception) -> PaspsError:
    """The error for what pyspark raised."""
    said = reasons(error)
    for text in said:
        found = _CODE.match(text)
        if found and found["code"] in _USERS:
            return InvalidError(f"{_without_code(text)}; {_USERS[found['code']]}")
    # a failed stage only repeats what failed in it
    outer = said[-1] if said[0].startswith("Job aborted") else said[0]
    words = [_without_code(text) for text in dict.fromkeys((outer, said[-1]))]
    cures = [cure for sign, cure in CURES.items() if any(sign in text for text in said)]
    return BrokenError("; ".join(["Spark failed: " + words[0], *words[1:], *cures]))


def first_reason(error: Exception) -> str:
    """What pyspark raised, in one line."""
    return _without_code(reasons(error)[0])


def reasons(error: Exception) -> list[str]:
    """First lines of what Java says, from the outermost exception to its root."""
    if not isinstance(error, Py4JJavaError):
        return [_first_line(str(error)) or type(error).__name__]
    found: list[str] = []
    cause = error.java_exception
    while cause is not None:
        found.append(_first_line(cause.getMessage() or cause.toString()))
        cause = cause.getCause()
    return found


def _first_line(text: str) -> str:
    return _STATE.sub("", text.strip().split("\n")[0])


def _without_code(text: str) -> str:
    return _CODE.sub("", text).rstrip(". ")
