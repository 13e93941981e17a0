"""A driver that has no workers: it keeps the contract between a driver and the masters, and nothing else. Run as a program."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from pasps.clock import SystemClock
from pasps.cluster.driver.options import Secrets, told_orders, told_secrets, waits_for
from pasps.cluster.store import layout
from pasps.cluster.store.contract import Store
from pasps.cluster.store.submission import Desired, DriverRecord, desired_of, driver_of, encoded, signed_submission
from pasps.cluster.store.zookeeper_store import open_store
from pasps.topology.control_socket import ControlSocket
from pasps.topology.run_record import host
from pasps.topology.verbs import Activate, Deactivate, GetStatus, Kill, Verbs

BEHAVIOUR = "test.behaviour"
STARTED = "started.txt"
"""In the driver's home: epoch and process of each driver of the topology."""


class StandIn:
    """One driver."""

    def __init__(self, store: Store, name: str, epoch: int, secrets: Secrets) -> None:
        self._store, self._name, self._epoch, self._secrets = store, name, epoch, secrets
        self._changed = asyncio.Event()
        self._began = 0
        self._door: ControlSocket

    async def run(self) -> int:
        entry = await self._store.read(layout.topology(self._name))
        assert entry is not None
        self._began = (await self._desired()).restart
        submission = signed_submission(entry.value, "submission", self._secrets.submission)
        assert submission is not None
        if submission.options.get(BEHAVIOUR) == "refuse":
            await self._say("failed", "the user's words")
            return 3
        await self._store.register(layout.alive(self._name), b'{"epoch": %d}' % self._epoch)
        verbs = Verbs()
        verbs.add(GetStatus, self._status)
        verbs.add(Kill, self._kill)
        verbs.add(Activate, self._status)
        verbs.add(Deactivate, self._status)
        self._door = await ControlSocket.listen("127.0.0.1", verbs, self._name, self._epoch, self._secrets.door)
        for path in (layout.topology(self._name), layout.driver(self._name)):
            self._store.watch(path, self._changed.set)
        await self._say("running")
        return await self._obey()

    async def _obey(self) -> int:
        while True:
            await self._changed.wait()
            self._changed.clear()
            entry = await self._store.read(layout.driver(self._name))
            if entry is not None and driver_of(entry.value, "driver").epoch > self._epoch:
                return 1
            desired = await self._desired()
            if desired.state == "killed":
                await self._store.write(layout.summary(self._name), b'{"acked": %d}' % self._epoch)
                await self._say("ended")
                return 0
            if desired.restart > self._began:
                await self._say("ended")
                return 0

    async def _status(self, _: object) -> dict[str, Any]:
        return {"epoch": self._epoch, "pid": os.getpid(), "desired": (await self._desired()).state}

    async def _kill(self, asked: Kill) -> dict[str, Any]:
        self._changed.set()
        return {"acked": self._epoch, "wait": asked.wait}

    async def _desired(self) -> Desired:
        entry = await self._store.read(layout.topology(self._name))
        assert entry is not None, "the intent is written before a driver starts"
        return desired_of(entry.value, "desired")

    async def _say(self, state: str, detail: str = "") -> None:
        address = self._door.address if state == "running" else None
        record = DriverRecord(self._epoch, host(), os.getpid(), address, state, detail, SystemClock().wall(), self._began)
        await self._store.write(layout.driver(self._name), encoded(record))


def note(options: argparse.Namespace) -> None:
    with (Path(options.home) / STARTED).open("a") as out:
        out.write(f"{options.epoch} {os.getpid()}\n")
    assert Path(options.package).is_file()


async def main() -> int:
    parser = argparse.ArgumentParser()
    for option in ("topology", "zookeeper", "spark", "package", "home", "bind"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--epoch", type=int, required=True)
    said = sys.stdin.buffer.read()
    if waits_for(sys.argv[1:]) is None:
        options, secrets = parser.parse_args(), told_secrets(said)
    elif said:
        orders = told_orders(said)
        options, secrets = parser.parse_args(orders.words), orders.secrets
    else:
        return 0
    note(options)
    store = await open_store(options.zookeeper, secrets.access, 4)
    try:
        return await StandIn(store, options.topology, options.epoch, secrets).run()
    finally:
        await store.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
