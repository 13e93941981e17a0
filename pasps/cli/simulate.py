"""`pasps simulate`: a topology in virtual time under the real policies, on a trace; minutes of a run take less than a second."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from pasps.api.blueprint import Blueprint
from pasps.api.topology import blueprint_of
from pasps.cli import exit_codes
from pasps.cli.asking.which_run import find_past_here, no_run
from pasps.cli.jobs.job_progress import ProgressLine
from pasps.cli.options import ARTIFACTS, add_json, at_least_one, describe, given_options, kept_options
from pasps.cli.topology_file import add_file, load_here
from pasps.cli.trace_rows import add_trace, rows_of
from pasps.cli.words import table
from pasps.clock import SystemClock
from pasps.cluster.package.make import PackageRequest
from pasps.config import OPTIONS_PREFIX, check, parse_option
from pasps.control import decision_log, run_log
from pasps.control.et_file import EtFile, et_path, execution_times_for, parse
from pasps.control.plan import Reconfigure
from pasps.control.policies import Policy, policy_named
from pasps.control.policies.options import cautions
from pasps.control.policies.q_table import read as read_table
from pasps.control.policies.q_table import written as written_table
from pasps.control.settings import ElasticSettings, RestartSettings
from pasps.control.situation import PolicySettings
from pasps.cores import usable_cores
from pasps.errors import InvalidError
from pasps.report.run_files import RunFiles
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.forecasters import check_model
from pasps.simulation.graph import Graph, graph_of
from pasps.simulation.recorded import times_of_run
from pasps.simulation.run import Order, Simulated
from pasps.simulation.run import simulate as simulated
from pasps.simulation.training import PASSES, train
from pasps.topology.elastic import DEFAULT_POLICY
from pasps.topology.run_directory import About, RunDirectory
from pasps.topology.run_record import RunState
from pasps.topology.workforce import worker_count

_ABOUT = """\
Runs a topology's graph in virtual time: spouts that follow a trace, bolts that take as long as their benchmark says, workers,
cores, queues and credit; and over it the real control loop, with the real policies and forecasts. No code of the topology
runs, but for groupings that it has by Grouping.of(...).
What is modelled, and how near it comes to a live run, is in docs/simulation.md.
What an event takes in each bolt is read from FILE.et.json (`pasps et`), or said with --et."""

_EXAMPLES = (
    "pasps simulate tweets.py --trace traffic.csv",
    "pasps simulate tweets.py --trace traffic.csv --compare pasps@0.8,pasps@1,pa-sps:lr,static:8 --peak 300",
    "pasps simulate tweets.py --trace traffic.csv --policy pasps --predictor clairvoyant -o pasps.target.utilisation=1.1 --json",
    "pasps simulate tweets.py --trace traffic.csv --compare pa-sps,pa-sps+restart -o pasps.restart.silence.secs=9",
    "pasps simulate tweets.py --trace traffic.csv --et parse=0.002 --et store=0.02 --run-dir /tmp/simulated",
    "pasps simulate tweets.py --trace traffic.csv --train tweets.table.json && pasps simulate tweets.py --trace traffic.csv "
    "--compare pasps,rlearning:tweets.table.json",
)

_CODES = """\
exit codes:
  0    simulated
  2    nothing was simulated: a wrong option, file, trace, policy or predictor, or nothing says what an event takes in a bolt
  130  Ctrl-C"""

_PREDICTOR = "basic, none, clairvoyant (knows the trace), a model of the service, or a trained one (bigru@NAME); default: pasps.predictor"
_COMPARE = (
    "several policies beside each other: a name, with a predictor (pa-sps:lr) or replicas (static:8), with a target (pasps@0.9), "
    "carried out by a restart (pa-sps:lr+restart)"
)
_TRAIN = "learn what policy rlearning is to do on this trace, write it there, and show what comes of it"
_LEARNS, _TABLE = "rlearning", "table"
_MOST_EVENTS = 1e15
"""More than any machine sees."""


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    describe(parser, _ABOUT, _EXAMPLES, _CODES)
    add_file(parser)
    add_trace(parser)
    add = parser.add_argument
    add("--random", action="store_true", help="events come at random within a row, instead of evenly")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--policy", metavar="NAME", help="who decides; default: pasps.policy, else pasps")
    which.add_argument("--compare", metavar="A,B,...", help=_COMPARE)
    which.add_argument("--train", metavar="TABLE", help=_TRAIN)
    add("--overwrite", action="store_true", help="replace a table that is there already, with --train")
    add("--passes", metavar="N", type=at_least_one, help=f"how often --train goes through the trace (default: {PASSES})")
    add("--predictor", metavar="MODEL", help=_PREDICTOR)
    add("-o", "--option", metavar="KEY=VALUE", action="append", default=[], help="a configuration key; may be given several times")
    add("--from-run", metavar="RUN", help="what events take and become in a run of it, a directory or a name, in place of FILE.et.json")
    add("--et", metavar="BOLT=S", action="append", default=[], help="seconds of one event in a bolt; may be given several times")
    add_machine(parser)
    add_json(parser)


def add_machine(parser: argparse.ArgumentParser) -> None:
    """What it is simulated on, and where its course is kept."""
    add = parser.add_argument
    add("--workers", metavar="N", type=at_least_one, help="worker processes; default: topology.workers, else one for each core")
    add("--cores", metavar="N", type=at_least_one, help="cores that they share; default: those of this machine")
    add("--seed", metavar="N", type=int, default=1, help="what is random is the same for the same number (default: 1)")
    add("--run-dir", metavar="DIR", help="write samples and decisions there, for `pasps report` and `pasps explain`; one policy only")


@dataclass(frozen=True, slots=True)
class Contender:
    """One row of a comparison."""

    name: str
    order: Order


@dataclass(frozen=True, slots=True)
class Asked:
    """A simulation, as it was asked for."""

    graph: Graph
    arrivals: Arrivals
    contenders: list[Contender]
    notes: tuple[str, ...] = field(default=())


def simulate(options: argparse.Namespace) -> int:
    """Do what the options say; returns the exit code.

    Raises:
        InvalidError: something that was asked for is not there, or wrong.
    """
    if options.passes is not None and options.train is None:
        raise InvalidError("--passes says how often --train goes through the trace; nothing is to be learned here")
    if options.train is not None:
        _check_free(Path(options.train), overwrite=options.overwrite)
    elif options.overwrite:
        raise InvalidError("--overwrite is for the table of --train; nothing is to be learned here")
    asked = _asked(options)
    for note in asked.notes:
        print(f"pasps simulate: to the control loop as in a run, not to the model: {note}", file=sys.stderr)
    tell_cautions("simulate", asked.contenders)
    if options.train is not None:
        asked = _trained(asked, Path(options.train), options.passes or PASSES)
    if options.run_dir is not None:
        config = dict(parse_option(text) for text in options.option)
        found = [written(asked, options.run_dir, os.path.abspath(options.file), config)]
    else:
        found = simulated_all(asked)
    if options.json:
        head = {"topology": asked.graph.name, "events": asked.arrivals.events, "seconds": asked.arrivals.seconds}
        print(json.dumps({**head, "runs": [as_json(one, result) for one, result in zip(asked.contenders, found, strict=True)]}))
    else:
        print(text_of(asked, found))
    return exit_codes.OK


def _asked(options: argparse.Namespace) -> Asked:
    request = PackageRequest(
        file=Path(options.file),
        topology=options.topology,
        options=given_options(options.option),
    )
    blueprint = blueprint_of(load_here(request), None, dict(request.options))
    given = ets_of(options.et)
    if options.from_run is None:
        where = et_path(options.file)
        times = _times(where)
    else:
        where, times = _times_of_run(options.from_run, blueprint)
    graph = graph_of(blueprint, times, given, str(where), options.workers or worker_count(blueprint), options.cores or usable_cores())
    known = execution_times_for(blueprint, times, str(where)) if times is not None else None
    notes = tuple(text for text in (known.warnings if known is not None else ()) if not any(f"{name!r}" in text for name in given))
    benchmark = {**(known.seconds if known is not None else {}), **given}
    arrivals = _arrivals(options)
    if options.train is not None:
        # the table that a configuration names may be the one that is to be learned
        config = {key: value for key, value in blueprint.config.items() if key != OPTIONS_PREFIX + _TABLE}
        return Asked(graph, arrivals, contenders_of(options, config, benchmark, _LEARNS), notes)
    contenders = contenders_of(options, blueprint.config, benchmark)
    for one in contenders:
        policy_named(one.order.policy).configured(one.order.settings, one.order.options, graph.shape)
    return Asked(graph, arrivals, contenders, notes)


def tell_cautions(command: str, contenders: Sequence[Contender]) -> None:
    """What a run's log would say of how they are configured, each once, on standard error."""
    texts: dict[str, None] = {}
    for one in contenders:
        order, policy = one.order, policy_named(one.order.policy)
        options = policy.configured(order.settings, order.options)
        texts |= dict.fromkeys(cautions(policy.name, options, order.settings, order.options))
    for text in texts:
        print(f"pasps {command}: {text}", file=sys.stderr)


