"""Packages are made, and checked by a real child process in a directory of its own; also with an environment that pip fills."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pasps.cluster.package.layout import PackageError, python_minor
from pasps.cluster.package.make import PackageRequest, build_package

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
FLOW = """
from pasps import Bolt, Spout, Topology

class S(Spout):
    outputs = ["n"]
    def next_tuple(self):
        pass

class B(Bolt):
    def process(self, tup):
        pass

class Flow(Topology):
    s = S.spec()
    b = B.spec(inputs=[s], pool=POOL)
"""


def lay(root: Path, files: Mapping[str, str]) -> Path:
    """Writes files; returns the first."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root / next(iter(files))


def checked(package: Path, tmp_path: Path) -> tuple[dict[str, Any], str]:
    """What the child says of it, and its standard error. It runs elsewhere, and leaves nothing behind."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(elsewhere)}
    done = subprocess.run(
        [sys.executable, "-m", "pasps.cluster.master.check_package", str(package)],
        cwd=elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done
    found: dict[str, Any] = json.loads(lines[0])
    assert done.returncode == (0 if found["ok"] else 1)
    assert list(elsewhere.iterdir()) == []
    return found, done.stderr


def wheel(path: Path) -> Path:
    """A wheel made by hand, so that nothing has to be built or fetched."""
    info = "tinywords-1.0.dist-info"
    with zipfile.ZipFile(path / "tinywords-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("tinywords/__init__.py", "POOL = 7\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinywords\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"tinywords/__init__.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path / "tinywords-1.0-py3-none-any.whl"


def test_a_file_with_a_module_and_a_package_with_data_beside_it(tmp_path: Path) -> None:
    # what it prints and starts must not get into the answer, nor what it started hold it up
    noise = (
        "import os, threading, time\nprint('a word')\nos.system('echo another')\nthreading.Thread(target=time.sleep, args=(60,)).start()\n"
    )
    files = {
        "flow.py": noise + "from helper import POOL\n" + FLOW,
        "helper.py": "import words\nPOOL = words.POOL\n",
        "words/__init__.py": "import helper\nfrom pathlib import Path\nPOOL = int(Path(__file__).with_name('pool.txt').read_text())\n",
        "words/pool.txt": "5",
    }
    build_package(PackageRequest(lay(tmp_path / "code", files)), tmp_path / "p.zip")
    found, told = checked(tmp_path / "p.zip", tmp_path)
    assert found["ok"], found
    assert found["name"] == "flow"
    assert found["components"]["b"] == {"shape": "bolt", "par": 1, "pool": 5}
    assert "a word" in told
    assert "another" in told


def test_a_file_inside_a_package_imports_that_package_by_its_full_name(tmp_path: Path) -> None:
    files = {
        "shop/flows/flow.py": "from shop.sizes import POOL\n" + FLOW,
        "shop/__init__.py": "",
        "shop/flows/__init__.py": "",
        "shop/sizes.py": "import shop.flows\nPOOL = 3\n",
    }
    build_package(PackageRequest(lay(tmp_path / "code", files), name="shop"), tmp_path / "p.zip")
    found, _ = checked(tmp_path / "p.zip", tmp_path)
    assert (found["ok"], found["name"]) == (True, "shop"), found


def test_py_files_are_found_as_archive_module_and_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as archive:
        archive.writestr("one/__init__.py", "A = 1")
    lay(tmp_path, {"two.py": "B = 2", "three/deep.py": "C = 3", "four/__init__.py": "D = 4"})
    text = "import one, two, deep, four\nPOOL = one.A + two.B + deep.C + four.D\n" + FLOW
    given = tuple(tmp_path / name for name in ("one.zip", "two.py", "three", "four"))
    build_package(PackageRequest(lay(tmp_path / "code", {"flow.py": text}), py_files=given), tmp_path / "p.zip")
    found, _ = checked(tmp_path / "p.zip", tmp_path)
    assert found["ok"], found
    assert found["components"]["b"]["pool"] == 10


def test_a_file_that_raises_is_told_with_the_users_lines_alone(tmp_path: Path) -> None:
    file = lay(tmp_path / "code", {"flow.py": "import helper", "helper.py": "def fail():\n    raise ValueError('too bad')\nfail()\n"})
    build_package(PackageRequest(file), tmp_path / "p.zip")
    found, _ = checked(tmp_path / "p.zip", tmp_path)
    assert found["kind"] == "file"
    frames = [line.strip() for line in found["text"].splitlines() if line.strip().startswith('File "')]
    assert frames == ['File "flow.py", line 1, in <module>', 'File "helper.py", line 3, in <module>', 'File "helper.py", line 2, in fail']
    assert found["text"].endswith("ValueError: too bad")


def test_requirements_come_along_and_without_them_the_cure_is_named(tmp_path: Path) -> None:
    file = lay(tmp_path / "code", {"flow.py": "from tinywords import POOL\n" + FLOW})
    build_package(PackageRequest(file), tmp_path / "without.zip")
    (tmp_path / "1").mkdir()
    found, _ = checked(tmp_path / "without.zip", tmp_path / "1")
    assert found["kind"] == "dependency"
    assert "module 'tinywords' is missing" in found["text"]
    assert "--requirements" in found["text"]

    (tmp_path / "r.txt").write_text(f"--no-index\n{wheel(tmp_path)}\n")
    said: list[str] = []
    request = PackageRequest(file, requirements=tmp_path / "r.txt")
    made = build_package(request, tmp_path / "with.zip", said.append)
    assert made.python == python_minor()
    assert [line.partition(" ")[0] for line in said] == ["installing", "packing", "packed"]
    (tmp_path / "2").mkdir()
    found, _ = checked(tmp_path / "with.zip", tmp_path / "2")
    assert found["ok"], found
    assert found["components"]["b"]["pool"] == 7
    assert build_package(request, tmp_path / "again.zip").sha256 == made.sha256


def test_what_pip_cannot_install_is_told_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("--no-index\nno-such-distribution==9.9\n")
    request = PackageRequest(lay(tmp_path / "code", {"flow.py": FLOW}), requirements=tmp_path / "r.txt")
    with pytest.raises(PackageError) as caught:
        build_package(request, tmp_path / "p.zip")
    assert "r.txt: pip could not install them; its last lines:\n  " in str(caught.value)
    assert "No matching distribution found for no-such-distribution==9.9" in str(caught.value)
    assert not (tmp_path / "p.zip").exists()
