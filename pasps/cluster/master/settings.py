"""What a master is started with."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, field
from pathlib import Path

from pasps.errors import InvalidError

DEFAULT_PORT = 8627
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Settings:
    """Checked when made. `home` is this master's own directory; `packages` is a location that all masters and drivers read.

    `bind` and `advertise` are the driver's: the address it and its workers listen on, and the name under which others reach it.
    `session_seconds` is how long ZooKeeper waits for a master that is silent. `token` is None when none was given, and `signing_key`,
    the masters' own, in whose place the token is then; `zookeeper_auth` is "user:password". `ready`: while this master leads, a driver
    is kept ready for the next submission.

    Raises:
        InvalidError: a value that cannot be, or a host that others can reach without a token or credentials for ZooKeeper.
    """

    spark: str
    zookeeper: str
    home: Path
    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    packages: str | None = None
    bind: str = LOOPBACK
    advertise: str | None = None
    predictor: str | None = None
    ready: bool = False
    session_seconds: float = 10.0
    token: str | None = field(default=None, repr=False)
    signing_key: str | None = field(default=None, repr=False)
    zookeeper_auth: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.spark != "yarn" and not self.spark.startswith("spark://"):
            raise InvalidError(f"--spark: expected spark://HOST:PORT or yarn, got {self.spark!r}")
        if not self.zookeeper.strip():
            raise InvalidError("--zookeeper: expected HOST:PORT[,HOST:PORT...][/CHROOT], got nothing")
        if not 0 <= self.port <= 65535:
            raise InvalidError(f"--port: expected 0 to 65535, got {self.port}")
        token = self.token
        if token is not None and not (token.isascii() and token.isprintable() and token.strip() == token != ""):
            raise InvalidError("PASPS_TOKEN: expected printable ASCII characters without spaces around them")
        for option, host in (("--host", self.host), ("--bind", self.bind)):
            if token is None and not is_loopback(host):
                cure = f"set PASPS_TOKEN to a secret that clients must send, or stay on {LOOPBACK}"
                raise InvalidError(f"{option} {host}: others can reach this address; {cure}")
            if self.zookeeper_auth is None and not is_loopback(host):
                cure = f"set PASPS_ZOOKEEPER_AUTH to user:password, the same for all masters, or stay on {LOOPBACK}"
                raise InvalidError(f"{option} {host}: who can write to its ZooKeeper rules a cluster, and there are no credentials; {cure}")
        if is_any(self.bind) and self.advertise is None:
            raise InvalidError(
                f"--bind {self.bind}: drivers and workers cannot be told to connect there; give --advertise this machine's address"
            )
        if self.predictor is not None and not self.predictor.startswith(("http://", "https://")):
            raise InvalidError(f"--predictor: expected http://HOST:PORT, got {self.predictor!r}")

    def url(self, port: int) -> str:
        """Where others reach this master, which listens on that port."""
        host = self.host
        if not is_loopback(host) and (self.advertise or is_any(host)):
            host = self.advertise or socket.gethostname()
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it; a name other than localhost counts as reachable."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_any(host: str) -> bool:
    """Whether it stands for all addresses of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
