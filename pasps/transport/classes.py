"""What user classes are called on the wire: by import path, or by a definition that travels ahead of the first value.

`ClassBook` is the sending side, one per worker; `Definitions` the receiving side, one per connection; `values` calls both.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import pickle
import sys
from functools import reduce
from typing import Any

import cloudpickle

from pasps.errors import ProtocolError
from pasps.transport.messages import Define

LOCAL = "#"
"""First character of the name of a class that cannot be imported; no module's name has it."""


class ClassBook:
    """Names the classes whose values this worker sends. Not thread-safe: the event loop's own.

    `defines` only grows: one entry for each class that has to be sent by definition, in the order of their first values.
    """

    def __init__(self) -> None:
        self.defines: list[Define] = []
        self._names: dict[type, str] = {}

    def name_of(self, cls: type) -> str:
        """The name for the wire.

        Raises:
            Exception: whatever cloudpickle raises for a class that has to be sent by definition but cannot be pickled.
        """
        name = self._names.get(cls)
        if name is None:
            if is_importable(cls):
                name = f"{cls.__module__}:{cls.__qualname__}"
            else:
                name = f"{LOCAL}{len(self.defines)}:{cls.__qualname__}"
                # cloudpickle remembers the classes it made: a process that has this class already gets that very one
                self.defines.append(Define(name, cloudpickle.dumps(cls)))
            self._names[cls] = name
        return name


class Definitions:
    """Finds the classes that a peer names; one per connection, since each worker numbers its definitions by itself."""

    def __init__(self) -> None:
        self._classes: dict[str, type] = {}

    def define(self, message: Define) -> None:
        """Takes a definition; runs the peer's code, so only for authenticated peers.

        Raises:
            ProtocolError: the definition is out of order or cannot be used in this process.
        """
        if not message.name.startswith(LOCAL) or message.name in self._classes:
            raise ProtocolError(f"definition of class {message.name!r}: expected a new name that starts with {LOCAL!r}")
        try:
            cls = pickle.loads(message.pickled)
        except Exception as error:
            cure = "give both workers the same modules"
            raise ProtocolError(f"definition of class {message.name!r} failed here: {error!r}; {cure}") from error
        self._classes[message.name] = _checked(cls, message.name)

    def resolve(self, name: str) -> type:
        """The dataclass or enum of that name.

        Raises:
            ProtocolError: there is none in this process.
        """
        cls = self._classes.get(name)
        if cls is None:
            if name.startswith(LOCAL):
                raise ProtocolError(f"a value of class {name!r} came before the definition of its class")
            module, _, qualname = name.partition(":")
            try:
                found = reduce(getattr, qualname.split("."), importlib.import_module(module))
            except Exception as error:
                raise ProtocolError(f"class {name!r} cannot be imported here: {error!r}; give both workers the same modules") from error
            cls = self._classes[name] = _checked(found, name)
        return cls


def is_importable(cls: type) -> bool:
    """Whether another process can be expected to find this very class by its module and qualified name."""
    module = cls.__module__
    if module in ("__main__", "__mp_main__") or module in cloudpickle.list_registry_pickle_by_value() or "<locals>" in cls.__qualname__:
        return False
    found: Any = sys.modules.get(module)
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


def _checked(cls: object, name: str) -> type:
    if isinstance(cls, type) and (dataclasses.is_dataclass(cls) or issubclass(cls, enum.Enum)):
        return cls
    raise ProtocolError(f"class {name!r}: expected a dataclass or an enum, got {cls!r}"[:500])
