"""A topology's options by its configuration: workers of a cluster inherit nothing from the process that measures.

Like all subjects they leave their records in a directory of this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.options import Options, set_records_directory
from benchmarks.subjects.pasps_components import BatchSink, EventSpout, TupleSink
from pasps.api import TopologyContext

_OPTIONS, _RECORDS = "bench.options", "bench.records"
# as in benchmarks.subjects.pasps_run, and nobody who changes replicas
_SAME = {"topology.max.spout.pending": 5_000, "pasps.policy": "static"}


def configuration(options: Options, records: Path) -> dict[str, Any]:
    """What the topology is given, wherever it runs."""
    return {**_SAME, _OPTIONS: asdict(options), _RECORDS: str(records)}


def adopt(conf: Mapping[str, Any]) -> Options:
    """In a worker: make what was given what this process has inherited."""
    options = Options(**conf[_OPTIONS])
    options.export()
    set_records_directory(Path(conf[_RECORDS]))
    return options


class GivenSpout(EventSpout):
    """The source."""

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        adopt(conf)
        super().initialize(conf, ctx)


class GivenTupleSink(TupleSink):
    """The end of the class topologies."""

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        adopt(conf)
        super().initialize(conf, ctx)


class GivenBatchSink(BatchSink):
    """The end of the function topologies."""

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        adopt(conf)
        super().initialize(conf, ctx)
