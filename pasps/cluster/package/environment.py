"""The environment of a package: what a requirements file asks for, installed apart, packed by venv-pack. Runs pip."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pasps.cluster.package.layout import PackageError, python_minor

_LAST_LINES = 15
_CURE = "pip install 'pasps[cluster]'"


def build_environment(requirements: Path, target: Path, say: Callable[[str], None]) -> None:
    """Install what `requirements` asks for into a new environment of this Python, and pack that; takes as long as pip does.

    The same files installed give the same bytes.

    Raises:
        PackageError: there is no such file, pip or venv-pack is missing or fails, or something was installed as editable.
    """
    if not requirements.is_file():
        raise PackageError(f"--requirements {requirements}: there is no such file")
    packer = _packer()
    with tempfile.TemporaryDirectory(prefix="pasps-environment-") as scratch:
        home = Path(scratch).resolve() / "environment"
        say(f"installing what {requirements} asks for into an environment of Python {python_minor()}")
        _create(home)
        _install(requirements, home)
        say("packing the environment")
        plain = Path(scratch) / "environment.tar"
        try:
            packer.pack(prefix=str(home), output=str(plain), format="tar")
        except packer.VenvPackException as error:
            raise PackageError(f"--requirements {requirements}: the environment cannot be packed: {error}") from error
        _repack(plain, target)


def _packer() -> Any:
    try:
        return import_module("venv_pack")
    except ImportError as error:
        raise PackageError(f"--requirements needs venv-pack, which is not installed here; {_CURE}") from error


def _create(home: Path) -> None:
    try:
        venv.create(home, with_pip=False, symlinks=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise PackageError(f"--requirements: {sys.executable} cannot make a virtual environment: {error}") from error


def _install(requirements: Path, home: Path) -> None:
    """This Python's own pip installs into the environment, so that no pip is in it."""
    if find_spec("pip") is None:
        raise PackageError(f"--requirements needs pip, which {sys.executable} does not have; python -m ensurepip")
    # what PYTHONPATH names would count as installed already
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    options = ["--no-compile", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command = [sys.executable, "-m", "pip", "--python", str(home), "install", *options, "-r", str(requirements)]
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True
    )
    if done.returncode:
        last = "\n".join(f"  {line}" for line in done.stdout.rstrip().splitlines()[-_LAST_LINES:])
        raise PackageError(f"--requirements {requirements}: pip could not install them; its last lines:\n{last}")
    editable = sorted(path.name for path in home.glob("lib/python*/site-packages/__editable__*.pth"))
    if editable:
        problem = f"{', '.join(editable)} only refers to files of this machine"
        raise PackageError(f"--requirements {requirements}: {problem}; leave out -e, so that the code itself is installed")


def _repack(plain: Path, target: Path) -> None:
    """Compress it, without what differs from one time to the next: order, times, owners, and the name of our directory."""
    with (
        tarfile.open(plain) as source,
        target.open("wb") as file,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as packed,
    ):
        # venv-pack adds some files twice; as everywhere in a tar file the later one counts
        members = {member.name: member for member in source.getmembers()}
        for _, member in sorted(members.items()):
            content = source.extractfile(member) if member.isreg() or member.islnk() else None
            data = b"" if content is None else content.read()
            if member.islnk():
                member.type, member.linkname = tarfile.REGTYPE, ""
            if member.name == "pyvenv.cfg":
                data = b"".join(line for line in data.splitlines(keepends=True) if not line.startswith(b"command"))
            member.size = len(data)
            member.mtime = 0
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.pax_headers = {}
            packed.addfile(member, io.BytesIO(data))
