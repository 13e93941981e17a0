"""Free ports on loopback that stay free: a part that is started again must get its old one, since others were told it."""

from __future__ import annotations

import random
import socket

from pasps.errors import BrokenError

HOST = "127.0.0.1"
# below those that systems give to outgoing connections, one of which could take a port while its part is down
_LOWEST, _HIGHEST = 15_000, 32_000
_TRIES = 1000


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        # connections that were closed a moment ago do not count
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """That many different ones.

    Raises:
        BrokenError: there are not as many.
    """
    chance = random.SystemRandom()
    found: set[int] = set()
    for _ in range(_TRIES):
        if len(found) == count:
            return list(found)
        port = chance.randrange(_LOWEST, _HIGHEST)
        if port not in found and is_free(port):
            found.add(port)
    raise BrokenError(f"expected {count} free ports on {HOST} from {_LOWEST} to {_HIGHEST}, got {len(found)} in {_TRIES} tries")
