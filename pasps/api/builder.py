"""Topologies built step by step, Storm's way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from pasps.api.blueprint import Blueprint
from pasps.api.bolt import Step
from pasps.api.declaration import Declaration, Input
from pasps.api.examine import shape_of
from pasps.api.function import FunctionBolt
from pasps.api.groupings import Grouping, GroupingSpec
from pasps.api.spout import Spout
from pasps.api.tuples import DEFAULT_STREAM
from pasps.api.validate import validated
from pasps.errors import TopologyError


class _Declarer:
    """Takes what is said about a component after it was set."""

    def __init__(self, declared: Declaration) -> None:
        self.declared = declared

    def add_configuration(self, key: str, value: Any) -> Self:
        """Set a configuration key of this component."""
        self.declared = replace(self.declared, config={**(self.declared.config or {}), key: value})
        return self


class SpoutDeclarer(_Declarer):
    """What `set_spout` returns."""


class BoltDeclarer(_Declarer):
    """What `set_bolt` returns: each grouping method adds an input and returns the declarer, for the next one."""

    def grouping(self, source: str, grouping: GroupingSpec | None = None, stream: str = DEFAULT_STREAM) -> Self:
        """Read `stream` of `source`; without a grouping it is LOAD_AWARE, or DIRECT on a direct stream."""
        self.declared = replace(self.declared, inputs=(*self.declared.inputs, Input(source, stream, grouping)))
        return self

    def load_aware_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> Self:
        """Each tuple to the active replica with the least unfinished work."""
        return self.grouping(source, Grouping.LOAD_AWARE, stream)

    def load_aware_paper_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> Self:
        """Each tuple to the active replica with the least utilisation, as the PA-SPS paper prints it."""
        return self.grouping(source, Grouping.LOAD_AWARE_PAPER, stream)

    def shuffle_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> Self:
        """Equal shares for the active replicas."""
        return self.grouping(source, Grouping.SHUFFLE, stream)

    def local_or_shuffle_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> Self:
        """As shuffle, among the replicas in the sender's worker when there are any."""
        return self.grouping(source, Grouping.LOCAL_OR_SHUFFLE, stream)

    def none_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> Self:
        """The sender does not care which replica."""
        return self.grouping(source, Grouping.NONE, stream)

    def global_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> Self:
        """Everything to replica 0."""
        return self.grouping(source, Grouping.GLOBAL, stream)

    def all_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> Self:
        """A copy to every task."""
        return self.grouping(source, Grouping.ALL, stream)

    def direct_grouping(self, source: str, stream: str = DEFAULT_STREAM) -> Self:
        """To the task that the sender names, on a direct stream."""
        return self.grouping(source, Grouping.DIRECT, stream)

    def fields_grouping(self, source: str, fields: str | Sequence[str], stream: str = DEFAULT_STREAM) -> Self:
        """Equal values of `fields` to the same task."""
        return self.grouping(source, Grouping.fields(*_names(fields)), stream)

    def partial_key_grouping(self, source: str, fields: str | Sequence[str], stream: str = DEFAULT_STREAM) -> Self:
        """Equal values of `fields` to one of two tasks."""
        return self.grouping(source, Grouping.partial_key(*_names(fields)), stream)

    def custom_grouping(self, source: str, grouping: Any, stream: str = DEFAULT_STREAM) -> Self:
        """To the tasks that your own object chooses; see `Grouping.custom`."""
        return self.grouping(source, Grouping.custom(grouping), stream)


class TopologyBuilder:
    """Collects components; `create_topology` checks them all. Not for use by several threads at once."""

    def __init__(self) -> None:
        self._declarers: dict[str, _Declarer] = {}

    def set_spout(
        self,
        id: str,
        spout: Spout | type[Spout],
        n: int | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> SpoutDeclarer:
        """Add a spout of `n` tasks (default: the class's `par`). Of an instance each task gets a copy, taken at create_topology."""
        if shape_of(str(id), spout) != "spout":
            raise TopologyError(f"set_spout was given a bolt: {spout!r}", component=str(id), cure="use set_bolt")
        declarer = SpoutDeclarer(Declaration(id, spout, par=n, config=config))
        self._add(id, declarer)
        return declarer

    def set_bolt(
        self,
        id: str,
        bolt: Step | type[Step] | FunctionBolt[..., Any],
        n: int | None = None,
        pool: int | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> BoltDeclarer:
        """Add a bolt with `n` active replicas (default: its `par`) out of `pool` (default: its `pool`, else `n`)."""
        if shape_of(str(id), bolt) == "spout":
            raise TopologyError(f"set_bolt was given a spout: {bolt!r}", component=str(id), cure="use set_spout")
        declarer = BoltDeclarer(Declaration(id, bolt, par=n, pool=pool, config=config))
        self._add(id, declarer)
        return declarer

    def create_topology(self, name: str, config: Mapping[str, Any] | None = None) -> Blueprint:
        """The checked topology; the builder may go on to be used for another.

        Raises:
            TopologyError: it cannot run; names component, stream and cure.
            ConfigError: an unknown or ill-typed key.
        """
        return validated(name, [declarer.declared for declarer in self._declarers.values()], config)

    def _add(self, id_: str, declarer: _Declarer) -> None:
        if id_ in self._declarers:
            raise TopologyError("two components have this name", component=id_, cure="rename one of them")
        self._declarers[id_] = declarer


def _names(fields: str | Sequence[str]) -> list[str]:
    return [fields] if isinstance(fields, str) else list(fields)
