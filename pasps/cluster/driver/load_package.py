"""From an unpacked package to the topology in it; the driver and the check of a package do the same. What cannot be right elsewhere."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import replace

from pasps.api.blueprint import Blueprint
from pasps.api.component import Component
from pasps.api.topology import blueprint_of
from pasps.api.validate import with_pools
from pasps.cluster.package.unpack import Unpacked
from pasps.cluster.store.submission import Submission
from pasps.config import merged
from pasps.errors import ConfigError
from pasps.topology.load_file import FileError, Runnable, load


class MissingModuleError(FileError):
    """The user's code imports a module that is not there; `module` is its name."""

    def __init__(self, module: str, text: str) -> None:
        self.module = module
        FileError.__init__(self, text)


def load_package(unpacked: Unpacked, submission: Submission | None = None) -> Blueprint:
    """Import the topology's file, with the package on `sys.path`, which stays so; once in a process. Runs user code.

    `submission` is what the store has by now, where name, workers and pools may have changed; without it, the package's own counts.

    Raises:
        FileError: the file does not load (in the user's words), or has no topology that fits; files are named as in the package.
        TopologyError, ConfigError: the topology cannot run as it was submitted.
    """
    if submission is not None:
        unpacked = replace(unpacked, submission=submission)
    submission = unpacked.submission
    sys.path[:] = unpacked.over(sys.path)
    importlib.invalidate_caches()
    topology = _load(unpacked)
    options = dict(submission.options)
    if submission.workers is not None:
        options["topology.workers"] = submission.workers
    return with_pools(blueprint_of(topology, submission.name or None, options), submission.pools)


def check_paths(blueprint: Blueprint) -> None:
    """Whether each path in the configuration is the same on every machine, as far as the components say which keys are paths.

    Raises:
        ConfigError: one is relative: it would begin in a directory of Spark's.
    """
    for plan in blueprint.components.values():
        usual = plan.kind.path_keys if issubclass(plan.kind, Component) else {}
        given = {name: value for name, value in merged(blueprint.config, plan.config).items() if value is not None}
        for name, path in {**usual, **{name: given[name] for name in usual.keys() & given.keys()}}.items():
            path = _path_of(path)
            if path is not None and not os.path.isabs(os.path.expanduser(path)):
                cure = "give an absolute path, which each machine of the cluster has: a relative one begins in a directory of Spark's"
                raise ConfigError(name, f"is the relative path {path!r}", where=f"component {plan.id!r}", cure=cure)


def _path_of(value: object) -> str | None:
    """The path that a value is, or that a database's URL has; None: there is none in it."""
    if not isinstance(value, str):
        return None
    scheme, url, rest = value.partition("://")
    if not url:
        return value
    path = rest.partition("/")[2].partition("?")[0].removeprefix("file:")
    return path if scheme.partition("+")[0] == "sqlite" and path and ":memory:" not in path else None


def _load(unpacked: Unpacked) -> Runnable:
    try:
        return load(str(unpacked.file), unpacked.submission.topology)
    except FileError as error:
        text = str(error).replace(f"{unpacked.directory}{os.sep}", "")
        module = _missing_module(error, unpacked)
        if module is None:
            raise FileError(text) from error
        cure = "name what provides it in a file given with --requirements, or give its source with --py-files"
        problem = f"{unpacked.submission.file}: module {module!r} is missing where the topology is to run"
        raise MissingModuleError(module, f"{problem}; {cure}\n{text.partition(chr(10))[2]}") from error


def _missing_module(error: BaseException, unpacked: Unpacked) -> str | None:
    """The module that somebody else provides, and nobody did; None when it is the user's own, or something else is wrong."""
    for cause in _causes(error):
        if isinstance(cause, ModuleNotFoundError) and cause.name:
            top = cause.name.partition(".")[0]
            own = any(os.path.exists(os.path.join(entry, name)) for entry in unpacked.code for name in (top, f"{top}.py"))
            return None if own or top == "pasps" else cause.name
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Why it was raised, the last reason first; not what was being handled meanwhile."""
    cause = error.__cause__
    while cause is not None:
        yield cause
        cause = cause.__cause__
