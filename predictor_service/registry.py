"""Which models there are: the files in `models/`, and what other packages offer as `predictor_service.models` entry points."""

from __future__ import annotations

import difflib
import logging
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec

from predictor_service import models
from predictor_service.errors import InvalidRequestError
from predictor_service.model import MOST_NAME_CHARACTERS, Model

ENTRY_POINTS = "predictor_service.models"

_log = logging.getLogger(__name__)


@cache
def builtin_models() -> Mapping[str, Model]:
    """The models of the files in `models/` whose library is installed, by name; loads none of their libraries."""
    return {name: model for name, model in _in_files().items() if model.library is None or find_spec(model.library) is not None}


@cache
def _in_files() -> Mapping[str, Model]:
    modules = [import_module(f"{models.__name__}.{found.name}") for found in pkgutil.iter_modules(models.__path__)]
    return {model.name: model for model in sorted((module.MODEL for module in modules), key=lambda model: model.name)}


@cache
def all_models() -> Mapping[str, Model]:
    """The built-in models and those of installed packages, by name."""
    return with_offered(builtin_models(), entry_points(group=ENTRY_POINTS))


def with_offered(known: Mapping[str, Model], offered: Iterable[EntryPoint]) -> Mapping[str, Model]:
    """The known models and the offered ones; what cannot be loaded, is no Model or has a name that is taken is left out with a warning."""
    found = dict(known)
    for model, source in _loaded(offered):
        if model.name in found:
            _log.warning("left out the model of %s: the name %r is taken", source, model.name)
        else:
            found[model.name] = model
    return found


def _loaded(offered: Iterable[EntryPoint]) -> Iterator[tuple[Model, str]]:
    for point in offered:
        source = f"entry point {point.name!r} ({point.value})"
        try:
            model = point.load()
        except Exception as error:  # noqa: BLE001 - another package's code: the service goes on without it
            _log.warning("left out the model of %s: %s: %s", source, type(error).__name__, error)
            continue
        if isinstance(model, Model):
            yield model, source
        else:
            _log.warning("left out the model of %s: expected a predictor_service.model.Model, got %r", source, model)


def find(known: Mapping[str, Model], name: str) -> Model:
    """The model of that name.

    Raises:
        InvalidRequestError: there is none; names the nearest ones, or what it needs.
    """
    if name in known:
        return known[name]
    if name in _in_files():
        library = _in_files()[name].library
        raise InvalidRequestError(f"model: {name!r} needs {library}, which is not installed here: pip install 'pasps[{library}]'")
    near = difflib.get_close_matches(name.lower(), known, n=2) if len(name) <= MOST_NAME_CHARACTERS else []
    there_are = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(known)}"
    raise InvalidRequestError(f"model: there is no {name[:60]!r}; {there_are}")
