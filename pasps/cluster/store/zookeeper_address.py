"""Where a ZooKeeper is and who asks, as users write it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pasps.cluster.store.path import checked
from pasps.errors import InvalidError

DEFAULT_PORT = 2181
SESSION_SECONDS = (4, 40)
"""What a ZooKeeper server allows unless it is configured otherwise."""

_EXPECTED = "expected host:port,host:port/path, for example 'zk1:2181,zk2:2181,zk3:2181/pasps'"
_HOST_PORT = re.compile(r"(?P<host>[\w.-]+|\[[0-9A-Fa-f:.%\w]+\])(?::(?P<port>\d{1,5}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ZooKeeperAddress:
    """`hosts` is "h1:2181,h2:2181"; `count` how many; `chroot` is what all paths begin with, "" for none."""

    hosts: str
    count: int
    chroot: str


def parse_connect(connect: str) -> ZooKeeperAddress:
    """Read a connect string.

    Raises:
        InvalidError: it is none; says what is wrong and what is expected.
    """
    hosts, slash, path = connect.strip().partition("/")
    found = [_host_port(connect, part.strip()) for part in hosts.split(",")]
    if len(set(found)) < len(found):
        raise InvalidError(f"ZooKeeper connect string {connect!r} has a host twice; {_EXPECTED}")
    chroot = slash + path
    if chroot in {"", "/"}:
        return ZooKeeperAddress(",".join(found), len(found), "")
    if "," in chroot:
        raise InvalidError(f"ZooKeeper connect string {connect!r}: there is one path for all hosts, at the end; {_EXPECTED}")
    try:
        return ZooKeeperAddress(",".join(found), len(found), checked(chroot))
    except InvalidError as error:
        raise InvalidError(f"ZooKeeper connect string {connect!r}: {chroot!r} is no path; {_EXPECTED}") from error


def parse_credentials(credentials: str) -> tuple[str, str]:
    """User and password out of "user:password".

    Raises:
        InvalidError: it is none; does not repeat it, it may be a secret.
    """
    user, colon, password = credentials.partition(":")
    if not (user and colon and password):
        raise InvalidError("ZooKeeper credentials: expected user:password, got something without a colon, or with nothing beside it")
    return user, password


def checked_session_seconds(seconds: float) -> float:
    """The session time-out itself.

    Raises:
        InvalidError: servers would not keep to it.
    """
    least, most = SESSION_SECONDS
    if not least <= seconds <= most:
        raise InvalidError(f"ZooKeeper session time-out: expected {least} to {most} seconds, got {seconds:g}")
    return seconds


def _host_port(connect: str, part: str) -> str:
    match = _HOST_PORT.fullmatch(part)
    if match is None:
        raise InvalidError(f"ZooKeeper connect string {connect!r}: {part!r} is no host:port; {_EXPECTED}")
    port = int(match["port"] or DEFAULT_PORT)
    if not 0 < port < 65536:
        raise InvalidError(f"ZooKeeper connect string {connect!r}: {port} is no port; {_EXPECTED}")
    return f"{match['host']}:{port}"
