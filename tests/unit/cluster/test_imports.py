from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pasps.cluster.package.imports import import_roots, sources_of
from pasps.errors import InvalidError


def lay(root: Path, files: Mapping[str, str]) -> Path:
    """Writes files; returns the first."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root / next(iter(files))


def names(root: Path, files: Mapping[str, str]) -> set[str]:
    return set(sources_of(lay(root, files)))


def test_only_what_is_imported_comes_however_far_and_wherever_in_the_file(tmp_path: Path) -> None:
    found = names(
        tmp_path,
        {
            "wc.py": "import os, numpy, one\ndef later():\n    from two import thing\nif one:\n    import three.x as x",
            "one.py": "import four",
            "two.py": "",
            "four.py": "import five",
            "five.py": "",
            "three/x.py": "",
            "three/y.py": "",
            "six.py": "",
            "numpy.txt": "",
        },
    )
    assert found == {"wc.py", "one.py", "two.py", "three/x.py", "four.py", "five.py"}


def test_a_package_comes_whole_with_its_data_and_without_caches(tmp_path: Path) -> None:
    found = names(
        tmp_path,
        {
            "wc.py": "from words.split import split",
            "words/__init__.py": "",
            "words/split.py": "from . import data",
            "words/data/stop.txt": "the",
            "words/other.py": "import beside",
            "words/__pycache__/split.cpython-311.pyc": "",
            "words/old.pyc": "",
            "words/.git/config": "",
            "words/.hidden": "",
            "words/env/pyvenv.cfg": "",
            "words/env/big.py": "",
            "beside.py": "",
        },
    )
    assert found == {"wc.py", "words/__init__.py", "words/split.py", "words/data/stop.txt", "words/other.py", "beside.py"}


def test_cycles_end(tmp_path: Path) -> None:
    assert names(tmp_path, {"wc.py": "import a", "a.py": "import b", "b.py": "import a, wc"}) == {"wc.py", "a.py", "b.py"}


def test_directories_that_are_linked_in_a_circle_end(tmp_path: Path) -> None:
    file = lay(tmp_path, {"wc.py": "import words", "words/__init__.py": ""})
    (tmp_path / "words" / "again").symlink_to(tmp_path / "words")
    assert set(sources_of(file)) == {"wc.py", "words/__init__.py"}


def test_a_file_inside_a_package_brings_it_whole_and_is_named_from_its_root(tmp_path: Path) -> None:
    files = {
        "shop/flows/wc.py": "from shop.bolts import Count\nimport helper\nimport beside",
        "shop/__init__.py": "",
        "shop/bolts.py": "import outside",
        "shop/flows/__init__.py": "",
        "shop/flows/helper.py": "",
        "outside.py": "",
        "beside.py": "",
        "unused.py": "",
    }
    file = lay(tmp_path, files)
    assert import_roots(file) == (file.resolve().parent, tmp_path.resolve())
    assert set(sources_of(file)) == set(files) - {"unused.py"}


def test_relative_imports_of_a_directory_that_is_no_package_are_followed(tmp_path: Path) -> None:
    files = {
        "wc.py": "import parts.a",
        "parts/a.py": "from .b import c\nfrom . import d\nfrom .. import nothing",
        "parts/b.py": "",
        "parts/d.py": "",
    }
    assert names(tmp_path, files) == set(files)


def test_packages_come_before_modules_and_compiled_modules_before_sources(tmp_path: Path) -> None:
    found = names(tmp_path, {"wc.py": "import a, b", "a/__init__.py": "", "a.py": "", "b.abi3.so": "", "b.py": ""})
    assert found == {"wc.py", "a/__init__.py", "b.abi3.so"}


def test_pasps_beside_the_file_stays_where_it_is(tmp_path: Path) -> None:
    assert names(tmp_path, {"wc.py": "import pasps, sys", "pasps/__init__.py": "", "sys.py": ""}) == {"wc.py"}


def test_sources_that_are_no_python_come_but_are_not_followed(tmp_path: Path) -> None:
    files = {"wc.py": "import words", "words/__init__.py": "", "words/template.py": "import {{ name }}"}
    assert names(tmp_path, files) == set(files)


def test_a_file_that_is_no_python_is_refused_where_it_is_wrong(tmp_path: Path) -> None:
    file = lay(tmp_path, {"wc.py": "x = 1\ndef broken(:\n"})
    with pytest.raises(InvalidError, match=r"wc\.py, line 2: 'def broken\(:': it is no Python 3: invalid syntax"):
        sources_of(file)
    with pytest.raises(InvalidError, match=r"other\.py: cannot be read: No such file or directory"):
        sources_of(tmp_path / "other.py")


def test_what_python_would_warn_of_is_not_said_here(tmp_path: Path) -> None:
    assert names(tmp_path, {"wc.py": r"x = '\d'"}) == {"wc.py"}