def _check_free(file: Path, *, overwrite: bool) -> None:
    """Whether a table may be written there: what takes minutes must not fail at its end, nor cost anybody a file.

    Raises:
        InvalidError: there is no such directory, something is there, or what is to be replaced is no table.
    """
    if not file.parent.is_dir() or file.is_dir():
        raise InvalidError(f"--train {file}: expected a file to write, in a directory that is there")
    if not file.exists():
        return
    if not overwrite:
        raise InvalidError(f"--train {file}: it is there already; give another name, or --overwrite to replace it")
    try:
        read_table(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, InvalidError) as error:
        raise InvalidError(f"--train {file}: what is there is no table of rlearning, and is not replaced; give another name") from error


def _trained(asked: Asked, file: Path, passes: int) -> Asked:
    """The same with the policy that has learned from it, after that was written down."""
    (one,) = asked.contenders
    line = _Progress(1)
    line.begin(one.name, "training")
    text = written_table(train(asked.graph, asked.arrivals, one.order, passes, lambda number, share: line.share((number + share) / passes)))
    line.end()
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidError(f"--train {file}: what was learned cannot be written there: {error}") from error
    print(f"pasps simulate: learned in {passes} passes, written to {file}", file=sys.stderr)
    return replace(asked, contenders=[replace(one, order=replace(one.order, options={**one.order.options, _TABLE: text}))])


