"""Bolts of topologies that are simulated; they never run."""

from __future__ import annotations

from pasps import Bolt, Tuple


class Splitting(Bolt):
    outputs = ["id"]

    def process(self, tup: Tuple) -> None:
        raise NotImplementedError


class Blocking(Bolt):
    execution = "thread"

    def process(self, tup: Tuple) -> None:
        raise NotImplementedError
