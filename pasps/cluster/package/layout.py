"""What a package is made of: the names in it, its limits, and the error that both ends of it raise."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from pasps.errors import InvalidError

SUBMISSION = "submission.json"
PY_FILES = "py-files"
ENVIRONMENT = "environment.tar.gz"
ENVIRONMENT_DIRECTORY = "environment"
"""Where the environment is unpacked, beside the topology's code."""

MOST_PACKAGE_BYTES = 512 << 20
MOST_UNPACKED_BYTES = 4 << 30
MOST_ENTRIES = 200_000
MOST_SUBMISSION_BYTES = 1 << 20


class PackageError(InvalidError):
    """A package that cannot be made of what was given, or that is none; the message is complete."""


def python_minor() -> str:
    """The version that an environment is for: `3.11`."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def sha256_of(package: Path) -> str:
    """What a Submission has of its package, in hexadecimal digits.

    Raises:
        OSError: it cannot be read.
    """
    with package.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def megabytes(size: int) -> str:
    """A size for people: `3.4 MB`."""
    return f"{size / (1 << 20):.1f} MB"
