"""What is simulated: spouts, bolts with their costs, and edges. From a blueprint and its benchmark, or from a run's records. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pasps.activation import ActivationTable, first_table
from pasps.api.blueprint import Blueprint, ComponentPlan, Execution
from pasps.api.groupings import Grouping, GroupingSpec, Kind
from pasps.assignment import Need, place
from pasps.config import RuntimeSettings, merged
from pasps.control.decision_log import Record
from pasps.control.et_file import EtFile, OperatorTimes
from pasps.control.monitor import shape_of
from pasps.control.run_log import Sample
from pasps.control.situation import BoltShape, Situation, TopologyShape
from pasps.errors import InvalidError


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A subscription: so many tuples come of one event of `source`."""

    source: str
    stream: str
    selectivity: float = 1.0
    grouping: GroupingSpec = Grouping.LOAD_AWARE


@dataclass(frozen=True, slots=True)
class GraphBolt:
    """A bolt: `et_seconds` for one event, of CPU time where it runs inline, else of wall time; `varies` as in `OperatorTimes`.

    `et_by_class`: what it takes for an event of each class, where that differs; `et_seconds` is then the mean.
    """

    id: str
    inputs: tuple[GraphEdge, ...]
    et_seconds: float
    pool: int = 1
    par: int = 1
    execution: Execution = "inline"
    concurrency: int = 1
    varies: float = 0.0
    shared_queues: bool = True
    et_by_class: tuple[float, ...] = ()

    @property
    def keyed(self) -> bool:
        """See `ComponentPlan`."""
        return any(edge.grouping.keyed for edge in self.inputs)

    @property
    def pinned(self) -> bool:
        """See `ComponentPlan`."""
        return any(edge.grouping.kind is Kind.GLOBAL for edge in self.inputs)

    @property
    def one_queue(self) -> bool:
        """Whether its replicas in a worker take from one queue."""
        return self.shared_queues and all(edge.grouping.free for edge in self.inputs)


@dataclass(frozen=True, slots=True)
class Graph:
    """A topology as the model knows it: spouts with their tasks, and bolts in topological order.

    `pending`: most events of a spout task in flight. `buffer`: tuples that wait before a replica until its senders must.
    `classes`: the shares of events of each class, see `with_classes`; all of one where there are none.
    `tracked`: what is lost on its way comes again.
    """

    name: str
    spouts: Mapping[str, int]
    bolts: tuple[GraphBolt, ...]
    workers: int = 2
    cores: int = 2
    pending: int | None = None
    buffer: int = 1024
    band_seconds: float = 0.005
    report_seconds: float = 0.1
    shape: TopologyShape = field(default_factory=lambda: TopologyShape((), ()))
    tracked: bool = True
    classes: tuple[float, ...] = ()

    def table(self, active: Mapping[str, int] | None = None) -> ActivationTable:
        """Version 1, as a topology starts with it; with `active` replicas of each bolt where that says how many."""
        active, workers = active or {}, [f"w{number}" for number in range(self.workers)]
        needs = {name: Need(tasks, tasks) for name, tasks in self.spouts.items()}
        needs |= {bolt.id: Need(bolt.pool, active.get(bolt.id, bolt.par), bolt.keyed, bolt.pinned) for bolt in self.bolts}
        return first_table(place(needs, workers), dict.fromkeys(workers, 1))

    def visits(self) -> dict[str, float]:
        """Tuples of each component for one event of the input, spouts with equal parts of it."""
        found = {name: 1.0 / len(self.spouts) for name in self.spouts}
        for bolt in self.bolts:
            found[bolt.id] = sum(
                found[edge.source] * edge.selectivity * (bolt.pool if edge.grouping.kind is Kind.ALL else 1) for edge in bolt.inputs
            )
        return found

    def capacity(self) -> float:
        """Events a second that the whole pools carry, and the cores: the highest input without queues that grow."""
        visits, cpu = self.visits(), 0.0
        most = float("inf")
        for bolt in self.bolts:
            work = visits[bolt.id] * bolt.et_seconds
            if bolt.execution == "inline":
                cpu += work
            elif work:
                most = min(most, bolt.pool * bolt.concurrency / work)
        return min(most, min(self.workers, self.cores) / cpu) if cpu else most


