"""What a worker does before user code runs: its log, in a directory whose name others can guess, and what it forgets."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pasps.errors import BrokenError
from pasps.worker.spark_task import LOG_VARIABLE, forget_secrets, log_directory, write_to_log


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory of this user among the temporary files, not made yet; the umask is the usual one."""
    monkeypatch.delenv(LOG_VARIABLE, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = os.umask(0o022)
    yield tmp_path / f"pasps-{os.getuid()}"
    os.umask(before)


def test_it_is_this_users_alone(own: Path) -> None:
    for _ in range(2):
        assert log_directory("counting") == own / "logs" / "counting"
    assert (own.stat().st_mode & 0o777, (own / "logs" / "counting").is_dir()) == (0o700, True)


def linked(own: Path) -> None:
    own.with_name("elsewhere").mkdir(mode=0o700)
    own.symlink_to(own.with_name("elsewhere"))


@pytest.mark.parametrize("prepare", [linked, lambda own: own.mkdir(mode=0o755), lambda own: own.mkdir(mode=0o710)])
def test_what_somebody_else_may_have_prepared_is_not_used(own: Path, prepare: Callable[[Path], None]) -> None:
    prepare(own)
    with pytest.raises(BrokenError, match=r"expected a directory of user \d+ that nobody else can enter, got [dl]rwx.*; remove it, or set"):
        log_directory("counting")
    assert not (own / "logs").exists()


def test_a_directory_of_another_user_is_not_used(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own.mkdir(mode=0o700)
    own.rename(own.with_name("pasps-77777"))
    monkeypatch.setattr(os, "getuid", lambda: 77777)
    with pytest.raises(BrokenError, match=rf"expected a directory of user 77777 .*, got drwx------ of user {own.parent.stat().st_uid}"):
        log_directory("counting")


def test_what_is_no_directory_is_said(own: Path) -> None:
    own.write_text("")
    with pytest.raises(BrokenError, match=f"cannot be made: File exists; set {LOG_VARIABLE} to another"):
        log_directory("counting")


def test_a_chosen_directory_is_taken_as_it_is(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOG_VARIABLE, str(tmp_path / "chosen"))
    assert log_directory("counting") == tmp_path / "chosen" / "logs" / "counting"
    assert not own.exists()


def test_a_link_instead_of_a_log_is_not_followed(own: Path) -> None:
    target = own.with_name("target")
    (log_directory("counting") / "w0.log").symlink_to(target)
    with pytest.raises(BrokenError, match=r"w0\.log cannot be written: Too many levels of symbolic links"):
        write_to_log("counting", "w0")
    assert not target.exists()


def test_secrets_of_a_master_are_forgotten_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PASPS_TOKEN", "PASPS_ZOOKEEPER_AUTH", "PASPS_PREDICTOR_TOKEN", "PASPS_LOG"):
        monkeypatch.setenv(name, "x")
    forget_secrets()
    assert [name for name in os.environ if name.startswith("PASPS_") and os.environ[name] == "x"] == ["PASPS_LOG"]
