from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pasps.daemons.master.packages import DirectoryPackages, open_packages
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