def _times(path: Path) -> EtFile | None:
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidError(f"{path}: expected a file of execution times, which cannot be read: {error}") from error


def _times_of_run(wanted: str, blueprint: Blueprint) -> tuple[Path, EtFile]:
    past = find_past_here(wanted)
    if past is None:
        raise no_run()
    if not past.is_named:
        raise InvalidError(f"--from-run {wanted}: neither a run directory nor a topology that ran here; `pasps runs` lists them")
    with past.files() as directory:
        files = RunFiles(directory)
        return directory, times_of_run(files.samples, files.records, blueprint)


def ets_of(texts: Sequence[str]) -> dict[str, float]:
    """`bolt=0.02` as pairs.

    Raises:
        InvalidError: what it is not.
    """
    found = {}
    for text in texts:
        bolt, equals, number = text.partition("=")
        try:
            found[bolt] = float(number)
        except ValueError:
            found[bolt] = 0.0
        if not equals or not bolt or not 0 < found[bolt] < float("inf"):
            raise InvalidError(f"--et {text}: expected BOLT=SECONDS with seconds above 0, as --et parse=0.002")
    return found


def _arrivals(options: argparse.Namespace) -> Arrivals:
    rows = rows_of(options)
    values = rows.counts
    if not sum(values) <= _MOST_EVENTS:
        raise InvalidError(
            f"{sum(values):g} events in all are too many to be simulated, at most {_MOST_EVENTS:g} are; give a smaller --peak"
        )
    arrivals = Arrivals.of(values, rows.step_seconds, options.seed if options.random else None)
    if not arrivals.events:
        raise InvalidError(f"less than one event in all ({sum(values):g}) is nothing to simulate; give a higher --peak")
    return arrivals


def contenders_of(
    options: argparse.Namespace, config: Mapping[str, Any], benchmark: Mapping[str, float], policy: str | None = None
) -> list[Contender]:
    """Who is to be simulated: that policy, if one is named here.

    Raises:
        ConfigError: no such policy, or it does not take the options.
        InvalidError: what follows its name is nothing.
    """
    settings = ElasticSettings.from_config(config)
    predictor = options.predictor or settings.predictor
    names = [word.strip() for word in options.compare.split(",") if word.strip()] if options.compare else []
    if options.compare is not None and not names:
        raise InvalidError(f"--compare {options.compare!r}: expected names of policies, as pasps,pa-sps:lr,static:8")
    base = Order(
        "", predictor,
        benchmark=benchmark, options=settings.options, restart=RestartSettings.from_config(config), seed=options.seed,
        artifacts=settings.artifacts,
    )  # fmt: skip
    return [_contender(name, base, config) for name in names or [policy or options.policy or settings.policy or DEFAULT_POLICY]]


