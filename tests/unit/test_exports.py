"""The public names are exactly those that are declared, and importing them is cheap."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FUTURES = {"annotations"}  # left behind by `from __future__ import annotations`
OPTIONAL = {
    *("kazoo", "pyspark", "py4j", "fastapi", "uvicorn", "pydantic"),
    *("numpy", "sklearn", "darts", "pandas"),
    *("rich", "hypothesis", "pytest", "psutil", "predictor_service"),
}


@pytest.mark.parametrize("package", ["pasps", "pasps.testing"])
def test_all_names_exactly_what_is_importable_and_public(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        assert hasattr(module, name), f"{package}.__all__ names {name!r}, which cannot be imported"
    found = {name for name, value in vars(module).items() if not isinstance(value, ModuleType) and not name.startswith("_")}
    declared = [name for name in module.__all__ if not name.startswith("_")]
    assert sorted(declared) == sorted(found - FUTURES)
    assert not hasattr(module, "what_is_not_there")


def test_importing_pasps_loads_nothing_optional() -> None:
    program = "import sys; before = set(sys.modules); import pasps; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    packages = {name.partition(".")[0] for name in run.stdout.split()}
    assert "pasps" in packages
    assert not packages & OPTIONAL
    print(_microseconds(run.stderr), "microseconds for `import pasps`")  # noqa: T201 - shown by `pytest -rP`, nothing is asserted


@pytest.mark.parametrize(
    ("program", "needed", "others"),
    [
        (
            "import pasps.worker.process",
            "pasps.runtime.worker",
            ("pasps.control", "pasps.cluster", "pasps.topology.controller", "psutil"),
        ),
        ("import pasps.worker.spark_task", "pasps.runtime.worker", ("pasps.topology.controller", "psutil")),
        ("import pasps.cli.main", "pasps.cli.main", ("asyncio", "psutil")),
        ("import pasps; pasps.LocalCluster", "pasps.topology.controller", ("pasps.runtime", "pasps.groupings")),
    ],
)
def test_a_process_loads_nothing_of_what_runs_in_another(program: str, needed: str, others: tuple[str, ...]) -> None:
    program += "; import sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    loaded = run.stdout.split()
    assert needed in loaded
    assert [name for name in loaded if name.startswith(others)] == []


def _microseconds(report: str) -> str:
    """The cumulative time of the whole package, out of the table that `-X importtime` writes."""
    rows = [line.removeprefix("import time:").split("|") for line in report.splitlines() if line.startswith("import time:")]
    return next((row[1].strip() for row in rows if row[2].strip() == "pasps"), "an unknown number of")
