from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest

from pasps.cluster.master.packages import DirectoryPackages, open_packages
from pasps.errors import BrokenError, InvalidError

SHA = "0123456789abcdef" * 4


@pytest.fixture
def given(tmp_path: Path) -> Path:
    path = tmp_path / "given.zip"
    path.write_bytes(b"package")
    return path


def test_each_submission_has_a_file_of_its_own(tmp_path: Path, given: Path) -> None:
    async def body() -> None:
        packages = open_packages(None, tmp_path / "home")
        first, second = [await packages.keep(given, "counting", SHA) for _ in range(2)]
        assert first != second
        assert Path(first).name.startswith("counting-0123456789abcdef-")
        await packages.remove(first)
        await packages.remove(first)
        assert contents(tmp_path / "home") == {Path(second).name: b"package"}
        assert await packages.local(second) == second

    asyncio.run(body())


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_path_that_is_shared_is_made(tmp_path: Path, prefix: str) -> None:
    assert isinstance(open_packages(f"{prefix}{tmp_path}/a/b", tmp_path), DirectoryPackages)
    assert (tmp_path / "a" / "b").is_dir()


def test_what_cannot_be_written_says_so_and_leaves_nothing(tmp_path: Path, given: Path) -> None:
    async def body() -> None:
        packages = DirectoryPackages(tmp_path / "p")
        with pytest.raises(BrokenError, match="the package cannot be kept in"):
            await packages.keep(given.with_name("missing.zip"), "counting", SHA)
        assert contents(tmp_path / "p") == {}

    asyncio.run(body())


@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("relative/path", "expected an absolute path, gs://BUCKET/PATH or hdfs://HOST/PATH"),
        ("gs://bucket/path", "needs the command `hadoop`, which is not on the PATH; start the master on a node"),
    ],
)
def test_a_location_that_cannot_be_used_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, text: str) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidError) as caught:
        open_packages(location, tmp_path)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "name", ["../thesis.zip", "p/../../thesis.zip", "p/below/other.zip", "p/other.txt", "p/.hidden.zip", "p/..", "p", ""]
)
def test_what_is_not_among_the_packages_is_neither_read_nor_removed(tmp_path: Path, given: Path, name: str) -> None:
    for path in ("thesis.zip", "p/below/other.zip", "p/other.txt", "p/.hidden.zip"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("mine")

    async def body() -> None:
        packages = DirectoryPackages(tmp_path / "p")
        with pytest.raises(BrokenError, match="is not among the packages in"):
            await packages.local(f"{tmp_path}/{name}" if name else "")
        await packages.remove(f"{tmp_path}/{name}" if name else "")

    asyncio.run(body())
    assert len([path for path in tmp_path.rglob("*") if path.is_file() and path != given]) == 4


def test_a_package_is_for_its_owner_alone(tmp_path: Path, given: Path) -> None:
    given.chmod(0o644)
    before = os.umask(0)
    try:
        kept = Path(asyncio.run(open_packages(str(tmp_path / "made"), tmp_path).keep(given, "counting", SHA)))
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (kept, kept.parent)] == [0o600, 0o700]
