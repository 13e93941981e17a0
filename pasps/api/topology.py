"""Topologies written as classes, streamparse's way: attributes that are specs are its components."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from pasps.api.blueprint import Blueprint
from pasps.api.builder import TopologyBuilder
from pasps.api.component import Component
from pasps.api.declaration import Declaration, Input
from pasps.api.function import FunctionBolt
from pasps.api.spec import ComponentSpec, StreamOf, stream_of
from pasps.api.validate import reconfigured, validated
from pasps.errors import InvalidError, TopologyError


class _Body(dict[str, Any]):
    """The namespace of a class body: refuses to lose a component by a second one under the same name."""

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(self.get(name), ComponentSpec):
            raise TopologyError("two components have this name", component=name, cure="rename one of the attributes")
        super().__setitem__(name, value)


class TopologyType(type):
    """Checks a topology when its class is defined."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **options: Any) -> _Body:
        """The namespace in which the class body runs."""
        return _Body()

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, body)
        # cloudpickle makes a class empty and fills it afterwards: no class statement, so no __qualname__, and nothing to check yet
        written = "__qualname__" in body or any(isinstance(value, ComponentSpec) for value in body.values())
        if bases and written:
            _blueprint(cls, None, None)


class Topology(metaclass=TopologyType):
    """Base of a user's topology; the class itself is what is submitted, it is never instantiated.

    Attributes that are specs become components, named as the attribute unless `name=` says otherwise; their order does not
    matter. A subclass inherits its bases' components. `config` holds configuration keys of the topology.
    """

    config: ClassVar[Mapping[str, Any] | None] = None

    @classmethod
    def blueprint(cls, name: str | None = None, config: Mapping[str, Any] | None = None) -> Blueprint:
        """The checked topology.

        Args:
            name: Default: the class's name in kebab case, as `word-count` for `WordCount`.
            config: Laid over the class's own.

        Raises:
            TopologyError: it cannot run, or the name cannot be used.
            ConfigError: an unknown or ill-typed key.
        """
        return _blueprint(cls, name, config)


def blueprint_of(topology: Any, name: str | None = None, config: Mapping[str, Any] | None = None) -> Blueprint:
    """The blueprint of whatever a user submits: a `Topology` class, or what `TopologyBuilder.create_topology` returned.

    Raises:
        TopologyError: it is neither, or it cannot run.
        ConfigError: an unknown or ill-typed key.
    """
    if isinstance(topology, TopologyType):
        return _blueprint(topology, name, config)
    if isinstance(topology, Blueprint):
        return topology if name is None and not config else reconfigured(topology, name, config)
    cure = "call its create_topology(name)" if isinstance(topology, TopologyBuilder) else "give a class derived from Topology"
    raise TopologyError(f"neither a Topology class nor a built topology: {topology!r}", cure=cure)


def kebab(name: str) -> str:
    """`WordCount` as `word-count`, `HTTPLog2` as `http-log2`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+", "-", name).strip("-").lower()


def _blueprint(cls: type, name: str | None, config: Mapping[str, Any] | None) -> Blueprint:
    own: object = getattr(cls, "config", None)
    own = {} if own is None else own
    if not isinstance(own, Mapping):
        problem = f"the class attribute `config` must be a dict of configuration keys, got {own!r}"
        raise TopologyError(problem, cure="to name a component 'config', give it another attribute and name='config'")
    given: object = {} if config is None else config
    if not isinstance(given, Mapping):
        raise InvalidError(f"config must be a dict of configuration keys, got {given!r}")
    specs = _specs(cls)
    ids = {spec: attribute if spec.name is None else spec.name for attribute, spec in specs.items()}
    declarations = [_declaration(ids[spec], spec, ids) for spec in specs.values()]
    return validated(kebab(cls.__name__) if name is None else name, declarations, {**own, **given})


def _specs(cls: type) -> dict[str, ComponentSpec]:
    """The specs by attribute, bases first, as attribute look-up finds them."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        found.update(vars(base))
    specs: dict[str, ComponentSpec] = {}
    attributes: dict[ComponentSpec, str] = {}
    for attribute, spec in found.items():
        if not isinstance(spec, ComponentSpec):
            continue
        if hasattr(Topology, attribute):
            cure = f"use another attribute, and name={attribute!r} to keep the name"
            raise TopologyError("this attribute belongs to Topology itself", component=attribute, cure=cure)
        if spec in attributes:
            problem = f"the same spec stands under {attributes[spec]!r} too"
            raise TopologyError(problem, component=attribute, cure=f"write {spec} once for each component")
        specs[attribute] = spec
        attributes[spec] = attribute
    _refuse_strays(found, [spec.subject for spec in specs.values()])
    return specs


def _refuse_strays(found: Mapping[str, Any], used: list[Any]) -> None:
    """An attribute that should be a spec would be no component; a class or function that a spec is made of may stand there too."""
    for attribute, value in found.items():
        if isinstance(value, type) and issubclass(value, Component):
            stray, name = not any(isinstance(subject, type) and issubclass(subject, value) for subject in used), value.__name__
        else:
            stray, name = (
                isinstance(value, (Component, FunctionBolt)) and all(value is not subject for subject in used),
                type(value).__name__,
            )
        if stray:
            name = attribute if isinstance(value, FunctionBolt) else name
            problem = f"{value!r} stands here, but only what .spec() returns becomes a component"
            raise TopologyError(problem, component=attribute, cure=f"write {attribute} = {name}.spec(...)")


def _declaration(id_: str, spec: ComponentSpec, ids: Mapping[ComponentSpec, str]) -> Declaration:
    inputs = []
    for source, grouping in spec.inputs:
        if isinstance(source, str):
            inputs.append(Input(source, grouping=grouping))
            continue
        of = source.spec if isinstance(source, StreamOf) else source
        if of not in ids:
            problem = f"its input {of} is no component of this topology"
            cure = f"make it an attribute of the class; its components are {', '.join(ids.values())}"
            raise TopologyError(problem, component=id_, stream=stream_of(source), cure=cure)
        inputs.append(Input(ids[of], stream_of(source), grouping))
    return Declaration(id_, spec.subject, tuple(inputs), spec.par, spec.pool, spec.config)
