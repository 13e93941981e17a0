"""What the service is started with."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path

from predictor_service.errors import SettingsError

DEFAULT_PORT = 8888
MOST_WORKERS = 256


def usual_workers() -> int:
    """As many as the cores that this process may use, and no more than there may be."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


@dataclass(frozen=True, slots=True)
class Settings:
    """Checked when made.

    Raises:
        SettingsError: a number out of range, no such directory, or a host that others can reach without a token.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    workers: int = field(default_factory=usual_workers)
    token: str | None = field(default=None, repr=False)
    fit_timeout_seconds: float = 10.0
    most_waiting: int = 64
    artifacts: Path | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise SettingsError(f"--port: expected 0 to 65535, got {self.port}")
        if not 1 <= self.workers <= MOST_WORKERS:
            raise SettingsError(f"--workers: expected 1 to {MOST_WORKERS} processes, got {self.workers}")
        if not 0.01 <= self.fit_timeout_seconds <= 3600:
            raise SettingsError(f"--fit-timeout: expected 0.01 to 3600 seconds, got {self.fit_timeout_seconds:g}")
        if not 0 <= self.most_waiting <= 100_000:
            raise SettingsError(f"--most-waiting: expected 0 to 100000 fits, got {self.most_waiting}")
        if self.artifacts is not None and not self.artifacts.is_dir():
            raise SettingsError(f"--artifacts {self.artifacts}: expected a directory of trained models, there is none")
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and self.token.strip() == self.token != ""):
            raise SettingsError("--token: expected printable ASCII characters without spaces around them")
        if self.token is None and not is_loopback(self.host):
            raise SettingsError(
                f"--host {self.host}: others can reach this address; give a --token that they must send, or stay on 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it; a name other than localhost counts as reachable."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
