"""Opens packages, which come from outside: nothing leaves the directory, nothing grows beyond bounds, no link is made."""

from __future__ import annotations

import shutil
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from pasps.cluster.package.layout import (
    ENVIRONMENT,
    ENVIRONMENT_DIRECTORY,
    MOST_ENTRIES,
    MOST_SUBMISSION_BYTES,
    MOST_UNPACKED_BYTES,
    PY_FILES,
    SUBMISSION,
    PackageError,
    megabytes,
    python_minor,
    sha256_of,
)
from pasps.cluster.store.submission import Submission, submission_of
from pasps.errors import BrokenError

_SITE_PACKAGES = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A package on this machine's disk. `file` is the topology's; `sys_path` what its code is to be found in, in this order."""

    directory: Path
    submission: Submission
    file: Path
    sys_path: tuple[str, ...]

    def over(self, path: Iterable[str], brought: Iterable[str] = ()) -> list[str]:
        """A `sys.path` with this package: its code first, its environment after the standard library, before what is installed.

        `brought` is the `site_packages` of an environment that came another way; it stands where the package's own would.
        """
        installed = [*(entry for entry in self.sys_path if entry not in self.code), *brought]
        rest = [entry for entry in path if entry not in self.sys_path and entry not in installed]
        at = next((index for index, entry in enumerate(rest) if Path(entry).name in _SITE_PACKAGES), len(rest))
        return [*self.code, *rest[:at], *installed, *rest[at:]]

    @property
    def code(self) -> list[str]:
        """What is in `sys_path` of the user's own: all but the environment."""
        environment = self.directory / ENVIRONMENT_DIRECTORY / "lib"
        return [entry for entry in self.sys_path if not Path(entry).is_relative_to(environment)]


def unpack(
    package: Path, directory: Path, *, sha256: str = "", most_bytes: int = MOST_UNPACKED_BYTES, environment: bool = True
) -> Unpacked:
    """Unpack into `directory`, which is made when it is missing, and must be empty. Blocks. What was written stays when it fails.

    Args:
        package: The zip that `build_package` made.
        directory: Where to.
        sha256: What the package's must be; not checked when empty.
        most_bytes: The most it may hold, unpacked.
        environment: Whether its environment is unpacked too, if it has one.

    Raises:
        PackageError: it is no package, not the one that was meant, or not for the Python that runs here.
        InvalidError: its submission is none, or of another version of pasps.
        BrokenError: it cannot be read, or the directory cannot be written.
    """
    directory = directory.resolve()
    with _translated(package):
        _check_hash(package, sha256)
        with zipfile.ZipFile(package) as archive:
            entries = _checked(package, archive.infolist(), most_bytes)
            submission = _submission(package, archive, entries)
            _make(directory)
            for name, info in entries.items():
                if name != ENVIRONMENT:
                    with archive.open(info) as source:
                        _copy(source, directory / name)
            if environment and ENVIRONMENT in entries:
                left = most_bytes - sum(info.file_size for info in entries.values())
                with archive.open(entries[ENVIRONMENT]) as source:
                    _unpack_environment(package, source, directory / ENVIRONMENT_DIRECTORY, left)
    return _unpacked(package, submission, directory, environment=environment)


def unpack_once(package: Path, directory: Path) -> Unpacked:
    """The same, unless somebody has done so before: the directory is there whole, or not at all. Blocks.

    Raises:
        PackageError, InvalidError, BrokenError: as `unpack`.
    """
    directory = directory.resolve()
    with _translated(package):
        if not directory.is_dir():
            directory.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as scratch:
                made = unpack(package, Path(scratch) / "made").directory
                try:
                    made.rename(directory)
                except OSError:
                    if not directory.is_dir():  # nobody else was quicker
                        raise
        with zipfile.ZipFile(package) as archive:
            submission = _submission(package, archive, _checked(package, archive.infolist(), MOST_UNPACKED_BYTES))
    return _unpacked(package, submission, directory, environment=True)


def take_environment(package: Path, target: Path) -> bool:
    """Write the packed environment of a package to the file `target`, for whoever unpacks it elsewhere; False when it has none. Blocks.

    Raises:
        PackageError: it is no package.
        BrokenError: it cannot be read, or the file cannot be written.
    """
    with _translated(package), zipfile.ZipFile(package) as archive:
        if ENVIRONMENT not in archive.namelist():
            return False
        with archive.open(ENVIRONMENT) as source:
            _copy(source, target)
        return True


