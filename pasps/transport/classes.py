"""What user classes are called on the wire: by import path, or by a definition that travels ahead of the first value.

`ClassBook` is the sending side, one per worker; `Definitions` the receiving side, one per connection; `values` calls both.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import importlib
import pickle
import sys
import uuid
import zoneinfo
from functools import reduce
from typing import Any

import cloudpickle

from pasps.errors import InvalidError, ProtocolError, WireError, shown
from pasps.transport.messages import Define

SAFE = frozenset({datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone, decimal.Decimal, uuid.UUID})
"""Classes of values that travel, beside the plain ones, without any code of the user's."""

_LOCAL = "#"
"""First character of the name of a class that cannot be imported; no module's name has it."""
_BESIDE_BYTES = 64
"""What a definition takes beside the name and the pickled class."""


class ClassBook:
    """Names the classes whose values this worker sends. Not thread-safe: the event loop's own.

    `defines` only grows: one entry for each class that has to be sent by definition, in the order of their first values.
    """

    def __init__(self, most_frame_bytes: int) -> None:
        self._most_bytes = most_frame_bytes - _BESIDE_BYTES
        self.defines: list[Define] = []
        self._names: dict[type, str | None] = {}

    def name_of(self, cls: type) -> str | None:
        """The name under which it is defined; None for one that is imported.

        Raises:
            InvalidError: the class has to be sent by definition, and that is larger than a frame.
            BaseException: whatever cloudpickle raises when it cannot be pickled.
        """
        if cls not in self._names:
            name = None
            if not is_importable(cls):
                name = f"{_LOCAL}{len(self.defines)}:{cls.__qualname__}"
                # cloudpickle remembers the classes it made: a process that has this class already gets that very one
                pickled = cloudpickle.dumps(cls)
                if len(pickled) + len(name) > self._most_bytes:
                    raise InvalidError(f"pickled, it takes {len(pickled)} bytes, more than a frame (pasps.wire.max.frame.bytes)")
                self.defines.append(Define(name, pickled))
            self._names[cls] = name
        return self._names[cls]

    def class_of(self, name: str) -> type:
        """The class that is defined under that name."""
        return next(cls for cls, known in self._names.items() if known == name)


class Definitions:
    """Finds the classes that a peer names; one per connection, since each worker numbers its definitions by itself."""

    def __init__(self, own: ClassBook | None = None) -> None:
        """`own`: the peer is this worker itself, which has what it defines."""
        self._own = own
        self._classes: dict[str, type] = {}
        self._broken: dict[str, str] = {}
        self._found: dict[tuple[str, str], type] = {}

    def define(self, message: Define) -> None:
        """Takes a definition; runs the peer's code, so only for authenticated peers. One that fails here fails its values.

        Raises:
            ProtocolError: the definition is out of turn.
        """
        name = message.name
        if not name.startswith(_LOCAL) or name in self._classes or name in self._broken:
            raise ProtocolError(f"definition of class {name!r}: expected a new name that starts with {_LOCAL!r}")
        try:
            self._classes[name] = _checked(pickle.loads(message.pickled))
        except BaseException as error:  # noqa: BLE001 - it is the user's code, or another version of it, and only its values pay
            self._broken[name] = shown(error)

    def resolve(self, name: str) -> type:
        """The class that was defined under that name.

        Raises:
            WireError: this process cannot have it.
            ProtocolError: it was not defined.
        """
        if self._own is not None:
            return self._own.class_of(name)
        if name in self._broken:
            raise self._unavailable(name)
        if name not in self._classes:
            raise ProtocolError(f"a value of class {name!r} came before the definition of its class")
        return self._classes[name]

    def find(self, module: str, name: str) -> type:
        """A class that a pickle names.

        Raises:
            WireError: this process cannot have it, or it is no class of values that travel.
        """
        found = self._found.get((module, name))
        if found is None:
            path = f"{module}:{name}"
            if path not in self._broken:
                try:
                    found = self._found[module, name] = _checked(reduce(getattr, name.split("."), importlib.import_module(module)))
                    return found
                except BaseException as error:  # noqa: BLE001 - as in `define`; noted, so that it is not tried for every value
                    self._broken[path] = shown(error)
            raise self._unavailable(path)
        return found

    def _unavailable(self, name: str) -> WireError:
        return WireError(name, cure=f"its class cannot be had at the other end ({self._broken[name]}); give all workers the same modules")


def is_importable(cls: type) -> bool:
    """Whether another process can be expected to find this very class by its module and qualified name."""
    module = cls.__module__
    if module in ("__main__", "__mp_main__") or module in cloudpickle.list_registry_pickle_by_value() or "<locals>" in cls.__qualname__:
        return False
    found: Any = sys.modules.get(module)
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


def _checked(found: object) -> type:
    if isinstance(found, type) and (found in SAFE or dataclasses.is_dataclass(found) or issubclass(found, (enum.Enum, zoneinfo.ZoneInfo))):
        return found
    raise TypeError(f"expected a dataclass or an enum, got {found!r}"[:300])
