"""Where a file went that was renamed, also while its directory changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pasps.connectors.line_search import find_inode


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "app.log"
    path.touch()
    return path


def change_after_listing(monkeypatch: pytest.MonkeyPatch, *changes: Callable[[], object]) -> None:
    """Each time a directory is listed, one of these happens before its entries are looked at."""
    scandir, left = os.scandir, list(changes)

    @contextmanager
    def listing(path: str) -> Iterator[list[os.DirEntry[str]]]:
        with scandir(path) as entries:
            listed = list(entries)
        if left:
            left.pop(0)()
        yield listed

    monkeypatch.setattr(os, "scandir", listing)


def name_of(path: Path, inode: int) -> str | None:
    found = find_inode(str(path), inode)
    return None if found is None else Path(found[1].paths[0]).name


def test_a_file_is_found_though_others_vanish(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [log.with_name(f"{number}.tmp") for number in range(20)]
    for other in others:
        other.touch()
    change_after_listing(monkeypatch, lambda: [other.unlink() for other in others])
    assert name_of(log.parent, log.stat().st_ino) == "app.log"


def test_it_is_found_though_it_is_renamed(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inode = log.stat().st_ino
    change_after_listing(monkeypatch, lambda: log.rename(log.with_suffix(".1")))
    assert name_of(log.parent, inode) == "app.1"


def test_it_is_found_where_entries_are_numbered_otherwise(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        """Of a file system in user space; a stand-in, because a test cannot mount one."""

        def __init__(self, entry: os.DirEntry[str]) -> None:
            self.path, self.stat = entry.path, entry.stat

        def inode(self) -> int:
            return 0

    scandir = os.scandir

    @contextmanager
    def listing(path: str) -> Iterator[list[Entry]]:
        with scandir(path) as entries:
            yield [Entry(entry) for entry in entries]

    monkeypatch.setattr(os, "scandir", listing)
    assert name_of(log.parent, log.stat().st_ino) == "app.log"


def test_what_is_not_there_is_not_found(log: Path) -> None:
    inode = log.stat().st_ino
    log.rename(log.parent / "elsewhere")
    (log.parent / "directory").mkdir()
    assert name_of(log.parent / "directory", inode) is None
    assert name_of(log.parent / "nowhere", inode) is None
    assert name_of(log.parent, (log.parent / "directory").stat().st_ino) is None, "only files"