def site_packages(environment: Path) -> Path:
    """Where the modules of an unpacked environment are."""
    return environment / "lib" / f"python{python_minor()}" / "site-packages"


def _unpacked(package: Path, submission: Submission, directory: Path, *, environment: bool) -> Unpacked:
    paths = [*_code_paths(package, submission, directory)]
    if environment and submission.python is not None:
        paths.append(site_packages(directory / ENVIRONMENT_DIRECTORY))
    return Unpacked(directory, submission, directory / submission.file, tuple(dict.fromkeys(map(str, paths))))


@contextmanager
def _translated(package: Path) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, RuntimeError, UnicodeError, struct.error) as error:
        raise PackageError(f"{package}: expected a package as `pasps submit` makes them: {error}; submit it again") from error
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise PackageError(f"{package}: two of its entries are in each other's way, or in that of the directory: {error}") from error
    except OSError as error:
        raise BrokenError(f"{package}: it cannot be unpacked: {error}") from error


def _check_hash(package: Path, sha256: str) -> None:
    if sha256 and (found := sha256_of(package)) != sha256:
        raise PackageError(f"{package}: expected the package whose SHA-256 is {sha256}, got {found}; submit it again")


def _checked(package: Path, infos: list[zipfile.ZipInfo], most_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """The files by name, when nothing is wrong with any."""
    if len(infos) > MOST_ENTRIES:
        raise PackageError(f"{package}: it has {len(infos)} entries, at most {MOST_ENTRIES}")
    total = sum(info.file_size for info in infos)
    if total > most_bytes:
        raise PackageError(f"{package}: it holds {megabytes(total)} unpacked, at most {megabytes(most_bytes)}")
    entries: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = _inside(package, info.filename)
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise PackageError(f"{package}: entry {info.filename!r} is a link or a device, expected files only")
        if info.is_dir():
            continue
        if name in entries:
            raise PackageError(f"{package}: entry {info.filename!r} is there twice")
        entries[name] = info
    for name in entries:
        for parent in PurePosixPath(name).parents:
            if parent.as_posix() in entries:
                raise PackageError(f"{package}: entry {name!r} is below {parent.as_posix()!r}, which is a file")
    return entries


def _inside(package: Path, name: str) -> str:
    """A name as it is below the directory."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise PackageError(f"{package}: entry {name!r} would leave the directory it is unpacked to")
    return path.as_posix()


def _submission(package: Path, archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> Submission:
    info = entries.get(SUBMISSION)
    if info is None or info.file_size > MOST_SUBMISSION_BYTES:
        raise PackageError(f"{package}: expected a package as `pasps submit` makes them, which has a small {SUBMISSION}")
    submission = submission_of(archive.read(info), f"{package}: {SUBMISSION}")
    if submission.file not in entries:
        raise PackageError(f"{package}: the topology's file {submission.file!r} is not in it")
    if (submission.python is not None) != (ENVIRONMENT in entries):
        raise PackageError(f"{package}: its {SUBMISSION} is for Python {submission.python!r}, which does not fit its {ENVIRONMENT}")
    if submission.python not in (None, python_minor()):
        problem = f"its environment (--requirements) is for Python {submission.python}, and Python {python_minor()} runs here"
        raise PackageError(f"{package}: {problem}; submit it with Python {python_minor()}, or run the cluster with {submission.python}")
    return submission


def _make(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise PackageError(f"{directory}: expected an empty directory to unpack to")


def _copy(source: IO[bytes], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as output:
        shutil.copyfileobj(source, output)


def _unpack_environment(package: Path, source: IO[bytes], directory: Path, left: int) -> None:
    """Files only: an environment's links lead to the Python of the machine that made it, which nobody needs here."""
    with tarfile.open(fileobj=source, mode="r|gz") as archive:
        for count, member in enumerate(archive):
            left -= member.size
            if left < 0 or count >= MOST_ENTRIES:
                raise PackageError(f"{package}: its environment is too large, unpacked")
            name = _inside(package, member.name)
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None:
                _copy(content, directory / name)


def _code_paths(package: Path, submission: Submission, directory: Path) -> Iterator[Path]:
    yield (directory / submission.file).parent
    yield directory
    for name in submission.py_files:
        path = directory / PY_FILES / _inside(package, name)
        if path.suffix == ".py" or (path / "__init__.py").is_file():
            yield path.parent
        else:
            yield path
        if not path.exists():
            raise PackageError(f"{package}: {PY_FILES}/{name} is not in it")