def _contender(text: str, base: Order, config: Mapping[str, Any]) -> Contender:
    """NAME, NAME:MODEL, static:N, rlearning:TABLE, each with @TARGET behind it if need be, and behind that how plans are carried out."""
    plain, how = _with_way(text)
    words, at, target = _with_target(plain)
    name, colon, more = words.partition(":")
    policy = policy_named(name)
    settings = ElasticSettings.from_config({**config, "pasps.policy": name})  # the interval may be the policy's own
    plan = settings.plan if how is None else replace(settings.plan, reconfigure=how)
    base = replace(base, settings=plan, forecast_seconds=settings.forecast_seconds)
    policy.configured(base.settings, base.options)  # before anything is simulated
    if at:
        if "target" not in policy.keys:
            raise InvalidError(f"--compare {text}: policy {name!r} has no target; leave {at + target!r} out")
        given = check({"pasps.target.utilisation": _number(target)}, f"--compare {text}")
        target_utilisation = float(given["pasps.target.utilisation"])
        base = _instead(base, "target", replace(base.settings, target_utilisation=target_utilisation))
        policy.configured(base.settings, base.options)  # it may leave no room for a target
    if not colon:
        return _checked(text, replace(base, policy=name), policy)
    if policy.forecasts:
        return _checked(text, replace(base, policy=name, predictor=more), policy)
    if name == _LEARNS and more:
        return Contender(text, replace(base, policy=name, options={**base.options, _TABLE: more}))
    if name == "static" and more.isdecimal() and int(more):
        return Contender(text, replace(_instead(base, "replicas", replace(base.settings, static_replicas=int(more))), policy=name))
    what = "static:N is static with N replicas of each bolt" if name == "static" else f"policy {name!r} asks nobody for forecasts"
    raise InvalidError(f"--compare {text}: {what}")


def _with_way(text: str) -> tuple[str, Reconfigure | None]:
    """What stands before how plans are carried out, and that: a '+' in the name of a model or a table is a part of it."""
    words, plus, how = text.rpartition("+")
    ways: tuple[Reconfigure, ...] = get_args(Reconfigure)
    chosen = next((way for way in ways if plus and way == how), None)
    if plus and chosen is None and ":" not in words:
        raise InvalidError(f"--compare {text}: expected {' or '.join(ways)} behind the '+', got {how!r}")
    return (text, None) if chosen is None else (words, chosen)


def _with_target(text: str) -> tuple[str, str, str]:
    """What stands before a target, and the target: `bigru@mine` has none, since the name of what was trained is no number."""
    words, at, target = text.rpartition("@")
    if not at or (":" in words and target[:1].isalpha()):
        return text, "", ""
    return words, at, target


def _instead(base: Order, option: str, settings: PolicySettings) -> Order:
    """What a name says by itself lies over what holds for all of them, which may be said by the option's own key."""
    return replace(base, settings=settings, options={name: given for name, given in base.options.items() if name != option})


def _checked(text: str, order: Order, policy: Policy) -> Contender:
    """Its model is looked for before those named before it are simulated."""
    if policy.forecasts:
        check_model(order.predictor, order.artifacts)
    return Contender(text, order)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def simulated_all(asked: Asked) -> list[Simulated]:
    """One after the other, with a line of progress."""
    line, found = _Progress(len(asked.contenders)), []
    for one in asked.contenders:
        line.begin(one.name)
        found.append(simulated(asked.graph, asked.arrivals, one.order, progress=line.share))
    line.end()
    return found


class _Progress:
    """On standard error, when it is a terminal or takes long."""

    def __init__(self, runs: int) -> None:
        self._line = ProgressLine(sys.stderr, SystemClock(), quiet=not sys.stderr.isatty())
        self._runs, self._number, self._told = runs, 0, -1

    def begin(self, name: str, doing: str = "simulating") -> None:
        """The next one."""
        self._number += 1
        self._line.begin(f"{doing} {name}" + (f" ({self._number} of {self._runs})" if self._runs > 1 else ""))

    def share(self, share: float) -> None:
        """So much of it is over."""
        percent = int(100 * share)
        if percent != self._told and sys.stderr.isatty():
            self._told = percent
            self._line.note(f"{percent} %")

    def end(self) -> None:
        """All are over."""
        self._line.end()


