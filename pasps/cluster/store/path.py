"""Paths and values of the store: what may be one, and what is above it. Pure."""

from __future__ import annotations

from pasps.errors import InvalidError

ROOT = "/"
MAX_VALUE_BYTES = 1_000_000
"""ZooKeeper closes the connection of who sends more."""


def checked(path: str) -> str:
    """The path itself.

    Raises:
        InvalidError: it cannot be one.
    """
    parts = path.split("/")[1:]
    if path != ROOT and (not path.startswith("/") or not all(_is_name(part) for part in parts)):
        raise InvalidError(f"store: expected a path such as '/topologies/counts', without a slash at its end, got {path!r}")
    return path


def checked_name(name: str) -> str:
    """The name of an entry below another.

    Raises:
        InvalidError: it cannot be one.
    """
    if not _is_name(name) or "/" in name:
        raise InvalidError(f"store: expected a name without slashes, got {name!r}")
    return name


def checked_value(path: str, value: bytes) -> bytes:
    """The value itself.

    Raises:
        InvalidError: it is too large.
    """
    if len(value) > MAX_VALUE_BYTES:
        raise InvalidError(
            f"store: {path!r} can hold {MAX_VALUE_BYTES} bytes at most, got {len(value)}; keep it elsewhere, and its place here"
        )
    return value


def below(path: str, name: str) -> str:
    """The path of one of its children."""
    return f"/{name}" if path == ROOT else f"{path}/{name}"


def above(path: str) -> str:
    """The path of its parent; the root's is the root."""
    return path.rpartition("/")[0] or ROOT


def ancestors(path: str) -> list[str]:
    """All above it but the root, the highest first."""
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[: end + 1]) for end in range(len(parts))]


def counted(path: str, value: bytes) -> int:
    """A counter's value.

    Raises:
        InvalidError: it is no counter.
    """
    try:
        return int(value)
    except ValueError:
        raise InvalidError(f"store: {path!r} is no counter, got {value[:40]!r}") from None


def turn(name: str) -> int:
    """The number at the end of a candidate's entry: the smallest leads; what is no candidate comes last."""
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 2**63


def _is_name(part: str) -> bool:
    return bool(part) and part not in {".", ".."} and part.isprintable()
