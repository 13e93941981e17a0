"""The application as a whole: what is stored, of made-up lines and of real ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from drain3.drain import Drain

from pasps.cluster.package.imports import sources_of
from pasps.errors import PaspsError
from pasps.testing import CompletedTopology, StepRun, complete_topology
from tests.unit.topologies.parts import rows_of
from topologies.logs import log_events
from topologies.logs.expected import expected_keys
from topologies.logs.line_formats import read_line
from topologies.logs.log_events import LogEvents
from topologies.logs.masks import masked
from topologies.logs.synthetic_lines import line
from topologies.logs.templates import template_id

TOTAL = 1000
REAL = Path(__file__).parents[4] / "shared" / "data" / "logs"
PUBLISHED = {"HDFS": ("hdfs", 14), "Spark": ("spark", 36), "OpenSSH": ("syslog", 27), "Apache": ("apache", 6)}
"""Format and number of templates of the first 2,000 lines, by hand, as Loghub publishes them (Zhu et al., ISSRE 2023)."""


def config(folder: Path, total: int = TOTAL, **keys: Any) -> dict[str, Any]:
    # all are due at once, for the source waits by the machine's clock
    return {"trace.rows": [total], "trace.step.seconds": 1e-6, "sql.url": f"sqlite:///{folder}/stored.db", **keys}


def run(folder: Path, total: int = TOTAL, **keys: Any) -> CompletedTopology:
    return complete_topology(LogEvents, config=config(folder, total, **keys))


def stored(folder: Path, columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in rows_of(folder, f"SELECT {columns} FROM log_events ORDER BY event")]


def templates_of_one_drain(lines: list[str]) -> list[str]:
    drain = Drain(depth=4, sim_th=0.4)
    return [drain.add_log_message(masked(read_line(text).message))[0].get_template() for text in lines]


@pytest.mark.parametrize("seed", [1, 3])
def test_every_line_is_stored_with_its_template_and_kind(tmp_path: Path, seed: int) -> None:
    done = run(tmp_path, **{"events.seed": seed})
    assert not done.errors
    rows = stored(tmp_path, "event, message, template, template_id, kind, severity, source")
    assert len(rows) == TOTAL
    assert {(row[0],) for row in rows} == expected_keys(TOTAL, seed)
    assert [row[1] for row in rows] == [read_line(line(seed, event)).message for event in range(TOTAL)]
    assert [row[2] for row in rows] == templates_of_one_drain([line(seed, event) for event in range(TOTAL)])
    assert all(row[3] == template_id(row[2]) for row in rows)
    assert {row[4] for row in rows} == {"new", "usual", "burst"}
    assert {row[5] for row in rows} == {"info", "warning", "error"}
    assert {row[6] for row in rows} == {"hdfs", "spark", "syslog", "apache", "other"}


def test_a_worker_that_dies_loses_and_doubles_nothing(tmp_path: Path) -> None:
    with StepRun(LogEvents, 2, config=config(tmp_path)) as logs:
        logs.set_active("template", 3)
        while "event" not in logs.emitted:
            logs.step()
        assert logs.counts()["store"].acked < TOTAL
        logs.kill("w1")
        logs.restart("w1")
        logs.run_to_end()
        spout = logs.counts()["lines"]
    assert spout.replayed > 0  # what the worker took with it
    rows = stored(tmp_path, "event")
    assert len(rows) == TOTAL
    assert set(rows) == expected_keys(TOTAL)


def test_odd_lines_of_a_file_are_stored(tmp_path: Path) -> None:
    odd = [b"caf\xe9 \xff\xfe", b"a\0b", b"x" * 10_000, "日本語 エラー".encode(), b"\t", b"1 2 3\r"]
    (tmp_path / "odd.log").write_bytes(b"\n".join(odd) + b"\n\n\n")
    done = run(tmp_path, 5, **{"events.file": f"{tmp_path}/odd.log"})
    assert not done.errors
    messages = [message for (message,) in stored(tmp_path, "message")]
    assert messages == ["caf\ufffd \ufffd\ufffd", "a\ufffdb", "x" * 10_000, "日本語 エラー", "1 2 3"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_real_lines_have_the_templates_that_one_drain_finds(tmp_path: Path, name: str) -> None:
    file = REAL / f"{name}_2k.log"
    if not file.is_file():
        pytest.skip(f"no {file}: real logs are not part of this repository")
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    complete_topology(LogEvents, config=config(tmp_path, len(lines), **{"events.file": str(file)}), workers=2)
    rows = stored(tmp_path, "event, source, template, origin, at")
    assert [row[0] for row in rows] == list(range(2000))
    source, published = PUBLISHED[name]
    assert {row[1] for row in rows} == {source}
    assert None not in {row[4] for row in rows}
    assert [row[2] for row in rows] == templates_of_one_drain(lines)
    assert 0.8 * published <= len({row[3] for row in rows}) <= 1.2 * published


@pytest.mark.parametrize(
    ("component", "keys"),
    [
        ("parse", {"logs.year": "2024"}),
        ("template", {"logs.similarity": 1.5}),
        ("template", {"logs.templates.max": 0}),
        ("event", {"logs.window.seconds": 0}),
    ],
)
def test_a_wrong_key_is_named(tmp_path: Path, component: str, keys: dict[str, Any]) -> None:
    with pytest.raises(PaspsError, match=f"component '{component}'.*{next(iter(keys))}"):
        run(tmp_path, 1, **keys)


def test_its_folder_hides_no_module_and_a_package_takes_all_of_it() -> None:
    file = Path(log_events.__file__)
    taken = set(sys.stdlib_module_names) | {"drain3", "cachetools", "jsonpickle", "sqlalchemy", "pasps"}
    assert not {path.stem for path in file.parent.glob("*.py")} & taken
    assert {"topologies/logs/masks.py", "topologies/recent.py"} <= set(sources_of(file))