def written(asked: Asked, chosen: str, file: str, config: Mapping[str, Any]) -> Simulated:
    """Simulate the only contender into a run directory of its own, which `report`, `explain` and `whatif` take as any run.

    Raises:
        InvalidError: there are several, or the directory cannot be taken.
    """
    if len(asked.contenders) > 1:
        raise InvalidError("--run-dir holds one run; give one policy with --policy instead of --compare")
    (one,) = asked.contenders
    clock = SystemClock()
    kept = kept_options(config, {ARTIFACTS: one.order.artifacts})
    about = About(asked.graph.name, file, asked.graph.workers, kept, one.order.policy)
    # not among the runs: what never ran must not be taken for the newest of them
    with RunDirectory.create(about, clock, chosen, listed=False) as directory:
        directory.enter(RunState.RUNNING)
        samples, records = directory.lines("metrics.jsonl"), directory.lines("decisions.jsonl")
        line = _Progress(1)
        line.begin(one.name)
        result = simulated(
            asked.graph,
            asked.arrivals,
            replace(one.order, epoch=clock.wall()),
            lambda sample: samples.write(run_log.written(sample)),
            lambda record: records.write(decision_log.written(record)),
            line.share,
        )
        line.end()
        directory.finish({"ended": "simulated", **as_json(one, result)})
    return result


HEAD = ("policy", "predictor", "saved", "mean ms", "p50", "p95", "p99", "processed", "changes", "decisions", "most waiting")


def more_of(found: Sequence[Simulated]) -> tuple[str, ...]:
    """Columns that the table needs besides: of what is nothing in most simulations."""
    return tuple(name for name in ("restarts", "replayed", "lost") if any(getattr(result, name) for result in found))


def row_of(name: str, result: Simulated, more: Sequence[str] = ()) -> list[str]:
    """A line of the table."""
    latency = result.latency
    times = [f"{1000 * seconds:,.0f}" if latency.count else "-" for seconds in (latency.mean, latency.p50, latency.p95, latency.p99)]
    done = f"{result.done / result.events:.1%}" if result.events else "-"
    counts = [f"{result.changes:,}", f"{result.decisions:,}", f"{result.most_waiting:,}", *(f"{getattr(result, one):,}" for one in more)]
    return [name, result.predictor, f"{result.saved:.1%}", *times, done, *counts]


def text_of(asked: Asked, found: Sequence[Simulated]) -> str:
    """The table, and what it is of."""
    arrivals, graph = asked.arrivals, asked.graph
    head = f"{graph.name}: {arrivals.events:,} events in {arrivals.seconds:,.0f} s, at most {arrivals.peak_rate:,.0f}/s"
    carried = f"the whole pools carry {graph.capacity():,.0f}/s; {graph.workers} workers, {graph.cores} cores"
    more = more_of(found)
    rows = [row_of(one.name, result, more) for one, result in zip(asked.contenders, found, strict=True)]
    fine = "each event for itself" if found[0].exact else "several events as one parcel, since there are many"
    return "\n".join([head, carried, "", *table((*HEAD, *more), rows, (0, 1)), "", *_too_short(asked), f"simulated, not measured: {fine}"])


def _too_short(asked: Asked) -> list[str]:
    """Who decides for the first time when the trace is over: its line says nothing about it."""
    late: dict[float, list[str]] = {}
    for one in asked.contenders:
        first = policy_named(one.order.policy).warm_up_seconds
        first = one.order.settings.interval_seconds if first is None else first
        if first >= asked.arrivals.seconds:
            late.setdefault(first, []).append(one.name)
    cure = "take a longer trace, or -o pasps.interval.secs=S"
    return [f"{', '.join(names)}: first decision after {first:,.0f} s, when the trace is over; {cure}" for first, names in late.items()]


def as_json(one: Contender, result: Simulated) -> dict[str, Any]:
    """One run as JSON has it; what cannot be known is null."""
    latency = result.latency
    times = {name: getattr(latency, name) if latency.count else None for name in ("mean", "p50", "p95", "p99")}
    return {
        "name": one.name,
        "policy": result.policy,
        "predictor": result.predictor,
        "saved": result.saved,
        "latency_seconds": times,
        "events": result.events,
        "processed": result.done,
        "changes": result.changes,
        "decisions": result.decisions,
        "most_waiting": result.most_waiting,
        "restarts": result.restarts,
        "replayed": result.replayed,
        "lost": result.lost,
        "seconds": result.seconds,
        "exact": result.exact,
    }
