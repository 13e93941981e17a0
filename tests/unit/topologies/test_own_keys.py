"""The keys of the applications' own components: a misspelled one is refused by the spout, whichever component reads it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pasps.errors import PaspsError
from pasps.testing import complete_topology
from topologies.complex_sensitive.complex_sensitive import ComplexSensitive, OpinionSource
from topologies.dns.dns_traffic import DnsTraffic, Messages
from topologies.logs.log_events import Lines, LogEvents
from topologies.simple_insensitive.simple_insensitive import SimpleInsensitive
from topologies.simple_insensitive.simple_insensitive import Source as Numbers
from topologies.simple_sensitive.simple_sensitive import SimpleSensitive
from topologies.simple_sensitive.simple_sensitive import Source as ZipfValues

TOPOLOGIES = Path(__file__).parents[3] / "topologies"
SPOUTS = {
    LogEvents: Lines,
    DnsTraffic: Messages,
    SimpleInsensitive: Numbers,
    SimpleSensitive: ZipfValues,
    ComplexSensitive: OpinionSource,
}


@pytest.mark.parametrize(("topology", "key"), [(topology, key) for topology, spout in SPOUTS.items() for key in spout.own_keys])
def test_a_misspelled_key_is_refused_with_the_nearest_one(topology: Any, key: str, tmp_path: Path) -> None:
    wrong = key[:-2] + key[-1]
    with pytest.raises(PaspsError, match=f"'{wrong}' is unknown; the nearest known name is '{key}'"):
        complete_topology(topology, config={wrong: 1, "events.total": 1, "sql.url": f"sqlite:///{tmp_path}/stored.db"})


def test_every_key_that_a_component_reads_is_known() -> None:
    files = [file for folder in ("logs", "dns", "simple_sensitive", ".") for file in (TOPOLOGIES / folder).glob("*.py")]
    read = {key for file in files for key in re.findall(r'conf(?:\.get\(|, )"([\w.]+)"', file.read_text())}
    known = {key for spout in SPOUTS.values() for key in spout.own_keys}
    assert {key for key in read if not key.startswith(("events.", "trace."))} == known