def with_pools(graph: Graph, pools: Mapping[str, int]) -> Graph:
    """The same with other pools.

    Raises:
        InvalidError: there is no such bolt, or a pool of less than one.
    """
    known = {bolt.id for bolt in graph.bolts}
    for name, pool in pools.items():
        if name not in known:
            raise InvalidError(f"pool of {name!r}: topology {graph.name!r} has no such bolt; its bolts are {', '.join(sorted(known))}")
        if pool < 1:
            raise InvalidError(f"pool of {name!r}: expected at least 1, got {pool}")
    bolts = []
    for bolt in graph.bolts:
        pool = pools.get(bolt.id, bolt.pool)
        bolts.append(replace(bolt, pool=pool, par=min(bolt.par, pool)))
    shapes = tuple(replace(each, pool=pools.get(each.id, each.pool)) for each in graph.shape.bolts)
    return replace(graph, bolts=tuple(bolts), shape=TopologyShape(graph.shape.spouts, shapes))


def with_classes(graph: Graph, shares: Sequence[float], et_seconds: Mapping[str, Sequence[float]]) -> Graph:
    """The same with events of several classes, of which each comes with its share and takes some bolts, by name, its own time.

    All tuples that come of an event are of its class, which is also the value of each of their fields.

    Raises:
        InvalidError: shares that are none, no such bolt, or not one time for each class.
    """
    if not shares or min(shares) < 0 or not sum(shares) > 0:
        raise InvalidError(f"classes of topology {graph.name!r}: expected shares of at least 0 that are not all 0, got {list(shares)!r}")
    known = {bolt.id for bolt in graph.bolts}
    for name, times in et_seconds.items():
        if name not in known:
            raise InvalidError(f"classes of {name!r}: topology {graph.name!r} has no such bolt; its bolts are {', '.join(sorted(known))}")
        if len(times) != len(shares) or min(times) < 0:
            raise InvalidError(f"classes of {name!r}: expected a time of at least 0 for each of {len(shares)} classes, got {list(times)!r}")
    total = sum(shares)
    bolts = [
        replace(
            bolt,
            et_seconds=sum(share * seconds for share, seconds in zip(shares, et_seconds[bolt.id], strict=True)) / total,
            et_by_class=tuple(et_seconds[bolt.id]),
        )
        if bolt.id in et_seconds
        else bolt
        for bolt in graph.bolts
    ]
    return replace(graph, bolts=tuple(bolts), classes=tuple(share / total for share in shares))


# ---- from a topology and its benchmark


def graph_of(blueprint: Blueprint, times: EtFile | None, given: Mapping[str, float], where: str, workers: int, cores: int) -> Graph:
    """A topology as it is written, with what the benchmark found; `given` are et_i in seconds that hold before the file's.

    Raises:
        InvalidError: for some bolt nobody says what an event costs; names each, and the ways to tell.
    """
    bolts = [plan for plan in blueprint.components.values() if not plan.is_spout]
    strange = sorted(given.keys() - {plan.id for plan in bolts})
    if strange:
        raise InvalidError(
            f"--et {strange[0]}: topology {blueprint.name!r} has no such bolt; its bolts are {', '.join(p.id for p in bolts)}"
        )
    operators = {} if times is None else dict(times.operators)
    unknown = [plan.id for plan in bolts if plan.id not in given and plan.id not in operators]
    if unknown:
        names, first = ", ".join(map(repr, unknown)), unknown[0]
        raise InvalidError(
            f"nothing says what one event takes in {names} ({where} {'has no entry for it' if times is not None else 'is not there'}); "
            f"measure it with `pasps et`, say it with --et {first}=0.02 (seconds), or take it from a run with --from-run RUN"
        )
    settings = RuntimeSettings.from_config(merged(blueprint.config))
    return Graph(
        blueprint.name,
        {plan.id: plan.pool for plan in blueprint.components.values() if plan.is_spout},
        tuple(_bolt(plan, operators, given, blueprint) for plan in bolts),
        workers,
        cores,
        settings.max_spout_pending,
        settings.receive_buffer_size,
        settings.locality_band_seconds,
        settings.load_report_seconds,
        shape_of(blueprint),
        settings.ackers_enabled,
    )


