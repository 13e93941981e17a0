"""The topology as a run under test hosts it: list spouts in place of named spouts, and every spout's acks and fails noted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from pasps.api.blueprint import Blueprint, ComponentPlan
from pasps.api.spout import Spout
from pasps.api.tuples import DEFAULT_STREAM
from pasps.errors import InvalidError
from pasps.testing.list_spout import ListSpout, Script, scripts_for
from pasps.testing.marks import Item, OnStream

Inputs = Mapping[str, Sequence[Item]]
"""A list for each spout that is to be replaced."""


@dataclass
class Verdicts:
    """The tuple ids that spouts were told of, by component, in order."""

    acked: dict[str, list[Any]] = field(default_factory=dict)
    failed: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _NotingMaker:
    """Makes spouts that note what they are told of."""

    component: str
    make: Callable[[], Any]
    verdicts: Verdicts

    def __call__(self) -> Any:
        spout: Spout = self.make()
        ack, fail = spout.ack, spout.fail
        acked, failed = self.verdicts.acked[self.component], self.verdicts.failed[self.component]

        def note_ack(tup_id: Any) -> Any:
            acked.append(tup_id)
            return ack(tup_id)  # what it should not return is for the runtime to tell

        def note_fail(tup_id: Any) -> Any:
            failed.append(tup_id)
            return fail(tup_id)

        spout.ack, spout.fail = note_ack, note_fail  # type: ignore[method-assign] # on this instance, as the runtime does with emit
        return spout


@dataclass(frozen=True)
class _ListMaker:
    scripts: list[Script]

    def __call__(self) -> ListSpout:
        return ListSpout(self.scripts)


def with_stand_ins(
    blueprint: Blueprint, inputs: Inputs, tracked: bool, replays: int
) -> tuple[Blueprint, dict[str, list[Script]], Verdicts]:
    """The blueprint to run, the scripts by component and task, and where verdicts are noted.

    Raises:
        InvalidError: `inputs` names what is no spout, or a row does not fit its stream.
    """
    _check(blueprint, inputs)
    verdicts = Verdicts()
    scripts: dict[str, list[Script]] = {}
    components: dict[str, ComponentPlan] = {}
    for name, plan in blueprint.components.items():
        if not plan.is_spout:
            components[name] = plan
            continue
        verdicts.acked[name], verdicts.failed[name] = [], []
        make = plan.make
        if name in inputs:
            scripts[name] = scripts_for(name, inputs[name], plan.pool, tracked, replays)
            make = _ListMaker(scripts[name])
        components[name] = replace(plan, make=_NotingMaker(name, make, verdicts))
    return replace(blueprint, components=components), scripts, verdicts


def _check(blueprint: Blueprint, inputs: Inputs) -> None:
    spouts = [name for name, plan in blueprint.components.items() if plan.is_spout]
    for name, items in inputs.items():
        if name not in spouts:
            near = get_close_matches(str(name), spouts, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its spouts are {', '.join(spouts)}"
            raise InvalidError(f"inputs names {name!r}, which is no spout of topology {blueprint.name!r}; {hint}")
        for item in items:
            stream, values = (item.stream, item.values) if isinstance(item, OnStream) else (DEFAULT_STREAM, item)
            if not isinstance(values, (list, tuple)):
                continue
            declared = blueprint.components[name].streams.get(stream)
            if declared is None:
                known = ", ".join(blueprint.components[name].streams) or "none"
                raise InvalidError(f"inputs of {name!r}: {item!r} is for stream {stream!r}, which is not declared; declared: {known}")
            if len(values) != len(declared.fields):
                fields = ", ".join(declared.fields)
                raise InvalidError(f"inputs of {name!r}: expected {len(declared.fields)} values ({fields}), got {item!r}")
