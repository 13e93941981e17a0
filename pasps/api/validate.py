"""From declarations to a blueprint, or to an error that says what to change. Both DSLs end here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from heapq import heapify, heappop, heappush
from typing import Any

from pasps.api.blueprint import Blueprint, ComponentPlan, Edge
from pasps.api.bolt import Bolt, TicklessBatchingBolt
from pasps.api.declaration import Declaration, Input
from pasps.api.examine import Examined, check_arity, examine
from pasps.api.function import StatefulFunction
from pasps.api.groupings import Grouping, GroupingSpec, Kind
from pasps.api.tuples import Stream
from pasps.config import check
from pasps.errors import TopologyError
from pasps.ids import MOST_TASKS

MOST_REPLICAS = 4096
"""The largest pool of one component."""
MOST_NAME_CHARACTERS = 100
"""Workers tell each other the name when they shake hands, and take no more from strangers."""
MOST_NAME_BYTES = 200
"""It is part of the names of directories, which have at most 255 bytes."""
_CAP = "topology.max.task.parallelism"
_TICK = "topology.tick.tuple.freq.secs"


@dataclass(frozen=True)
class _Part:
    """A declaration with what was found about it."""

    declared: Declaration
    found: Examined
    par: int
    pool: int


def validated(name: str, declarations: Sequence[Declaration], config: Mapping[str, Any] | None = None) -> Blueprint:
    """Check a topology and number its components, edges and tasks. Ties in the topological order keep the order of definition.

    Raises:
        TopologyError: it cannot run; names component, stream and cure.
        ConfigError: an unknown or ill-typed key, of the topology or of a component.
    """
    # Step 1: names and configuration
    settings = _checked_config(name, config)
    _check_ids(declarations)
    # Step 2: each component by itself
    parts = {declared.id: _part(declared) for declared in declarations}
    if not any(part.found.shape == "spout" for part in parts.values()):
        raise TopologyError("there is no spout, so nothing would ever flow", cure="add a component derived from Spout")
    # Step 3: what they read from each other
    subscriptions = {id_: _subscriptions(part, parts) for id_, part in parts.items()}
    # Step 4: order, then numbers
    order = _topological({id_: [i.source for i in inputs] for id_, inputs in subscriptions.items()}, subscriptions)
    edges: list[Edge] = []
    plans: list[ComponentPlan] = []
    for id_ in order:
        inputs = tuple(
            Edge(len(edges) + i, read.source, read.stream, id_, read.grouping or Grouping.LOAD_AWARE)
            for i, read in enumerate(subscriptions[id_])
        )
        edges += inputs
        plans.append(_plan(parts[id_], inputs))
    # Step 5: ticks come to those who handle them, and to no others
    _check_ticks(plans, settings)
    return Blueprint(name, _numbered(plans, settings.get(_CAP)), tuple(edges), settings)


def reconfigured(blueprint: Blueprint, name: str | None, config: Mapping[str, Any] | None) -> Blueprint:
    """The same topology under another name, or with `config` over its own.

    Raises:
        TopologyError: a name that cannot be used.
        ConfigError: an unknown or ill-typed key.
    """
    name = blueprint.name if name is None else name
    settings = _checked_config(name, {**blueprint.config, **check({} if config is None else config, f"topology {name!r}")})
    _check_ticks(blueprint.components.values(), settings)
    components = _numbered(blueprint.components.values(), settings.get(_CAP))
    return Blueprint(name, components, blueprint.edges, settings)


def with_pools(blueprint: Blueprint, pools: Mapping[str, int]) -> Blueprint:
    """The same topology with other pools of some bolts; one whose pool is less than its `par` then starts with the pool.

    Raises:
        TopologyError: no such bolt, or a pool that cannot be.
    """
    cap = blueprint.config.get(_CAP)
    plans = dict(blueprint.components)
    for id_, pool in pools.items():
        plan = plans.get(id_)
        if plan is None:
            bolts = [name for name, other in plans.items() if not other.is_spout]
            raise TopologyError("a pool is given for it, but there is no such bolt", component=id_, cure=_nearest(id_, bolts))
        if plan.is_spout:
            problem = "a pool is given for it, but it is a spout, whose tasks are all active"
            raise TopologyError(problem, component=id_, cure="give pools to bolts only")
        if not isinstance(pool, int) or isinstance(pool, bool) or not 1 <= pool <= MOST_REPLICAS:
            problem = f"pool must be an integer of 1 to {MOST_REPLICAS}, got {pool!r}"
            raise TopologyError(problem, component=id_, cure="set it to the number of replicas")
        if cap is not None and pool > cap:
            raise TopologyError(f"pool = {pool} is more than {_CAP} = {cap}", component=id_, cure="raise that key, or lower the pool")
        plans[id_] = replace(plan, par=min(plan.par, pool), pool=pool)
    return replace(blueprint, components=_numbered(plans.values(), cap))


def _checked_config(name: object, config: Mapping[str, Any] | None) -> dict[str, Any]:
    # the name becomes part of paths and of command lines
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        cure = "use letters, digits, '_', '-' and '.', and begin with a letter or digit"
        raise TopologyError(f"{name!r} cannot be a topology's name", cure=cure)
    if len(name) > MOST_NAME_CHARACTERS or len(name.encode()) > MOST_NAME_BYTES:
        problem = f"a topology's name has at most {MOST_NAME_CHARACTERS} characters and {MOST_NAME_BYTES} bytes, got {len(name)} characters"
        raise TopologyError(f"{problem} ({name[:40]!r}...)", cure="give it a shorter name")
    return check({} if config is None else config, f"topology {name!r}")


def _check_ids(declarations: Sequence[Declaration]) -> None:
    seen: set[str] = set()
    for declared in declarations:
        name: object = declared.id
        if not isinstance(name, str) or not name:
            raise TopologyError(f"a component's name must be a non-empty string, got {name!r}", cure="name the component")
        if name.startswith("__"):
            raise TopologyError("names that begin with '__' are reserved", component=name, cure="rename the component")
        if re.search(r"[/=\x00-\x1f]", name):
            raise TopologyError("a component's name must have no '/', '=' or control character", component=name, cure="rename it")
        if name in seen:
            raise TopologyError("two components have this name", component=name, cure="rename one of them")
        seen.add(name)


def _part(declared: Declaration) -> _Part:
    found = examine(declared.id, declared.subject)
    par = declared.subject.par if declared.par is None else declared.par
    pool = declared.subject.pool if declared.pool is None else declared.pool
    pool = par if pool is None else pool
    for word, value in (("par", par), ("pool", pool)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            problem = f"{word} must be an integer of at least 1, got {value!r}"
            raise TopologyError(problem, component=declared.id, cure=f"set {word} to the number of replicas")
    if pool < par:
        problem = f"pool = {pool} is less than par = {par}"
        raise TopologyError(problem, component=declared.id, cure=f"raise pool to at least {par}, or lower par")
    if pool > MOST_REPLICAS:
        raise TopologyError(f"pool = {pool} is more than {MOST_REPLICAS}", component=declared.id, cure=f"set it to at most {MOST_REPLICAS}")
    if found.shape == "spout" and pool != par:
        problem = f"pool = {pool} differs from par = {par}, but all tasks of a spout are always active"
        raise TopologyError(problem, component=declared.id, cure="leave pool out")
    return _Part(declared, found, par, pool)


def _subscriptions(part: _Part, parts: Mapping[str, _Part]) -> list[Input]:
    """The inputs of one component, checked, each with its grouping."""
    id_ = part.declared.id
    if part.found.shape == "spout":
        for read in part.declared.inputs:
            cure = "drop its inputs, or derive it from Bolt"
            raise TopologyError(f"a spout has no inputs, got {read.source!r}", component=id_, stream=read.stream, cure=cure)
    elif not part.declared.inputs:
        raise TopologyError("this bolt has no input", component=id_, cure=f"give it one of {_names(p for p in parts if p != id_)}")
    seen: set[tuple[str, str]] = set()
    result: list[Input] = []
    for read in part.declared.inputs:
        stream = _source_stream(id_, read, parts)
        if (read.source, read.stream) in seen:
            problem = f"it reads this stream of {read.source!r} twice"
            raise TopologyError(problem, component=id_, stream=read.stream, cure="list it once, with one grouping")
        seen.add((read.source, read.stream))
        grouping = _grouping(id_, read, stream)
        if grouping.observed and part.found.concurrency > 1:
            problem = f"{grouping} looks at what its tuples take one after the other, but {part.found.concurrency} calls run at a time"
            cure = "set concurrency = 1, or use another grouping, as Grouping.LOAD_AWARE"
            raise TopologyError(problem, component=id_, stream=read.stream, cure=cure)
        result.append(replace(read, grouping=grouping))
        if part.found.shape in ("function", "stateful_function"):
            check_arity(id_, part.declared.subject, read.source, stream)
    return result


def _source_stream(id_: str, read: Input, parts: Mapping[str, _Part]) -> Stream:
    source = parts.get(read.source)
    if source is None:
        problem = f"its input {read.source!r} is no component of this topology"
        raise TopologyError(problem, component=id_, stream=read.stream, cure=_nearest(read.source, parts))
    streams = source.found.streams
    if read.stream not in streams:
        cure = f"it has {_names(streams)}" if streams else f"declare the outputs of {read.source!r}"
        raise TopologyError(f"{read.source!r} has no such stream", component=id_, stream=read.stream, cure=cure)
    return streams[read.stream]


def _grouping(id_: str, read: Input, stream: Stream) -> GroupingSpec:
    grouping: object = read.grouping
    if grouping is None:
        return Grouping.DIRECT if stream.direct else Grouping.LOAD_AWARE
    if not isinstance(grouping, GroupingSpec):
        problem = f"{grouping!r} is no grouping for {read.source!r}"
        raise TopologyError(problem, component=id_, stream=read.stream, cure="use for example Grouping.SHUFFLE or Grouping.fields('word')")
    if (grouping.kind is Kind.DIRECT) != stream.direct:
        if stream.direct:
            problem, cure = f"{read.source!r} emits directly to it, so {grouping} cannot choose", "use Grouping.DIRECT"
        else:
            problem, cure = f"DIRECT needs a direct stream of {read.source!r}", "declare it with Stream([...], direct=True)"
        raise TopologyError(problem, component=id_, stream=read.stream, cure=cure)
    for field in grouping.fields:
        if field not in stream.fields:
            problem = f"{grouping} names field {field!r}, which {read.source!r} does not emit"
            raise TopologyError(problem, component=id_, stream=read.stream, cure=f"its fields are {_names(stream.fields)}")
    return grouping


def _topological(sources: Mapping[str, list[str]], subscriptions: Mapping[str, list[Input]]) -> list[str]:
    """Sources before their readers; among those that may come next, the one that was defined first."""
    rank = {id_: i for i, id_ in enumerate(sources)}
    names = list(sources)
    waiting = {id_: len(reads) for id_, reads in sources.items()}
    readers: dict[str, list[str]] = {id_: [] for id_ in sources}
    for id_, reads in sources.items():
        for source in reads:
            readers[source].append(id_)
    ready = [rank[id_] for id_, count in waiting.items() if not count]
    heapify(ready)
    order: list[str] = []
    while ready:
        order.append(names[heappop(ready)])
        for reader in readers[order[-1]]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heappush(ready, rank[reader])
    if len(order) < len(sources):
        raise _cycle([id_ for id_ in sources if waiting[id_]], subscriptions)
    return order


def _cycle(stuck: list[str], subscriptions: Mapping[str, list[Input]]) -> TopologyError:
    # each stuck component reads from a stuck one, so walking back must meet one twice
    inside = set(stuck)
    path: list[str] = []
    at, stream = stuck[0], ""
    while at not in path:
        path.append(at)
        back = next(read for read in subscriptions[at] if read.source in inside)
        at, stream = back.source, back.stream
    # `path` runs against the flow; its last edge is the one just followed: at -> path[-1]
    reader = path[-1]
    loop = [at, *reversed(path[path.index(at) :])]
    cure = f"drop the input {at!r} of {reader!r}, or another one of these"
    return TopologyError(f"a cycle: {' -> '.join(loop)}", component=reader, stream=stream, cure=cure)


def _plan(part: _Part, inputs: tuple[Edge, ...]) -> ComponentPlan:
    declared, found = part.declared, part.found
    where = f"component {declared.id!r}"
    kind = declared.subject if isinstance(declared.subject, type) else type(declared.subject)
    ticks = {_TICK: declared.subject.secs_between_batches} if issubclass(kind, TicklessBatchingBolt) else {}
    ticks, own, given = (
        check({} if config is None else config, where, component=True) for config in (ticks, declared.subject.config, declared.config)
    )
    return ComponentPlan(
        id=declared.id,
        shape=found.shape,
        make=found.make,
        streams=found.streams,
        inputs=inputs,
        par=part.par,
        pool=part.pool,
        first_task=0,
        config={**ticks, **own, **given},
        execution=found.execution,
        concurrency=found.concurrency,
        max_batch=found.max_batch,
        kind=kind,
        finishes=found.finishes,
    )


def _check_ticks(plans: Iterable[ComponentPlan], settings: Mapping[str, Any]) -> None:
    """Refuse `process_tick` without ticks and ticks without `process_tick`. A key that is null says that there shall be none."""
    handlers = False
    for plan in plans:
        handler = None if plan.is_spout else getattr(plan.kind, "process_tick", None)
        handles = handler not in (None, Bolt.process_tick, StatefulFunction.process_tick)
        handlers = handlers or handles
        if handles and _TICK not in plan.config and _TICK not in settings:
            problem = f"{plan.kind.__name__} has process_tick(), but no tick would come: {_TICK} is not set"
            cure = f"give the component config={{{_TICK!r}: seconds}}, or set the key for the topology; None says that no ticks are wanted"
            raise TopologyError(problem, component=plan.id, cure=cure)
        if not handles and plan.config.get(_TICK) is not None:
            problem = f"its configuration has {_TICK} = {plan.config[_TICK]!r}, but nothing here handles ticks"
            cure = "define process_tick(self, tup), or drop the key"
            if plan.shape in ("spout", "function"):
                cure = (
                    f"drop the key, or write a class derived from Bolt: a {plan.shape.replace('function', 'function bolt')} gets no ticks"
                )
            raise TopologyError(problem, component=plan.id, cure=cure)
    if settings.get(_TICK) is not None and not handlers:
        problem = f"the topology's configuration has {_TICK} = {settings[_TICK]!r}, but no bolt defines process_tick()"
        raise TopologyError(problem, cure="define process_tick(self, tup) in a bolt, or drop the key")


def _numbered(plans: Iterable[ComponentPlan], cap: int | None) -> dict[str, ComponentPlan]:
    """The plans in their order, with task ids from 1 on, `par` and `pool` at most `cap`.

    Spouts get the first ids: bolts may have other pools one day, and by its id a task of a spout finds its position again.
    """
    result: dict[str, ComponentPlan] = {}
    for plan in plans:
        par, pool = (plan.par, plan.pool) if cap is None else (min(plan.par, cap), min(plan.pool, cap))
        result[plan.id] = replace(plan, par=par, pool=pool)
    task = 1
    for plan in sorted(result.values(), key=lambda plan: not plan.is_spout):
        result[plan.id] = replace(plan, first_task=task)
        task += plan.pool
    if task - 1 > MOST_TASKS:
        widest = max(result.values(), key=lambda plan: plan.pool)
        problem = f"the pools of all components come to {task - 1} tasks, more than {MOST_TASKS}"
        raise TopologyError(problem, component=widest.id, cure=f"lower pools, of which this one ({widest.pool}) is the largest")
    return result


def _names(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names) or "nothing"


def _nearest(name: str, known: Iterable[str]) -> str:
    known = list(known)
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {_names(known)}"
