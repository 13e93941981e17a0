"""Says whether a package can run. A process of its own, as user code is imported: `python -m pasps.cluster.master.check_package PACKAGE`.

With `--submission FILE` what is in that file counts instead of what the package says of itself: name, workers and pools by now.
Standard output gets one line of JSON, whatever the user's code prints goes to standard error:

    {"ok": true, "name": ..., "workers": n or null, "components": {id: {"shape", "par", "pool"}}}
    {"ok": false, "kind": "package" | "file" | "dependency" | "topology" | "config" | "invalid" | "broken", "text": ...}

It exits with 0 or 1. The package is unpacked below TMPDIR; whoever ends this process removes what it left there.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import cloudpickle

from pasps.api.blueprint import Blueprint
from pasps.cluster.driver.load_package import MissingModuleError, check_paths, load_package
from pasps.cluster.package.layout import PackageError
from pasps.cluster.package.unpack import unpack
from pasps.cluster.store.submission import Submission, submission_of
from pasps.control.et_file import et_path, load_execution_times
from pasps.errors import ConfigError, InvalidError, PaspsError, TopologyError
from pasps.topology.elastic import policy_of
from pasps.topology.load_file import FileError
from pasps.worker.tracebacks import users_traceback

_KINDS: tuple[tuple[type[PaspsError], str], ...] = (
    (PackageError, "package"),
    (MissingModuleError, "dependency"),
    (FileError, "file"),
    (TopologyError, "topology"),
    (ConfigError, "config"),
    (InvalidError, "invalid"),
)
"""What is told as which kind, most specific first; anything else is "broken"."""


def answer(package: Path, directory: Path, submission: Submission | None = None) -> dict[str, Any]:
    """The line as an object. Unpacks to `directory`, and imports the user's code into this process. `submission` None: the package's."""
    try:
        return _accepted(_checked(package, directory, submission))
    except PaspsError as error:
        kind = next((word for kind, word in _KINDS if isinstance(error, kind)), "broken")
        text = str(error)
    except BaseException as error:  # noqa: BLE001 - the daemon's door: user code may raise anything, and who waits is to know
        kind = "broken" if isinstance(error, Exception) else "file"
        text = users_traceback(error)
    # people know the names inside the package, not those of this check
    text = text.replace(f"{directory.resolve()}{os.sep}", "").replace(str(package), "the package")
    return {"ok": False, "kind": kind, "text": text}


def _checked(package: Path, directory: Path, submission: Submission | None) -> Blueprint:
    unpacked = unpack(package, directory)
    blueprint = load_package(unpacked, submission)
    check_paths(blueprint)
    policy_of(blueprint)
    load_execution_times(et_path(unpacked.file), blueprint)
    try:
        cloudpickle.dumps(blueprint)
    except Exception as error:  # whatever the user's own __reduce__ raises
        problem = f"it cannot be sent to its workers: {type(error).__name__}: {error}"
        raise TopologyError(problem, cure="open connections, files and locks in initialize") from error
    return blueprint


def _accepted(blueprint: Blueprint) -> dict[str, Any]:
    components = {id_: {"shape": plan.shape, "par": plan.par, "pool": plan.pool} for id_, plan in blueprint.components.items()}
    return {"ok": True, "name": blueprint.name, "workers": blueprint.config.get("topology.workers"), "components": components}


def main() -> None:
    """Entry point of the process."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=os.environ.get("PASPS_LOG", "WARNING"))
    parser = argparse.ArgumentParser(prog="pasps.cluster.master.check_package")
    parser.add_argument("package", type=Path)
    parser.add_argument("--submission", type=Path)
    options = parser.parse_args()
    given = None if options.submission is None else submission_of(options.submission.read_bytes(), str(options.submission))
    # the descriptor, too: what user code starts writes there
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    with tempfile.TemporaryDirectory(prefix="pasps-check-", ignore_cleanup_errors=True) as directory:
        found = answer(options.package, Path(directory), given)
    with told:
        told.write(json.dumps(found).encode() + b"\n")
    logging.shutdown()
    # threads that the user's module began must not keep the process
    os._exit(0 if found["ok"] else 1)


if __name__ == "__main__":
    main()
