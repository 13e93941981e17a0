"""A package that several processes share, some of which are killed while they unpack it or use it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pasps.cluster.package.make import PackageRequest, build_package
from pasps.worker.package_on_node import package_on_node

pytestmark = pytest.mark.integration

SHA = "0123456789abcdef" * 4
WORKER = f"""
import sys
from pathlib import Path
from pasps.cluster.package import unpack
from pasps.worker.package_on_node import package_on_node

if sys.argv[3] == "unpacking":
    def copy(source, target):
        print("here", flush=True)
        sys.stdin.read()
    unpack._copy = copy
with package_on_node(Path(sys.argv[1]), {SHA!r}, Path(sys.argv[2])) as unpacked:
    print((unpacked.directory / "words.py").read_text(), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "words.py").write_text("WORDS = 1")
    build_package(PackageRequest(tmp_path / "words.py"), tmp_path / "words.zip")
    return tmp_path / "words.zip"


@pytest.fixture
def executors(tmp_path: Path) -> list[Path]:
    made = [tmp_path / "app-1" / str(number) for number in range(2)]
    for directory in made:
        directory.mkdir(parents=True)
    return made


@contextmanager
def worker(package: Path, executor: Path, does: str = "using", says: str = "WORDS = 1") -> Iterator[subprocess.Popen[str]]:
    """One that has come so far; it ends in an orderly way when its input is closed."""
    words = [sys.executable, "-c", WORKER, str(package), str(executor), does]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == says
            yield process
        finally:
            process.kill()


def leave(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


def test_one_that_is_killed_while_it_unpacks_harms_nobody(package: Path, executors: list[Path]) -> None:
    with worker(package, executors[0], "unpacking", "here") as killed:
        waits = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(package), str(executors[1]), "using"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with waits:
            killed.kill()
            assert waits.stdout is not None
            assert waits.stdout.readline().strip() == "WORDS = 1"
            leave(waits)
            assert waits.returncode == 0
    assert [path.name for path in executors[0].parent.glob("pasps-*")] == [f"pasps-{SHA[:32]}.lock"]


def test_one_that_is_killed_leaves_it_to_the_others_and_the_last_of_those_removes_it(package: Path, executors: list[Path]) -> None:
    with worker(package, executors[0]) as killed, worker(package, executors[1]) as stays:
        killed.kill()
        killed.wait()
        (found,) = executors[0].parent.glob("pasps-*/code/words.py")
        assert found.read_text() == "WORDS = 1"
        leave(stays)
        assert not found.parent.parent.exists()


def test_when_all_were_killed_the_next_one_uses_it_and_removes_it(package: Path, executors: list[Path]) -> None:
    with worker(package, executors[0]) as one, worker(package, executors[1]) as two:
        for killed in (one, two):
            killed.kill()
            killed.wait()
    (found,) = executors[0].parent.glob("pasps-*/code/words.py")
    before = found.stat().st_ino
    with package_on_node(package, SHA, executors[0]) as unpacked:
        assert (unpacked.directory / "words.py").stat().st_ino == before
    assert not found.parent.parent.exists()
