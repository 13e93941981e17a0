"""A package in two parts, as Spark brings them to workers: the code for each, the environment once for each executor."""

from __future__ import annotations

import shutil
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

from pasps.cluster.package.layout import ENVIRONMENT, SUBMISSION, PackageError
from pasps.cluster.package.unpack import take_environment
from pasps.cluster.store.submission import encoded, submission_of
from pasps.errors import BrokenError

CODE_NAME = "package.zip"


def split(package: Path, directory: Path) -> tuple[Path, Path | None]:
    """A package without its environment, and the environment's archive if it has one, written into `directory`. Blocks.

    Raises:
        PackageError: it is no package.
        BrokenError: it cannot be read, or the directory cannot be written.
    """
    code, environment = directory / CODE_NAME, directory / ENVIRONMENT
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not take_environment(package, environment):
            shutil.copyfile(package, code)
            return code, None
        with zipfile.ZipFile(package) as archive, zipfile.ZipFile(code, "w") as slim:
            for info in archive.infolist():
                if info.filename == SUBMISSION:
                    slim.writestr(info, encoded(replace(submission_of(archive.read(info), SUBMISSION), python=None)))
                elif info.filename != ENVIRONMENT:
                    slim.writestr(info, archive.read(info))
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise PackageError(f"{package}: expected a package as `pasps submit` makes them: {error}; submit it again") from error
    except OSError as error:
        raise BrokenError(f"{package}: its parts cannot be written into {directory}: {error}") from error
    return code, environment
