from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from pasps.cluster.package.layout import PackageError, python_minor
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.cluster.package.parts import split
from pasps.cluster.package.unpack import unpack
from pasps.cluster.store.submission import Submission, encoded
from pasps.errors import BrokenError

OWN = "x = 1\n" * 1000


def environment() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        member = tarfile.TarInfo(f"lib/python{python_minor()}/site-packages/lib.py")
        member.size = 5
        archive.addfile(member, io.BytesIO(b"y = 2"))
    return out.getvalue()


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A package without an environment."""
    (tmp_path / "wc.py").write_text(OWN)
    build_package(PackageRequest(tmp_path / "wc.py", name="counter"), tmp_path / "plain.zip")
    return tmp_path / "plain.zip"


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A package with one."""
    path = tmp_path / "whole.zip"
    submission = Submission(
        "counter", "wc.py", topology="Wc", options={"k": [1]}, workers=3, python=python_minor(), pasps_version="1", py_files=("more",)
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("submission.json", encoded(submission))
        archive.writestr("environment.tar.gz", environment())
        archive.writestr("wc.py", OWN)
        archive.writestr("wc.py.et.json", "{}")
        archive.writestr("py-files/more/three.py", "z = 3")
    return path


def test_a_package_without_an_environment_is_its_own_code(plain: Path, tmp_path: Path) -> None:
    code, brought = split(plain, tmp_path / "new" / "parts")
    assert brought is None
    assert code == tmp_path / "new" / "parts" / "package.zip"
    assert code.read_bytes() == plain.read_bytes()
    assert [path.name for path in code.parent.iterdir()] == ["package.zip"]
    assert unpack(code, tmp_path / "there").submission.python is None


def test_a_package_with_an_environment_is_two_files(whole: Path, tmp_path: Path) -> None:
    code, brought = split(whole, tmp_path / "parts")
    assert brought is not None
    assert brought.read_bytes() == environment()
    with zipfile.ZipFile(code) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == ["py-files/more/three.py", "submission.json", "wc.py", "wc.py.et.json"]
        assert archive.getinfo("wc.py").compress_type == zipfile.ZIP_DEFLATED


def test_the_code_can_be_unpacked_alone_and_asks_for_no_environment(whole: Path, tmp_path: Path) -> None:
    code, _ = split(whole, tmp_path / "parts")
    found, before = unpack(code, tmp_path / "there"), unpack(whole, tmp_path / "all")
    assert found.file.read_text() == OWN
    assert found.submission.python is None
    assert before.submission.python == python_minor()
    for kept in ("name", "file", "topology", "options", "workers", "pasps_version", "py_files", "schema"):
        assert getattr(found.submission, kept) == getattr(before.submission, kept)
    there, everything = (tmp_path / "there").resolve(), (tmp_path / "all").resolve()
    assert [Path(entry).relative_to(there) for entry in found.sys_path] == [Path(entry).relative_to(everything) for entry in before.code]


def test_the_package_stays_as_it_was(whole: Path, tmp_path: Path) -> None:
    before = whole.read_bytes()
    split(whole, tmp_path / "parts")
    assert whole.read_bytes() == before


def test_what_is_no_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.zip").write_bytes(b"no zip")
    with pytest.raises(PackageError, match=r"no\.zip: expected a package"):
        split(tmp_path / "no.zip", tmp_path / "parts")


def test_a_damaged_package_is_refused(whole: Path, tmp_path: Path) -> None:
    data = bytearray(whole.read_bytes())
    at = data.index(b"environment.tar.gz") + 60
    data[at : at + 20] = bytes(20)
    whole.write_bytes(data)
    with pytest.raises(PackageError, match=r"whole\.zip: expected a package"):
        split(whole, tmp_path / "parts")


@pytest.mark.parametrize("damage", [-35, 1, 5, 10])
def test_a_package_whose_code_is_damaged_is_refused(whole: Path, tmp_path: Path, damage: int) -> None:
    with zipfile.ZipFile(whole) as archive:
        info = archive.getinfo("wc.py")
    begin = info.header_offset + 30 + len(info.filename)
    data = bytearray(whole.read_bytes())
    data[begin + damage : begin + damage + 4] = b"\xff" * 4
    whole.write_bytes(data)
    with pytest.raises(PackageError, match=r"whole\.zip: expected a package"):
        split(whole, tmp_path / "parts")


def test_a_package_that_is_not_there_may_be_there_later(tmp_path: Path) -> None:
    with pytest.raises(BrokenError, match=r"none\.zip: it cannot be unpacked"):
        split(tmp_path / "none.zip", tmp_path / "parts")


def test_parts_that_cannot_be_written_are_an_error_of_the_disk(whole: Path, plain: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for package in (whole, plain):
        with pytest.raises(BrokenError, match="its parts cannot be written into"):
            split(package, tmp_path / "file" / "parts")
