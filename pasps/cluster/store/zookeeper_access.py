"""Whose the entries in ZooKeeper are: the masters', and of each topology its driver's those below it.

A driver runs its topology's code, so it does not get the masters' credentials, but some of its own that open nothing of another
topology, and that everybody who has the masters' can make.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from dataclasses import dataclass, field
from typing import Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.security import ACL, Id, make_acl, make_digest_acl, make_digest_acl_credential

from pasps.cluster.store.layout import LAUNCHES, TOPOLOGIES
from pasps.cluster.store.zookeeper_address import parse_credentials
from pasps.errors import BrokenError

_SECONDS = 5.0


class Access(Protocol):
    """Who a session is for, and who may do what with the entries that it makes."""

    @property
    def credentials(self) -> str:
        """`user:password`, which it gives to ZooKeeper."""

    @property
    def looks_around(self) -> bool:
        """Whether it may read what is not of one topology."""

    def acl(self, path: str) -> list[ACL]:
        """Of the entry at that path, without the chroot."""


@dataclass(frozen=True, slots=True)
class MasterAccess:
    """What a master makes nobody else can read or write, but for what the driver of the topology needs.

    Raises:
        InvalidError: the credentials are none.
    """

    credentials: str = field(repr=False)
    looks_around: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        parse_credentials(self.credentials)

    def acl(self, path: str) -> list[ACL]:
        """See `Access`."""
        own = make_digest_acl(*parse_credentials(self.credentials), all=True)
        above, _, below = path.lstrip("/").partition("/")
        name, _, rest = below.partition("/")
        if not name or f"/{above}" not in (TOPOLOGIES, LAUNCHES):
            return [own]
        driver = parse_credentials(self.of_driver(name).credentials)
        if f"/{above}" == LAUNCHES:
            return [own, make_digest_acl(*driver, read=True)]
        # what was submitted it reads, and makes and removes what is below; what is there already it writes as well
        return [own, make_digest_acl(*driver, read=True, create=True, delete=True, write=bool(rest))]

    def of_driver(self, topology: str) -> DriverAccess:
        """What the driver of that topology is to be given."""
        user, password = parse_credentials(self.credentials)
        own = hmac.new(password.encode(), f"driver:{topology}".encode(), hashlib.sha256).hexdigest()
        return DriverAccess(f"{user}/{topology}:{own}", make_digest_acl_credential(user, password))


@dataclass(frozen=True, slots=True)
class DriverAccess:
    """What a driver makes is its own, and the masters', whose `owner` is as ZooKeeper knows them: by a hash of their credentials."""

    credentials: str = field(repr=False)
    owner: str
    looks_around: bool = field(default=False, init=False)

    def acl(self, path: str) -> list[ACL]:
        """See `Access`."""
        everything = make_acl("digest", self.owner, all=True)
        return [everything, make_digest_acl(*parse_credentials(self.credentials), read=True, write=True, create=True, delete=True)]


def is_open(acl: list[ACL]) -> bool:
    """Whether everybody may do something."""
    return any(entry.id == Id("world", "anyone") for entry in acl)


def close_to_others(connect: str, credentials: str) -> None:
    """Let only who has these credentials read or make anything in a server of our own, which begins open to everybody. Blocks a moment.

    Raises:
        BrokenError: it does not answer, or belongs to somebody else.
    """
    own = [make_digest_acl(*parse_credentials(credentials), all=True)]
    client = KazooClient(connect, timeout=_SECONDS, auth_data=[("digest", credentials)], logger=logging.getLogger(f"{__name__}.kazoo"))
    try:
        client.start(timeout=_SECONDS)
        for path in ("/", "/zookeeper", "/zookeeper/quota"):
            if is_open(client.get_acls(path)[0]):
                client.set_acls(path, own)
    except (KazooTimeoutError, KazooException) as error:
        raise BrokenError(f"ZooKeeper at {connect} cannot be closed to others: {type(error).__name__} {error}") from error
    finally:
        client.stop()
        client.close()
