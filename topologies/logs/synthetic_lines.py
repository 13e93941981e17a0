"""Synthetic log lines of a storage service, a computing service, a login service and a web server; the same for a seed.

The wording is ours, the formats are real. In some minutes there is trouble, and one kind of line comes far more often. One line in
fifty is in no known format, or long, or odd.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

_BEGIN = datetime(2024, 2, 28, 22, 0)
LINES_A_MINUTE = 120
TROUBLE_EVERY, TROUBLE_MINUTE = 8, 6
"""In one of so many minutes most of the login lines, and of the storage lines, are of one kind."""
_USERS = "ada bell curie darwin euler fermi gauss hopper".split()
_PAGES = "index cart search login news help".split()


def line(seed: int, number: int) -> str:
    """The line of an event."""
    dice = Random(f"line:{seed}:{number}")
    minute = number // LINES_A_MINUTE
    at = _BEGIN + timedelta(seconds=number * 60 / LINES_A_MINUTE)
    trouble = minute % TROUBLE_EVERY == TROUBLE_MINUTE and dice.random() < 0.9
    if dice.random() < 0.02:
        return dice.choice(_ODD)(dice, at)
    return dice.choice((_storage, _computing, _login, _web))(dice, at, trouble)


def _address(dice: Random) -> str:
    return f"10.{dice.randint(0, 3)}.{dice.randint(0, 255)}.{dice.randint(1, 254)}"


def _storage(dice: Random, at: datetime, trouble: bool) -> str:
    """As HDFS writes them."""
    block = f"blk_{dice.choice(('', '-'))}{dice.randrange(10**17, 10**18)}"
    level, component, message = dice.choice(
        (
            ("INFO", "dfs.Replica$Writer", f"Replica {block} written, {dice.randrange(1 << 26)} bytes, pipeline of {dice.randint(1, 3)}"),
            ("INFO", "dfs.Names", f"Map of {block} now has {_address(dice)}:50010 with length {dice.randrange(1 << 26)}"),
            ("INFO", "dfs.Reader", f"{_address(dice)}:50010 sent {block} to {_address(dice)}"),
            ("INFO", "dfs.Cleaner", f"Dropping {block} kept in /data/disk{dice.randint(1, 9)}/current/{block}"),
            ("WARN", "dfs.Replica$Writer", f"Slow write of {block}: {dice.randint(300, 9000)} ms"),
        )
    )
    if trouble:
        level, component, message = "ERROR", "dfs.Replica$Writer", f"Checksum of {block} is wrong at offset {dice.randrange(1 << 26)}"
    return f"{at:%y%m%d %H%M%S} {dice.randint(1, 999)} {level} {component}: {message}"


def _computing(dice: Random, at: datetime, trouble: bool) -> str:
    """As Spark writes them."""
    stage = f"stage {dice.randint(0, 30)}.0"
    component, message = dice.choice(
        (
            ("executor.Runner", f"Begin of task {dice.randint(0, 200)}.0 of {stage}, TID {dice.randint(0, 9999)}"),
            (
                "executor.Runner",
                f"End of task {dice.randint(0, 200)}.0 of {stage}, TID {dice.randint(0, 9999)}, {dice.randint(9, 9999)} ms",
            ),
            (
                "storage.Memory",
                f"Keeping rdd_{dice.randint(0, 50)}_{dice.randint(0, 50)} as values, {dice.randint(1, 900)}.{dice.randint(0, 9)} KB",
            ),
            ("shuffle.Fetcher", f"Fetching {dice.randint(1, 90)} parts from {dice.randint(1, 5)} hosts"),
            ("broadcast.Torrent", f"Variable {dice.randint(0, 99)} has been read in {dice.randint(1, 400)} ms"),
        )
    )
    return f"{at:%y/%m/%d %H:%M:%S} {'WARN' if trouble else 'INFO'} {component}: {message}"


def _login(dice: Random, at: datetime, trouble: bool) -> str:
    """As OpenSSH writes them, by syslog."""
    user, where = dice.choice(_USERS), f"{_address(dice)} port {dice.randint(1024, 65535)}"
    message = dice.choice(
        (
            f"Login of {user} from {where} by key",
            f"Session of {user} is over after {dice.randint(1, 4000)} s",
            f"Wrong password of {user} from {where}",
            f"Peer {_address(dice)} left before it said who it is [preauth]",
        )
    )
    if trouble:
        message = f"Wrong password of {user} from {where}"
    return f"{at:%b} {at.day:2d} {at:%H:%M:%S} node{dice.randint(1, 9)} sshd[{dice.randint(100, 30000)}]: {message}"


def _web(dice: Random, at: datetime, trouble: bool) -> str:
    """As Apache writes them."""
    level, message = dice.choice(
        (
            ("notice", f"Child {dice.randint(100, 9999)} takes slot {dice.randint(0, 99)}"),
            ("notice", f"Workers are set up from /etc/web/workers{dice.randint(1, 3)}.conf"),
            ("error", f"[client {_address(dice)}] No such page: /srv/www/{dice.choice(_PAGES)}.html"),
            ("error", f"Worker {dice.randint(0, 99)} is in state {dice.randint(1, 9)}"),
        )
    )
    return f"[{at:%a %b %d %H:%M:%S %Y}] [{level}] {message}"


_ODD: tuple[Callable[[Random, datetime], str], ...] = (
    lambda dice, at: f"    at shop.Cart.total(Cart.java:{dice.randint(10, 400)})",
    lambda dice, at: f"{at:%Y-%m-%dT%H:%M:%S}Z WARN Größe überschritten: {dice.randint(1, 99)} Dateien",
    lambda dice, at: "dump " + " ".join(f"{dice.randrange(1 << 32):08x}" for _ in range(dice.randint(50, 400))),
    lambda dice, at: "".join(dice.choices("#*-= ", k=dice.randint(0, 60))),
    lambda dice, at: f"{at:%y%m%d} 999999 1 INFO dfs.Clock: The time of this line is none",
)