def _bolt(plan: ComponentPlan, operators: Mapping[str, OperatorTimes], given: Mapping[str, float], blueprint: Blueprint) -> GraphBolt:
    known = operators.get(plan.id)
    et = given.get(plan.id)
    return GraphBolt(
        plan.id,
        tuple(
            GraphEdge(edge.source, edge.stream, _selectivity(operators.get(edge.source), edge.stream), edge.grouping)
            for edge in plan.inputs
        ),
        et if et is not None else known.et_seconds if known is not None else 0.0,
        plan.pool,
        plan.par,
        plan.execution,
        plan.concurrency,
        (known.varies or 0.0) if known is not None else 0.0,
        RuntimeSettings.from_config(merged(blueprint.config, plan.config)).shared_queues,
    )


def _selectivity(source: OperatorTimes | None, stream: str) -> float:
    """Of a spout, and of what was not measured, one tuple an event."""
    if source is None or not source.selectivity:
        return 1.0
    return source.selectivity.get(stream, 0.0)


# ---- from what a run wrote down


def graph_of_run(
    name: str, samples: Iterable[Sample], records: Iterable[Record], workers: int, config: Mapping[str, object], where: str
) -> Graph:
    """A topology as its run's records know it: the last estimates of each bolt, and the grouping's kind as far as it matters.

    Raises:
        InvalidError: no decision was written down with a situation, or no event ever came through some bolt.
    """
    last: Situation | None = None
    for record in records:
        last = record.situation or last
    if last is None:
        raise InvalidError(
            f"{where}: no decision in it says what the topology was like; it must have run under a policy, for an interval at least"
        )
    executed: dict[str, tuple[int, float]] = {}
    par: dict[str, int] = {}
    acked = False
    for sample in samples:
        acked = acked or sample.acked > 0
        for bolt, counts in sample.bolts.items():
            par.setdefault(bolt, counts.active)
            executed[bolt] = (counts.executed, counts.seconds)
    for shape in last.shape.bolts:
        count, seconds = executed.get(shape.id, (0, 0.0))
        if not count or not seconds:
            raise InvalidError(
                f"{where}: bolt {shape.id!r} executed nothing, so nobody knows what an event takes there; let the run go on for longer"
            )
    settings = RuntimeSettings.from_config(merged({key: value for key, value in config.items() if key.startswith(("topology.", "pasps."))}))
    return Graph(
        name,
        dict.fromkeys(last.shape.spouts, 1),
        tuple(_of_records(shape, last, executed, par, settings.shared_queues) for shape in last.shape.bolts),
        workers or last.interval.workers,
        last.interval.cores,
        settings.max_spout_pending,
        settings.receive_buffer_size,
        settings.locality_band_seconds,
        settings.load_report_seconds,
        last.shape,
        settings.ackers_enabled and acked,
    )


def _of_records(
    shape: BoltShape, last: Situation, executed: Mapping[str, tuple[int, float]], par: Mapping[str, int], shared: bool
) -> GraphBolt:
    count, seconds = executed[shape.id]
    selectivity = last.estimates.selectivity.get(shape.id, {})
    grouping = GroupingSpec(Kind.FIELDS) if shape.keyed else Grouping.LOAD_AWARE
    execution: Execution = "inline" if not shape.waits else "async" if shape.concurrency > 1 else "thread"
    return GraphBolt(
        shape.id,
        tuple(GraphEdge(source, "default", selectivity.get(source, 1.0), grouping) for source in shape.sources),
        seconds / count,
        shape.pool,
        min(shape.pool, par.get(shape.id, 1)),
        execution,
        shape.concurrency,
        0.0,
        shared,
    )
