"""The directory of artifacts that a service was given: which there are, and what each says of itself. Names only, never paths."""

from __future__ import annotations

import difflib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from predictor_service.errors import ArtifactError
from predictor_service.trained.manifest import MOST_MANIFEST_BYTES, Manifest, check_name, parsed

MANIFEST_NAME = "manifest.json"
WEIGHTS_NAME = "weights.npz"
MOST_LISTED = 200


@dataclass(frozen=True, slots=True)
class Place:
    """Where an artifact is, and which version of its files: two that are equal hold the same."""

    name: str
    path: str
    stamp: tuple[int, ...]


class Artifacts:
    """Looks into the directory when it is asked, so that what is trained while the service runs is there. Reads small files only."""

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        self._read: dict[str, tuple[Place, Manifest]] = {}

    def names(self) -> list[str]:
        """Of all that may be artifacts; whether they are says `find`."""
        if self.directory is None:
            return []
        try:
            with os.scandir(self.directory) as entries:
                found = [entry.name for entry in entries if _is_name(entry.name) and Path(entry.path, MANIFEST_NAME).exists()]
        except OSError as error:
            raise ArtifactError(f"the directory of artifacts cannot be read: {error.strerror or error}") from error
        return sorted(found)[:MOST_LISTED]

    def find(self, name: str) -> tuple[Place, Manifest]:
        """The artifact of that name.

        Raises:
            ArtifactError: there is none, it cannot be read, or its manifest is none.
        """
        check_name(name)
        if self.directory is None:
            raise ArtifactError(
                f"artifact: there is no {name!r}: this service was given no artifacts; start it with --artifacts DIR, "
                "or leave 'artifact' out and name a 'model'"
            )
        path = self.directory / name
        try:
            place = Place(name, str(path), (*_stamp(path / MANIFEST_NAME), *_stamp(path / WEIGHTS_NAME)))
        except FileNotFoundError:
            if (path / MANIFEST_NAME).exists():
                raise ArtifactError(f"artifact {name!r}: {WEIGHTS_NAME} is missing; copy both files of it again") from None
            raise self._unknown(name) from None
        except OSError as error:
            raise ArtifactError(f"artifact {name!r} cannot be read: {error.strerror or error}") from error
        known = self._read.get(name)
        if known is None or known[0] != place:
            known = self._read[name] = place, parsed(name, read_bounded(name, path / MANIFEST_NAME, MOST_MANIFEST_BYTES))
        return known

    def _unknown(self, name: str) -> ArtifactError:
        names = self.names()
        near = difflib.get_close_matches(name, names, n=2)
        if near:
            there_are = f"did you mean {' or '.join(map(repr, near))}?"
        else:
            there_are = f"there are {', '.join(names[:20])}" if names else "there are none; `pasps predictor train` makes one"
        return ArtifactError(f"artifact: there is no {name!r}; {there_are}")


def _is_name(text: str) -> bool:
    try:
        check_name(text)
    except ArtifactError:
        return False
    return True


def _stamp(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_bounded(name: str, path: Path, most: int) -> bytes:
    """A file's bytes, if it is one and has no more; never waits for a pipe or a device.

    Raises:
        ArtifactError: it is something else, or cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise ArtifactError(f"artifact {name!r}: {path.name} is no file")
            if about.st_size > most:
                raise ArtifactError(f"artifact {name!r}: {path.name} has {about.st_size:,} bytes, at most {most:,} are read")
            return file.read(most + 1)
    except OSError as error:
        raise ArtifactError(f"artifact {name!r}: {path.name} cannot be read: {error.strerror or error}") from error
