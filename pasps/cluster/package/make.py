"""Makes packages: one zip with a topology's file, what it imports from beside it, and what else was given, for a cluster to run."""

from __future__ import annotations

import math
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pasps.cluster.package.environment import build_environment
from pasps.cluster.package.imports import files_below, import_roots, sources_of
from pasps.cluster.package.layout import (
    ENVIRONMENT,
    ENVIRONMENT_DIRECTORY,
    MOST_PACKAGE_BYTES,
    PY_FILES,
    SUBMISSION,
    PackageError,
    megabytes,
    python_minor,
    sha256_of,
)
from pasps.cluster.store.submission import Submission, encoded

_ARCHIVES = (".zip", ".egg")
_STORED = (*_ARCHIVES, ".gz")
_MOST_NAMED = 5
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_REGULAR_FILE = 0o100644 << 16


@dataclass(frozen=True, slots=True)
class PackageRequest:
    """What was asked for. `topology` chooses one of several in the file; `name` None: the topology's own.

    `options` are configuration keys with their values; `py_files` are zips, eggs, .py files or folders.
    """

    file: Path
    topology: str | None = None
    name: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    workers: int | None = None
    py_files: tuple[Path, ...] = ()
    requirements: Path | None = None
    inactive: bool = False


def _silent(text: str) -> None:
    pass


def build_package(
    request: PackageRequest, target: Path, say: Callable[[str], None] = _silent, most_bytes: int = MOST_PACKAGE_BYTES
) -> Submission:
    """Write the package to `target`, as a whole or not at all; the same input gives the same bytes. Imports nothing of the user's.

    Returns what is in the package as its submission, with its `sha256`. `say` is called with a line for what takes long. Blocks.

    Raises:
        InvalidError: something that was given is not there, is not what it should be, or is too much.
    """
    entries = _code(request.file)
    names = _add_py_files(request.py_files, entries)
    with tempfile.TemporaryDirectory(prefix="pasps-package-") as scratch:
        if request.requirements is not None:
            _check_no_environment(entries)
            entries[ENVIRONMENT] = Path(scratch) / ENVIRONMENT
            build_environment(request.requirements, entries[ENVIRONMENT], say)
        submission = _submission(request, names)
        _check_size(request.file, entries, most_bytes)
        _write(target, submission, entries)
    count = "1 file" if len(entries) == 1 else f"{len(entries)} files"
    say(f"packed {request.file} and what it needs: {count}, {math.ceil(target.stat().st_size / 1024):,} KB")
    return replace(submission, sha256=sha256_of(target))


def _submission(request: PackageRequest, py_files: tuple[str, ...]) -> Submission:
    return Submission(
        name=request.name or "",
        file=_inside(request.file),
        topology=request.topology,
        options=request.options,
        workers=request.workers,
        inactive=request.inactive,
        python=None if request.requirements is None else python_minor(),
        py_files=py_files,
        pasps_version=_version(),
    )


def _inside(file: Path) -> str:
    """The file's name in the package."""
    return file.resolve().relative_to(import_roots(file)[-1]).as_posix()


def _code(file: Path) -> dict[str, Path]:
    if file.suffix != ".py":
        raise PackageError(f"{file}: expected a Python file, whose name ends in .py")
    entries = sources_of(file)
    times = Path(f"{file}.et.json")
    if times.is_file():
        entries[f"{_inside(file)}.et.json"] = times
    return entries


def _add_py_files(paths: tuple[Path, ...], entries: dict[str, Path]) -> tuple[str, ...]:
    names: list[str] = []
    for given in paths:
        path = given.resolve()
        where = f"--py-files {given}"
        if path.name in names:
            raise PackageError(f"{where}: another one of this name is given too; rename one")
        names.append(path.name)
        if path.is_dir():
            inside = {f"{PY_FILES}/{path.name}/{found.relative_to(path).as_posix()}": found for found in files_below(path)}
            if not inside:
                raise PackageError(f"{where}: there is nothing in this folder")
            entries |= inside
            continue
        if not path.is_file():
            raise PackageError(f"{where}: there is no such file")
        is_archive = path.suffix in _ARCHIVES
        if not is_archive and path.suffix != ".py":
            cure = "; name it in a file for --requirements" if path.suffix == ".whl" else ""
            raise PackageError(f"{where}: expected a .zip, an .egg, a .py file or a folder{cure}")
        if is_archive and not zipfile.is_zipfile(path):
            raise PackageError(f"{where}: expected a zip archive, which it is not")
        entries[f"{PY_FILES}/{path.name}"] = path
    return tuple(names)


def _check_no_environment(entries: Mapping[str, Path]) -> None:
    for name, path in entries.items():
        if name.startswith(f"{ENVIRONMENT_DIRECTORY}/"):
            problem = f"a package of yours is called {ENVIRONMENT_DIRECTORY!r}, where that of --requirements goes"
            raise PackageError(f"{path}: {problem}; rename yours")


def _check_size(file: Path, entries: Mapping[str, Path], most_bytes: int) -> None:
    sizes = sorted(((path.stat().st_size, name) for name, path in entries.items()), reverse=True)
    total = sum(size for size, _ in sizes)
    if total > most_bytes:
        largest = ", ".join(f"{name} ({megabytes(size)})" for size, name in sizes[:_MOST_NAMED])
        cure = "keep data out of what is imported, and read it from where every node can"
        raise PackageError(
            f"{file}: its package would hold {megabytes(total)}, at most {megabytes(most_bytes)}; largest: {largest}; {cure}"
        )


def _write(target: Path, submission: Submission, entries: Mapping[str, Path]) -> None:
    partial = target.with_name(f".{target.name}.partial")
    try:
        with zipfile.ZipFile(partial, "w") as archive:
            archive.writestr(_entry(SUBMISSION), encoded(submission))
            for name, path in sorted(entries.items()):
                info = _entry(name)
                info.file_size = path.stat().st_size  # decides about zip64
                with path.open("rb") as source, archive.open(info, "w") as output:
                    shutil.copyfileobj(source, output)
        partial.replace(target)
    except (OSError, ValueError) as error:
        raise PackageError(f"{target}: this package cannot be made: {error}") from error
    finally:
        partial.unlink(missing_ok=True)


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _NO_TIME)
    info.compress_type = zipfile.ZIP_STORED if name.endswith(_STORED) else zipfile.ZIP_DEFLATED
    info.external_attr = _REGULAR_FILE
    info.create_system = 3
    return info


def _version() -> str:
    try:
        return version("pasps")
    except PackageNotFoundError:
        return ""
