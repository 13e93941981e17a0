from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from pasps.cluster.package import environment
from pasps.cluster.package.layout import PackageError, sha256_of
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.cluster.store.submission import submission_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A topology's file with a module and a package beside it, in a directory of its own."""
    folder = tmp_path / "code"
    (folder / "words").mkdir(parents=True)
    (folder / "words" / "__init__.py").write_text("")
    (folder / "words" / "stop.txt").write_text("the\n" * 100)
    (folder / "helper.py").write_text("import words")
    (folder / "wc.py").write_text("import helper")
    return folder / "wc.py"


def inside(package: Path) -> list[str]:
    with zipfile.ZipFile(package) as archive:
        return archive.namelist()


def test_a_package_holds_the_file_what_it_imports_and_its_submission(file: Path, tmp_path: Path) -> None:
    Path(f"{file}.et.json").write_text("{}")
    target = tmp_path / "wc.zip"
    said: list[str] = []
    request = PackageRequest(file, topology="Wc", options={"my.key": [1]}, workers=3, inactive=True)
    made = build_package(request, target, said.append)
    assert inside(target) == ["submission.json", "helper.py", "wc.py", "wc.py.et.json", "words/__init__.py", "words/stop.txt"]
    with zipfile.ZipFile(target) as archive:
        carried = submission_of(archive.read("submission.json"), "here")
    assert (carried.name, carried.file, carried.topology, carried.options) == ("", "wc.py", "Wc", {"my.key": [1]})
    assert (carried.workers, carried.inactive, carried.python, carried.sha256, carried.package) == (3, True, None, "", "")
    assert made.sha256 == sha256_of(target)
    assert said
    assert "5 files" in said[-1]
    assert list(tmp_path.glob(".*")) == []


def test_the_same_input_gives_the_same_bytes_whenever_and_in_whatever_order_it_was_written(file: Path, tmp_path: Path) -> None:
    first = build_package(PackageRequest(file), tmp_path / "1.zip")
    for path in sorted(file.parent.rglob("*"), reverse=True):
        if path.is_file():
            text = path.read_text()
            path.unlink()
            path.write_text(text)
            path.chmod(0o600)
    assert build_package(PackageRequest(file), tmp_path / "2.zip").sha256 == first.sha256
    file.write_text("import helper  # changed")
    assert build_package(PackageRequest(file), tmp_path / "3.zip").sha256 != first.sha256


def test_py_files_are_archives_modules_and_folders(file: Path, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("two.py", "")
    (tmp_path / "more" / "__pycache__").mkdir(parents=True)
    (tmp_path / "more" / "__pycache__" / "three.cpython-311.pyc").write_text("")
    (tmp_path / "more" / "three.py").write_text("")
    given = tuple(tmp_path / name for name in ("two.zip", "one.py", "more"))
    made = build_package(PackageRequest(file, py_files=given), tmp_path / "wc.zip")
    assert made.py_files == ("two.zip", "one.py", "more")
    assert [name for name in inside(tmp_path / "wc.zip") if name.startswith("py-files/")] == [
        "py-files/more/three.py",
        "py-files/one.py",
        "py-files/two.zip",
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.zip", "none.zip: there is no such file"),
        ("text.zip", "text.zip: expected a zip archive, which it is not"),
        ("some.whl", "some.whl: expected a .zip, an .egg, a .py file or a folder; name it in a file for --requirements"),
        ("empty", "empty: there is nothing in this folder"),
        ("other/text.zip", "another one of this name is given too; rename one"),
    ],
)
def test_py_files_that_are_none_are_refused(file: Path, tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.zip").write_text("")
    (tmp_path / "some.whl").write_text("")
    given = (tmp_path / name,)
    if "/" in name:
        with zipfile.ZipFile(tmp_path / "text.zip", "w") as archive:
            archive.writestr("two.py", "")
        given = (tmp_path / "text.zip", *given)
    with pytest.raises(PackageError) as caught:
        build_package(PackageRequest(file, py_files=given), tmp_path / "wc.zip")
    assert words in str(caught.value)
    assert not (tmp_path / "wc.zip").exists()


def test_too_much_is_refused_and_the_largest_are_named(file: Path, tmp_path: Path) -> None:
    (file.parent / "words" / "large.bin").write_bytes(bytes(2 << 20))
    with pytest.raises(PackageError, match=r"would hold 2.0 MB, at most 1.0 MB; largest: words/large.bin \(2.0 MB\), words/stop.txt"):
        build_package(PackageRequest(file), tmp_path / "wc.zip", most_bytes=1 << 20)


@pytest.mark.parametrize(("name", "words"), [("wc.txt", "ends in .py"), ("none.py", "No such file"), ("folder.py", "Is a directory")])
def test_what_is_no_topology_file_is_refused(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(ValueError, match=words):
        build_package(PackageRequest(tmp_path / name), tmp_path / "wc.zip")


def test_a_target_that_cannot_be_written_says_so(file: Path, tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"this package cannot be made: .*No such file or directory"):
        build_package(PackageRequest(file), tmp_path / "nowhere" / "wc.zip")


def test_requirements_that_are_not_there_are_refused(file: Path, tmp_path: Path) -> None:
    request = PackageRequest(file, requirements=tmp_path / "r.txt")
    with pytest.raises(PackageError, match=r"r\.txt: there is no such file"):
        build_package(request, tmp_path / "wc.zip")


def test_without_venv_pack_the_cure_is_named(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    (tmp_path / "r.txt").write_text("")
    # what is installed where tests run is not ours to take away
    monkeypatch.setattr(environment, "import_module", missing)
    request = PackageRequest(file, requirements=tmp_path / "r.txt")
    with pytest.raises(PackageError, match=r"venv-pack, which is not installed here; pip install 'pasps\[cluster\]'"):
        build_package(request, tmp_path / "wc.zip")


def test_a_package_of_the_users_where_the_environment_goes_is_refused(file: Path, tmp_path: Path) -> None:
    (file.parent / "environment").mkdir()
    (file.parent / "environment" / "__init__.py").write_text("")
    file.write_text("import environment")
    (tmp_path / "r.txt").write_text("")
    build_package(PackageRequest(file), tmp_path / "wc.zip")
    with pytest.raises(PackageError, match="'environment', where that of --requirements goes; rename yours"):
        build_package(PackageRequest(file, requirements=tmp_path / "r.txt"), tmp_path / "wc.zip")
