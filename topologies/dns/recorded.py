"""Lines of `events.file`: recorded DNS messages, one a line, as tshark writes them (README.md)."""

from __future__ import annotations

import math
from datetime import UTC, datetime

_LAST_SECOND = 253_402_300_799
"""Of the year 9999."""


def recorded(line: str) -> tuple[str, float, bytes]:
    """Flow, time and bytes of `time,source,port,destination,port,message`, the message in hexadecimal.

    Source and destination may each have two cells, for IPv4 and for IPv6, one of which is empty.
    The time is in seconds since 1970, or ISO 8601, as newer versions of tshark may write it; one without a zone is in UTC. The side
    with the lower port is the server, and client and server make the flow: a client has a new port for every lookup.

    Raises:
        ValueError: says what is wrong.
    """
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) == 8:
        cells = [cells[0], cells[1] or cells[2], cells[3], cells[4] or cells[5], *cells[6:]]
    if len(cells) != 6:
        raise ValueError(f"expected time,source,port,destination,port,message, got {len(cells)} cells")
    seconds = _time(cells[0])
    ports = _port(cells[2]), _port(cells[4])
    source, destination = cells[1], cells[3]
    if not source or not destination:
        raise ValueError("expected the addresses of source and destination before their ports")
    flow = f"{source}>{destination}" if ports[1] <= ports[0] else f"{destination}>{source}"
    try:
        return flow, seconds, bytes.fromhex(cells[5].replace(":", ""))
    except ValueError:
        raise ValueError("expected a message in hexadecimal in the last cell") from None


def _time(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = _iso(text)
    if not 0 <= seconds <= _LAST_SECOND:
        raise ValueError(f"expected a time in seconds since 1970, or as 2024-02-29T23:59:59Z, in cell 1, got {text[:40]!r}")
    return seconds


def _iso(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return math.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _port(text: str) -> int:
    if not (text.isdecimal() and len(text) <= 5 and int(text) < 1 << 16):
        raise ValueError(f"expected a port, got {text[:40]!r}")
    return int(text)
