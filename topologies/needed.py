"""The libraries that an application needs, looked for before it imports them, so that a missing one is named with its cure."""

from __future__ import annotations

from importlib.util import find_spec

from pasps.errors import InvalidError


def need(application: str, **libraries: str) -> None:
    """Look for modules, each given with the name of the package that has it.

    Raises:
        InvalidError: some are missing.
    """
    missing = [package for module, package in libraries.items() if find_spec(module) is None]
    if missing:
        raise InvalidError(
            f"application {application!r} needs {' and '.join(missing)}, which cannot be imported; pip install 'pasps[apps]' "
            "(in a clone of the repository: pip install '.[apps]'), on a cluster submit with --requirements"
        )
