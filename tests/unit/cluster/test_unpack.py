from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pasps.cluster.package.layout import PackageError, python_minor, sha256_of
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.cluster.package.unpack import Unpacked, site_packages, take_environment, unpack, unpack_once
from pasps.cluster.store.submission import Submission, encoded
from pasps.errors import BrokenError, InvalidError

GOOD = Submission("wc", "wc.py")
SITE = f"lib/python{python_minor()}/site-packages"


def packed(path: Path, entries: Mapping[str, bytes], submission: Submission = GOOD) -> Path:
    """A package by hand, good or bad."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("submission.json", encoded(submission))
        archive.writestr("wc.py", "x = 1")
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def tarred(members: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, target in (links or {}).items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def refused(package: Path, directory: Path, **options: int) -> str:
    """Why it is refused."""
    with pytest.raises(InvalidError) as caught:
        unpack(package, directory, **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_what_was_packed_is_there_again_with_the_paths_to_import_from(tmp_path: Path) -> None:
    code = tmp_path / "code"
    (code / "shop" / "flows").mkdir(parents=True)
    for name in ("shop/__init__.py", "shop/flows/__init__.py", "shop/flows/wc.py"):
        (code / name).write_text(f"# {name}")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "three.py").write_text("")
    (tmp_path / "four").mkdir()
    (tmp_path / "four" / "__init__.py").write_text("")
    (tmp_path / "one.py").write_text("")
    with zipfile.ZipFile(tmp_path / "two.egg", "w") as archive:
        archive.writestr("two.py", "")
    given = tuple(tmp_path / name for name in ("two.egg", "one.py", "more", "four"))
    made = build_package(PackageRequest(code / "shop/flows/wc.py", py_files=given), tmp_path / "wc.zip")
    found = unpack(tmp_path / "wc.zip", tmp_path / "there", sha256=made.sha256)
    there = (tmp_path / "there").resolve()
    assert found.file == there / "shop/flows/wc.py"
    assert found.file.read_text() == "# shop/flows/wc.py"
    assert found.submission.file == "shop/flows/wc.py"
    wanted = ["shop/flows", ".", "py-files/two.egg", "py-files", "py-files/more"]
    assert [Path(entry) for entry in found.sys_path] == [there / name for name in wanted]


def test_the_environment_is_unpacked_without_its_links_and_comes_before_what_is_installed(tmp_path: Path) -> None:
    environment = tarred({f"{SITE}/lib.py": b"y = 2", "bin/tool": b""}, {"bin/python": "/usr/bin/python3", "lib64": "lib"})
    package = packed(tmp_path / "wc.zip", {"environment.tar.gz": environment}, Submission("wc", "wc.py", python=python_minor()))
    found = unpack(package, tmp_path / "there")
    there = (tmp_path / "there").resolve()
    assert (there / "environment" / SITE / "lib.py").read_text() == "y = 2"
    assert not (there / "environment.tar.gz").exists()
    assert not any(path.is_symlink() for path in there.rglob("*"))
    site = str(there / "environment" / SITE)
    assert found.sys_path == (str(there), site)
    assert found.code == [str(there)]
    assert found.over(["/stdlib", "/x/site-packages", str(there)]) == [str(there), "/stdlib", site, "/x/site-packages"]
    assert found.over(["/stdlib"]) == [str(there), "/stdlib", site]


def test_the_environment_can_be_taken_apart_from_the_code(tmp_path: Path) -> None:
    environment = tarred({f"{SITE}/lib.py": b"y = 2"})
    package = packed(tmp_path / "wc.zip", {"environment.tar.gz": environment}, Submission("wc", "wc.py", python=python_minor()))
    found = unpack(package, tmp_path / "there", environment=False)
    assert found.sys_path == (str((tmp_path / "there").resolve()),)
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["submission.json", "wc.py"]
    assert take_environment(package, tmp_path / "e.tar.gz")
    assert (tmp_path / "e.tar.gz").read_bytes() == environment
    brought = str(site_packages(Path("/spark/environment")))
    assert brought == f"/spark/environment/{SITE}"
    assert found.over(["/stdlib", "/x/site-packages"], [brought])[1:] == ["/stdlib", brought, "/x/site-packages"]
    assert not take_environment(packed(tmp_path / "without.zip", {}), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_an_environment_of_another_python_is_refused_with_what_to_do(tmp_path: Path) -> None:
    package = packed(tmp_path / "wc.zip", {"environment.tar.gz": tarred({})}, Submission("wc", "wc.py", python="3.9"))
    text = refused(package, tmp_path / "there")
    assert f"is for Python 3.9, and Python {python_minor()} runs here; submit it with Python {python_minor()}" in text
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("name", ["../out.py", "a/../../out.py", "/etc/out.py", "a\\..\\out.py"])
def test_entries_that_would_leave_the_directory_are_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    package = packed(tmp_path / "wc.zip", {name: b"bad"})
    assert "would leave the directory it is unpacked to" in refused(package, tmp_path / "a" / "there")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wc.zip"]


def test_an_environment_that_would_leave_the_directory_is_refused(tmp_path: Path) -> None:
    environment = {"environment.tar.gz": tarred({"../../out.py": b"bad"})}
    package = packed(tmp_path / "wc.zip", environment, Submission("wc", "wc.py", python=python_minor()))
    assert "would leave the directory" in refused(package, tmp_path / "there")
    assert not (tmp_path / "out.py").exists()


def test_an_environment_with_two_files_of_one_name_is_refused(tmp_path: Path) -> None:
    environment = {"environment.tar.gz": tarred({"a": b"", "a/b": b""})}
    package = packed(tmp_path / "wc.zip", environment, Submission("wc", "wc.py", python=python_minor()))
    assert "two of its entries are in each other's way" in refused(package, tmp_path / "there")


def test_links_are_refused(tmp_path: Path) -> None:
    package = packed(tmp_path / "wc.zip", {})
    link = zipfile.ZipInfo("link")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(package, "a") as archive:
        archive.writestr(link, "/etc")
    assert "entry 'link' is a link or a device" in refused(package, tmp_path / "there")


def test_a_file_that_stands_for_a_directory_too_is_refused(tmp_path: Path) -> None:
    package = packed(tmp_path / "wc.zip", {"a": b"", "a/b": b""})
    assert "entry 'a/b' is below 'a', which is a file" in refused(package, tmp_path / "there")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    assert "entry 'wc.py' is there twice" in refused(packed(tmp_path / "wc.zip", {"wc.py": b""}), tmp_path / "there")


def test_bombs_are_refused(tmp_path: Path) -> None:
    package = packed(tmp_path / "wc.zip", {"large": bytes(2 << 20)})
    assert "it holds 2.0 MB unpacked, at most 1.0 MB" in refused(package, tmp_path / "there", most_bytes=1 << 20)
    environment = {"environment.tar.gz": tarred({"large": bytes(2 << 20)})}
    package = packed(tmp_path / "env.zip", environment, Submission("wc", "wc.py", python=python_minor()))
    assert "its environment is too large" in refused(package, tmp_path / "there", most_bytes=1 << 20)
    assert not (tmp_path / "there" / "environment").exists()


@pytest.mark.parametrize(
    ("submission", "words"),
    [
        (Submission("wc", "wc.py", schema="pasps.submission/9"), "expected schema 'pasps.submission/1', got 'pasps.submission/9'"),
        (Submission("wc", "other.py"), "the topology's file 'other.py' is not in it"),
        (Submission("wc", "wc.py", python=python_minor()), "does not fit its environment.tar.gz"),
        (Submission("wc", "wc.py", py_files=("gone.py",)), "py-files/gone.py is not in it"),
        (Submission("wc", "wc.py", py_files=("../gone.py",)), "would leave the directory"),
    ],
)
def test_a_submission_that_does_not_fit_is_refused(tmp_path: Path, submission: Submission, words: str) -> None:
    assert words in refused(packed(tmp_path / "wc.zip", {}, submission), tmp_path / "there")


def test_what_is_no_package_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.zip"
    other.write_bytes(b"PK not")
    assert "expected a package as `pasps submit` makes them: File is not a zip file" in refused(other, tmp_path / "there")
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("wc.py", "")
    assert "which has a small submission.json" in refused(other, tmp_path / "there")
    with pytest.raises(BrokenError, match=r"cannot be unpacked: .*No such file"):
        unpack(tmp_path / "none.zip", tmp_path / "there")


def test_bytes_that_changed_are_refused(tmp_path: Path) -> None:
    package = packed(tmp_path / "wc.zip", {})
    with pytest.raises(PackageError, match=f"expected the package whose SHA-256 is abc, got {sha256_of(package)}"):
        unpack(package, tmp_path / "there", sha256="abc")
    content = package.read_bytes()
    package.write_bytes(content.replace(b"x = 1", b"x = 2"))
    assert "Bad CRC-32" in refused(package, tmp_path / "there")


def test_a_directory_with_something_in_it_is_refused(tmp_path: Path) -> None:
    package = packed(tmp_path / "wc.zip", {})
    assert isinstance(unpack(package, tmp_path / "there"), Unpacked)
    assert "expected an empty directory" in refused(package, tmp_path / "there")


def test_of_several_processes_one_unpacks_and_all_find_it_whole(tmp_path: Path) -> None:
    package, directory = packed(tmp_path / "p.zip", {"words.py": b"WORDS = 1"}), tmp_path / "code"
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda _: unpack_once(package, directory), range(8))]
    assert found == [Unpacked(directory, GOOD, directory / "wc.py", (str(directory),))] * 8
    assert sorted(path.name for path in tmp_path.iterdir()) == ["code", "p.zip"]
    (directory / "words.py").write_text("WORDS = 2")
    assert (unpack_once(package, directory).directory / "words.py").read_text() == "WORDS = 2", "it was there"


def test_what_cannot_be_unpacked_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    package = packed(tmp_path / "p.zip", {"../out.py": b""})
    with pytest.raises(PackageError, match="would leave the directory"):
        unpack_once(package, tmp_path / "code")
    assert [path.name for path in tmp_path.iterdir()] == ["p.zip"]
