"""The application as a whole: what is stored, whatever happens."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pasps.cluster.package.imports import sources_of
from pasps.errors import PaspsError
from pasps.testing import CompletedTopology, StepRun, complete_topology
from tests.unit.topologies.parts import rows_of
from topologies.dns import dns_traffic
from topologies.dns.conversations import message, planned
from topologies.dns.dns_traffic import DnsTraffic
from topologies.dns.expected import expected_keys
from topologies.dns.recorded import recorded

TOTAL = 400


def config(folder: Path, **keys: Any) -> dict[str, Any]:
    # all are due at once, for the source waits by the machine's clock
    return {"trace.rows": [TOTAL], "trace.step.seconds": 1e-6, "sql.url": f"sqlite:///{folder}/stored.db", **keys}


def run(folder: Path, **keys: Any) -> CompletedTopology:
    return complete_topology(DnsTraffic, config=config(folder, **keys))


def stored(folder: Path, columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in rows_of(folder, f"SELECT {columns} FROM dns_events ORDER BY event")]


@pytest.mark.parametrize("seed", [1, 5])
def test_every_message_is_stored_with_its_class(tmp_path: Path, seed: int) -> None:
    done = run(tmp_path, **{"events.seed": seed})
    assert not done.errors
    rows = stored(tmp_path, "event, flow, label, problem, name, score")
    assert len(rows) == TOTAL
    assert {(row[0],) for row in rows} == expected_keys(TOTAL, seed)
    right = sum(label == planned(seed, event).conversation.kind for event, _, label, _, _, _ in rows)
    malformed = [row for row in rows if row[2] == "malformed"]
    assert malformed
    assert all(problem and name is None for _, _, _, problem, name, _ in malformed)
    assert right > 0.97 * (TOTAL - len(malformed))
    assert all(flow == message(seed, event)[0] for event, flow, *_ in rows)


def test_a_worker_that_dies_loses_and_doubles_nothing(tmp_path: Path) -> None:
    with StepRun(DnsTraffic, 2, config=config(tmp_path)) as traffic:
        traffic.set_active("features", 3)
        while "classify" not in traffic.emitted:
            traffic.step()
        assert traffic.counts()["store"].acked < TOTAL
        traffic.kill("w1")
        traffic.restart("w1")
        traffic.run_to_end()
        spout = traffic.counts()["messages"]
    assert spout.replayed > 0  # what the worker took with it
    rows = stored(tmp_path, "event")
    assert len(rows) == TOTAL
    assert set(rows) == expected_keys(TOTAL)


def test_a_recording_is_read(tmp_path: Path) -> None:
    lines = []
    for event in range(60):
        flow, at, wire = message(3, event)
        client, server = flow.split(">")
        sides = f"{server},53,{client},40000" if planned(3, event).is_answer else f"{client},40000,{server},53"
        lines.append(f"{at},{sides},{wire.hex(':') if event % 2 else wire.hex()}")
    (tmp_path / "recorded.csv").write_text("\n".join(lines))
    run(tmp_path, **{"events.file": f"{tmp_path}/recorded.csv", "trace.rows": [60]})
    rows = stored(tmp_path, "event, flow, at, size")
    assert [(event, flow, size) for event, flow, _, size in rows] == [
        (event, message(3, event)[0], len(message(3, event)[2])) for event in range(60)
    ]
    assert datetime.fromisoformat(rows[0][2] + "+00:00").timestamp() == pytest.approx(message(3, 0)[1])


def test_both_directions_are_one_flow() -> None:
    assert recorded("1.5,10.0.0.1,40000,9.9.9.9,53,00ff") == ("10.0.0.1>9.9.9.9", 1.5, b"\x00\xff")
    assert recorded(" 2 , 9.9.9.9, 53, 10.0.0.1, 40000, ") == ("10.0.0.1>9.9.9.9", 2.0, b"")
    assert recorded("3,2001:db8::1,5353,2001:db8::2,5353,00")[0] == "2001:db8::1>2001:db8::2"


def test_an_address_may_have_a_cell_for_each_version_of_ip() -> None:
    assert recorded("1.5,10.0.0.1,,40000,9.9.9.9,,53,00ff") == ("10.0.0.1>9.9.9.9", 1.5, b"\x00\xff")
    assert recorded("1.5,,2001:db8::1,40000,,2001:db8::2,53,00ff") == ("2001:db8::1>2001:db8::2", 1.5, b"\x00\xff")


@pytest.mark.parametrize("time", ["1709251199.5", "2024-02-29T23:59:59.500000000Z", "2024-02-29 23:59:59.5", "2024-03-01T01:59:59.5+02:00"])
def test_a_time_is_written_as_versions_of_tshark_do(time: str) -> None:
    assert recorded(f"{time},10.0.0.1,40000,9.9.9.9,53,00")[1] == 1709251199.5


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "got 1 cells"),
        ("1,10.0.0.1,40000,9.9.9.9,53,00,00", "got 7 cells"),
        ("noon,10.0.0.1,40000,9.9.9.9,53,00", "cell 1"),
        ("nan,10.0.0.1,40000,9.9.9.9,53,00", "cell 1"),
        ("1e300,10.0.0.1,40000,9.9.9.9,53,00", "cell 1"),
        ("-1,10.0.0.1,40000,9.9.9.9,53,00", "cell 1"),
        ("1,10.0.0.1,x,9.9.9.9,53,00", "a port, got 'x'"),
        ("1,10.0.0.1,65536,9.9.9.9,53,00", "a port"),
        ("1,,40000,9.9.9.9,53,00", "addresses"),
        ("1,,,40000,9.9.9.9,,53,00", "addresses"),
        ("1,10.0.0.1,40000,9.9.9.9,53,0x00", "hexadecimal"),
        ("1,10.0.0.1,40000,9.9.9.9,53,000", "hexadecimal"),
    ],
)
def test_a_line_that_is_none_of_a_recording_is_refused(line: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        recorded(line)


@pytest.mark.parametrize("keys", [{"dns.flows.max": 0}, {"dns.flow.idle.seconds": "long"}, {"dns.flow.most.seconds": -1}])
def test_a_wrong_key_is_named(tmp_path: Path, keys: dict[str, Any]) -> None:
    with pytest.raises(PaspsError, match=f"component 'features'.*{next(iter(keys))}"):
        run(tmp_path, **keys)


def test_its_folder_hides_no_module_and_a_package_takes_all_of_it() -> None:
    file = Path(dns_traffic.__file__)
    taken = set(sys.stdlib_module_names) | {"dns", "numpy", "sklearn", "sqlalchemy", "pasps"}
    assert not {path.stem for path in file.parent.glob("*.py")} & taken
    packed = set(sources_of(file))
    assert {"topologies/dns/model.json", "topologies/dns/parsing.py"} <= packed
    assert not {name for name in packed if name.startswith("dns/")}
