"""What a file of integration tests is told that takes a shared fixture, and is not entered where those are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
CONFTEST = "from tests.integration.conftest import *\n"
STRANGER = """
def test_that_takes_a_cluster(session_cluster):
    pass

def test_that_takes_spark(spark):
    pass

def test_that_takes_nothing():
    pass
"""


@pytest.mark.parametrize("processes", [0, 2])
def test_it_is_told_where_to_enter_it_and_no_server_is_started(tmp_path: Path, processes: int) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_stranger.py").write_text(STRANGER)
    words = ["-p", "no:cacheprovider", "-c", str(tmp_path / "no.ini"), "-n", str(processes), "--dist", "loadfile", str(tmp_path)]
    (tmp_path / "no.ini").write_text("[pytest]\n")
    done = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    for fixture in ("session_cluster", "spark"):
        assert f"test_stranger.py takes '{fixture}': enter it in TOGETHER['{fixture}'] of " in said, said
    assert "INTERNALERROR" not in said
    assert "1 passed, 2 errors" in said
    assert done.returncode == 1
