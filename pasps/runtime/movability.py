"""Instances as bytes: how a task's state leaves a worker and comes back to life in another.

What belongs to the worker (collector, context) is written as a reference and bound anew where it is read.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle

from pasps.api.component import Component
from pasps.api.context import TopologyContext
from pasps.errors import Interrupt, UnmovableError
from pasps.runtime.collector import Collector
from pasps.runtime.reports import said_by


class _StatePickler(cloudpickle.Pickler):  # type: ignore[misc]
    def persistent_id(self, obj: object) -> str | None:
        if isinstance(obj, TopologyContext):
            return "context"
        return "collector" if isinstance(obj, Collector) else None


class _StateUnpickler(pickle.Unpickler):
    def __init__(self, data: bytes, context: TopologyContext, collector: Collector) -> None:
        super().__init__(io.BytesIO(data))
        self._known = {"context": context, "collector": collector}

    def persistent_load(self, pid: Any) -> Any:
        return self._known[pid]


def freeze(instance: Any) -> bytes:
    """The instance's state; raises whatever its attributes raise when they are pickled."""
    buffer = io.BytesIO()
    _StatePickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(instance)
    return buffer.getvalue()


def thaw(data: bytes, context: TopologyContext, collector: Collector) -> Any:
    """The instance, with the new worker's context and collector in place of the old."""
    return _StateUnpickler(data, context, collector).load()


def unmovable(instance: Component, component: str, task: int, context: TopologyContext) -> UnmovableError | None:
    """Try whether the instance could move; None when it can. `on_move_out` and `on_move_in` run only if it needs them."""
    try:
        freeze(instance)
    except Interrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever an attribute raises makes it unmovable
        if type(instance).on_move_out is not Component.on_move_out:
            return _tried(instance, component, task, context)
        return _named(instance, component, task, error)
    return None


def _tried(instance: Component, component: str, task: int, context: TopologyContext) -> UnmovableError | None:
    try:
        instance.on_move_out()
        freeze(instance)
    except Interrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - as above
        return _named(instance, component, task, error)
    finally:
        instance.on_move_in(context)
    return None


def _named(instance: Component, component: str, task: int, error: BaseException) -> UnmovableError:
    """Which attribute it is."""
    for name, value in list(vars(instance).items()):
        if _fails(freeze, value):
            return UnmovableError(component, task, name, f"{type(value).__name__}: {said_by(error)}")
    return UnmovableError(component, task, "__getstate__", said_by(error))


def _fails(function: Callable[[Any], Any], value: Any) -> bool:
    try:
        function(value)
    except Interrupt:
        raise
    except BaseException:  # noqa: BLE001 - the question is only whether it raises
        return True
    return False


def unmovable_now(instance: Component, component: str, task: int, error: BaseException) -> UnmovableError:
    """The error for an instance that could move at the start and cannot now."""
    return _named(instance, component, task, error)
