"""What a worker knows of the machine it runs on: the interface to listen on, and its log."""

from __future__ import annotations

import codecs
import ipaddress
import logging
import os
import socket
from pathlib import Path

from pasps.api.component import LOGGER
from pasps.errors import InvalidError
from pasps.worker.messages import LogText, ReadLog

_MOST_LOG_BYTES = 1 << 20
_CONTINUATION = bytes(range(0x80, 0xC0))
"""Bytes that begin no character of UTF-8."""


def begin_logging(*, force: bool = False) -> None:
    """Log to standard error from the level on that `PASPS_LOG` names; without it warnings, and of users' components information too."""
    level = os.environ.get("PASPS_LOG")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=level or "WARNING", force=force)
    logging.getLogger(LOGGER).setLevel(level or "INFO")


def address_to_bind(wanted: str, reached_by: str) -> str:
    """The address for peers: as `wanted`, or of a network (10.0.0.0/8) this machine's own; nothing: where the controller reaches it.

    Raises:
        InvalidError: this machine has no address in that network.
    """
    if not wanted:
        return reached_by
    if "/" not in wanted:
        return wanted
    try:
        network = ipaddress.ip_network(wanted, strict=False)
    except ValueError as error:
        raise InvalidError(f"pasps.worker.host: expected an address or a network as 10.0.0.0/8, got {wanted!r}: {error}") from error
    family = socket.AF_INET6 if network.version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            # nothing is sent: the system only chooses the interface
            probe.connect((str(next(iter(network.hosts()))), 9))
            own = probe.getsockname()[0]
        except OSError as error:
            raise InvalidError(f"pasps.worker.host: no way from this machine into the network {wanted}: {error}") from error
    if ipaddress.ip_address(own) not in network:
        raise InvalidError(f"pasps.worker.host: this machine has no address in the network {wanted}; it would use {own}")
    return str(own)


def log_text(path: Path | None, asked: ReadLog) -> LogText:
    """The part of the log that was asked for, at most a megabyte of it; a character that is not there whole yet is left for the next."""
    if path is None:
        return LogText(asked.number, "", 0)
    try:
        with path.open("rb") as file:
            end = file.seek(0, 2)
            if asked.offset is not None and asked.offset <= end:
                file.seek(asked.offset)
                data = file.read(_MOST_LOG_BYTES)
                text, rest = _decoded(data)
                return LogText(asked.number, text, asked.offset + len(data) - rest)
            begin = file.seek(max(0, end - _MOST_LOG_BYTES))
            cut = file.readline(end - begin) if begin else b""  # of a line that began before
            data = file.read(max(0, end - file.tell())) or cut.lstrip(_CONTINUATION)
            text, rest = _decoded(data)
            return LogText(asked.number, "".join(text.splitlines(keepends=True)[-asked.lines :]), end - rest)
    except OSError as error:
        return LogText(asked.number, f"{path} cannot be read: {error}\n", 0)


def _decoded(data: bytes) -> tuple[str, int]:
    """The text, and how many bytes at its end are the beginning of a character."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = decoder.decode(data)
    return text, len(decoder.getstate()[0])
