"""What workers of a topology share on a node: where it is, who may read it, and when it goes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pasps.cluster.package.layout import PackageError
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.errors import BrokenError
from pasps.worker.package_on_node import application_directory, package_on_node

SHA = "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    file = tmp_path / "words.py"
    file.write_text("WORDS = 1\n")
    build_package(PackageRequest(file), tmp_path / "words.zip")
    return tmp_path / "words.zip"


@pytest.fixture
def executors(tmp_path: Path) -> list[Path]:
    """The directories of two executors of an application, as a standalone Spark makes them."""
    made = [tmp_path / "app-20260101000000-0000" / str(number) for number in range(2)]
    for directory in made:
        directory.mkdir(parents=True)
        (directory / "stderr").write_text("stays")
    return made


def left(application: Path) -> list[str]:
    return sorted(str(path.relative_to(application)) for path in application.rglob("*") if path.is_file() and path.name != "stderr")


@pytest.mark.parametrize(
    ("executor", "there"),
    [
        ("app-20260101000000-0000/12", "app-20260101000000-0000"),
        ("appcache/application_1_2/container_1_2_01_000003", "appcache/application_1_2"),
        ("app-20260101000000-0000/of-somebody", "app-20260101000000-0000/of-somebody"),
        ("application_1_2/12", "application_1_2/12"),
        ("work/12", "work/12"),
    ],
)
def test_it_is_where_an_application_has_something_of_its_own(tmp_path: Path, executor: str, there: str) -> None:
    (tmp_path / executor).mkdir(parents=True)
    assert application_directory(tmp_path / executor) == (tmp_path / there).resolve()


def test_where_others_may_write_nothing_is_shared(tmp_path: Path) -> None:
    executor = tmp_path / "app-1" / "0"
    executor.mkdir(parents=True)
    executor.parent.chmod(0o775)
    assert application_directory(executor) == executor.resolve()


def test_where_it_belongs_to_somebody_else_nothing_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = tmp_path / "app-1" / "0"
    executor.mkdir(parents=True)
    monkeypatch.setattr(os, "getuid", lambda: executor.stat().st_uid + 1)
    assert application_directory(executor) == executor.resolve()


def test_executors_share_what_is_unpacked_and_the_last_to_leave_removes_it(package: Path, executors: list[Path]) -> None:
    for _ in range(2):
        with ExitStack() as first:
            one = first.enter_context(package_on_node(package, SHA, executors[0]))
            with package_on_node(package, SHA, executors[1]) as two:
                assert one.directory == two.directory
            assert (one.directory / "words.py").read_text() == "WORDS = 1\n"
        assert left(executors[0].parent) == [f"pasps-{SHA[:32]}.lock"]
    assert all((executor / "stderr").read_text() == "stays" for executor in executors)


def test_another_package_is_another_directory(package: Path, executors: list[Path]) -> None:
    with package_on_node(package, SHA, executors[0]) as one, package_on_node(package, SHA[::-1], executors[1]) as two:
        assert one.directory != two.directory


def test_nobody_else_can_read_it(package: Path, executors: list[Path]) -> None:
    with package_on_node(package, SHA, executors[0]) as unpacked:
        assert unpacked.directory.parent.stat().st_mode & 0o777 == 0o700


def test_what_somebody_did_not_finish_is_not_used_and_goes_with_the_rest(package: Path, executors: list[Path]) -> None:
    half = executors[0].parent / f"pasps-{SHA[:32]}" / ".code-abc" / "made"
    half.mkdir(parents=True)
    (half / "words.py").write_text("WOR")
    with package_on_node(package, SHA, executors[0]) as unpacked:
        assert (unpacked.directory / "words.py").read_text() == "WORDS = 1\n"
    assert left(executors[0].parent) == [f"pasps-{SHA[:32]}.lock"]


def test_who_cannot_unpack_leaves_nothing(tmp_path: Path, executors: list[Path]) -> None:
    (tmp_path / "bad.zip").write_bytes(b"no zip")
    with pytest.raises(PackageError), package_on_node(tmp_path / "bad.zip", SHA, executors[0]):
        pass
    assert left(executors[0].parent) == [f"pasps-{SHA[:32]}.lock"]


def test_where_it_cannot_be_is_said(package: Path, executors: list[Path]) -> None:
    (executors[0].parent / f"pasps-{SHA[:32]}").write_text("")
    with pytest.raises(BrokenError, match="the package cannot be unpacked there: File exists"), package_on_node(package, SHA, executors[0]):
        pass


def test_a_link_that_somebody_put_there_is_not_followed(package: Path, tmp_path: Path, executors: list[Path]) -> None:
    (executors[0].parent / f"pasps-{SHA[:32]}.lock").symlink_to(tmp_path / "target")
    with pytest.raises(BrokenError, match="Too many levels of symbolic links"), package_on_node(package, SHA, executors[0]):
        pass
    assert not (tmp_path / "target").exists()
