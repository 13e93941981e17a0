"""`pasps whatif`: what another policy, forecast, target or pool would have done with what a run was given. Simulated, from its files."""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pasps.cli import exit_codes
from pasps.cli.cluster_topology import ClusterTopology
from pasps.cli.explain import find
from pasps.cli.find_past import find_past
from pasps.cli.options import ARTIFACTS, add_json, add_master, describe, given_options, seconds_above_zero
from pasps.cli.run_files import fetch_run_files
from pasps.cli.simulate import HEAD, Contender, add_machine, as_json, contenders_of, more_of, row_of, simulated_all, tell_cautions, written
from pasps.cli.simulate import Asked as Simulation
from pasps.cli.words import table
from pasps.config import OWN_PREFIXES, check
from pasps.control.forecaster import BASIC, NONE
from pasps.control.policies import Policy, policy_named
from pasps.control.policies.options import GENERAL
from pasps.control.settings import ElasticSettings, RestartSettings, usual_interval
from pasps.control.situation import PolicySettings, Situation
from pasps.errors import ConfigError, InvalidError
from pasps.report.measures import Measures, measures_of
from pasps.report.run_facts import interval_of
from pasps.report.run_files import RunFiles
from pasps.simulation.forecasters import check_model
from pasps.simulation.graph import graph_of_run, with_pools
from pasps.simulation.recorded import Difference, differences, input_of, mean_active, replicas_of
from pasps.simulation.run import Order, Simulated
from pasps.topology.run_list import KnownRun, base_directory

_ABOUT = """\
Takes what a run was given (its input by the second, what its bolts took, their pools) and shows what another policy, forecast,
target or pool would have done with it, in virtual time. The run as it was is simulated too: what differs from that is due to the
change, what differs between that and the record is the simulator's error (docs/simulation.md).
TOPOLOGY is the newest run of that name; without it the newest run of all."""

_EXAMPLES = (
    "pasps whatif --target 0.9",
    "pasps whatif tweets --policy pa-sps --predictor clairvoyant",
    "pasps whatif runs/first --compare pasps,presps,static:8 --json",
    "pasps whatif runs/first --pool store=16 -o pasps.drain.secs=2",
    "pasps whatif runs/first --target 0.9 --run-dir /tmp/instead && pasps report /tmp/instead",
)

_CODES = """\
exit codes:
  0    simulated
  2    nothing was simulated: no such run, too little in it, or a wrong option
  130  Ctrl-C"""

_MOST_DIFFERENCES = 12
_INTERVAL = "pasps.interval.secs"
_SETTINGS = {**dict(GENERAL.values()), "correction_seconds": "pasps.correction.secs", "reconfigure": "pasps.reconfigure"}
"""Fields of `PolicySettings`, and the keys that set them. The interval is the policy's own affair, too: see `_merged`."""
AS_IT_WAS = "as it was"
RECORDED = "recorded"


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    describe(parser, _ABOUT, _EXAMPLES, _CODES)
    add = parser.add_argument
    add("run", metavar="RUN_DIR|TOPOLOGY", nargs="?", help="which run; default: the newest")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--policy", metavar="NAME", help="who decides; default: as it was")
    which.add_argument("--compare", metavar="A,B,...", help="several policies, as pasps@0.8,pa-sps:lr,static:8")
    add("--predictor", metavar="MODEL", help="basic, none, clairvoyant, or a model of the service; default: as it was")
    add("--target", metavar="U", type=seconds_above_zero, help="the target utilisation; the same as -o pasps.target.utilisation=U")
    add("--pool", metavar="BOLT=N", action="append", default=[], help="another pool of a bolt; may be given several times")
    add("-o", "--option", metavar="KEY=VALUE", action="append", default=[], help="another configuration key; several times")
    add_machine(parser)
    add_master(parser)
    add_json(parser)


@dataclass(frozen=True, slots=True)
class _Past:
    """What is known of the run. `course` and all of `seconds` count from its first sample; `config` has our keys that it was given."""

    name: str
    where: str
    file: str
    measures: Measures
    last: Situation
    policy: str
    predictor: str
    course: Sequence[tuple[float, Mapping[str, int]]]
    simulation: Simulation
    config: Mapping[str, Any]


def whatif(options: argparse.Namespace) -> int:
    """Do what the options say; returns the exit code.

    Raises:
        InvalidError: no such run, too little in it, or something that was asked for is wrong.
    """
    match find_past(options.run, options.master):
        case (ClusterTopology() as topology, _):
            with tempfile.TemporaryDirectory(prefix="pasps-whatif-") as scratch:
                fetch_run_files(topology, Path(scratch))
                return _whatif(options, Path(scratch), topology.place)
        case (KnownRun() as run, _):
            return _whatif(options, run.directory, str(run.directory))
    run, strange = find(options.run, None, base_directory())
    if strange is not None:
        raise InvalidError(f"{strange!r} is neither a run directory nor a topology that ran here; `pasps runs` lists them")
    return _whatif(options, run.directory, str(run.directory))


def _whatif(options: argparse.Namespace, directory: Path, where: str) -> int:
    """`where`: how the run is named, whose files are in `directory`."""
    given = check(given_options(options.option), "-o")
    if options.target is not None:
        given = {**given, **check({"pasps.target.utilisation": options.target}, "--target")}
    past = _past(directory, where, given, options)
    changed = with_pools(past.simulation.graph, pools_of(options.pool))
    after = replace(past.simulation, graph=changed, contenders=_changed(options, past, given))
    tell_cautions("whatif", after.contenders)
    (before,) = simulated_all(_with_a_forecaster(past.simulation))
    found = [written(after, options.run_dir, past.file, given)] if options.run_dir is not None else simulated_all(after)
    seconds = past.simulation.arrivals.seconds
    if options.json:
        print(json.dumps(_json(past, before, after.contenders, found, seconds)))
    else:
        print(_text(past, before, after.contenders, found, seconds))
    return exit_codes.OK


def _with_a_forecaster(as_it_was: Simulation) -> Simulation:
    """The same, though its predictor may be gone, as what was trained and moved away: then another one forecasts, and that is told.

    Whoever is to be tried with that predictor has been refused before.
    """
    (one,) = as_it_was.contenders
    try:
        if policy_named(one.order.policy).forecasts:
            check_model(one.order.predictor, one.order.artifacts)
    except InvalidError as error:
        print(f"pasps whatif: {AS_IT_WAS}, but for its forecasts, which are those of {BASIC!r}: {error}", file=sys.stderr)
        return replace(as_it_was, contenders=[replace(one, order=replace(one.order, predictor=BASIC))])
    return as_it_was


def pools_of(texts: Sequence[str]) -> dict[str, int]:
    """`bolt=16` as pairs.

    Raises:
        InvalidError: what it is not.
    """
    found = {}
    for text in texts:
        bolt, _, number = text.partition("=")
        if not bolt or not number.isdecimal() or not int(number):
            raise InvalidError(f"--pool {text}: expected BOLT=N with N at least 1, as --pool store=16")
        found[bolt] = int(number)
    return found


def _past(directory: Path, where: str, given: Mapping[str, Any], options: argparse.Namespace) -> _Past:
    files = RunFiles(directory)
    config = {key: value for key, value in (files.run.get("config") or {}).items() if isinstance(key, str)}
    name = str(files.run.get("name") or directory.name)
    told = files.run.get("workers")
    workers: int = options.workers or (told if isinstance(told, int) else 0)
    last, model = None, None
    for record in files.records:
        if record.situation is not None:
            last = record
            model = record.situation.forecast.model if record.situation.forecast is not None else model
    graph = graph_of_run(name, files.samples, files.records, workers, {**config, **given}, where)
    assert last is not None
    assert last.situation is not None
    graph = replace(graph, cores=options.cores or graph.cores)
    arrivals, begin = input_of(files.samples, where)
    policy = _policy_of(last.policy, where)
    predictor = str(config.get("pasps.predictor") or model or NONE) if policy.forecasts and model else NONE
    own = last.options or {}
    ours = {key: value for key, value in config.items() if key.startswith(OWN_PREFIXES)}
    order = Order(
        policy.name, predictor, last.situation.settings,
        benchmark=_benchmark(last.situation), options=own, restart=RestartSettings.from_config(ours), seed=options.seed,
        artifacts=config.get(ARTIFACTS),
    )  # fmt: skip
    interval = interval_of(files.run, files.records)
    measures = measures_of(files.samples, files.records, interval)
    simulation = Simulation(graph, arrivals, [Contender(AS_IT_WAS, order)])
    return _Past(
        name,
        where,
        str(files.run.get("file") or ""),
        measures,
        last.situation,
        policy.name,
        predictor,
        replicas_of(files.samples, begin),
        simulation,
        ours,
    )


def _policy_of(name: str, where: str) -> Policy:
    """Who decided in the run, which is simulated as it was, too."""
    try:
        return policy_named(name)
    except ConfigError as error:
        raise InvalidError(f"{where}: policy {name!r} decided in this run, which cannot be had here: {error}") from error


def _benchmark(situation: Situation) -> dict[str, float]:
    """What the loop knew of et_i beforehand, as far as it still held in the end."""
    times = situation.estimates.execution.items()
    return {bolt: time.seconds for bolt, time in times if time.source == "file" and time.seconds is not None}


def _changed(options: argparse.Namespace, past: _Past, given: Mapping[str, Any]) -> list[Contender]:
    """Who is to be tried, with what the run had where nothing else is said."""
    restart = RestartSettings.from_config({**past.config, **given})
    (as_it_was,) = past.simulation.contenders
    before, settings = as_it_was.order, _with(past.last.settings, given)
    chosen = {"pasps.policy": past.policy, "pasps.predictor": past.predictor, ARTIFACTS: before.artifacts, **given}
    if options.policy is not None and policy_named(options.policy).forecasts and past.predictor == NONE and options.predictor is None:
        chosen = {**chosen, "pasps.predictor": given.get("pasps.predictor", "basic")}
    return [
        replace(
            one,
            order=replace(
                one.order,
                settings=_merged(settings, past, one.order, given),
                benchmark=before.benchmark,
                options=_options(before, one.order, given),
                restart=restart,
            ),
        )
        for one in contenders_of(options, chosen, before.benchmark)
    ]


def _options(before: Order, one: Order, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those of the run where its policy stays, but for what is given now, under the option's own name or the general one."""
    if one.policy != before.policy:
        return one.options
    said = {name for name, (at, key) in GENERAL.items() if key in given or getattr(one.settings, at) is not None}
    return {**{name: value for name, value in before.options.items() if name not in said}, **one.options}


def _with(settings: PolicySettings, given: Mapping[str, Any]) -> PolicySettings:
    """The run's own settings, and those that are given instead."""
    asked = ElasticSettings.from_config(given).plan
    return replace(settings, **{at: getattr(asked, at) for at, key in _SETTINGS.items() if key in given})


def _merged(settings: PolicySettings, past: _Past, one: Order, given: Mapping[str, Any]) -> PolicySettings:
    """`static:8`, `pasps@0.9` and `pa-sps+restart` say it by themselves. Another policy has its own interval, unless one was set."""
    own = {name: getattr(one.settings, name) for name in ("static_replicas", "target_utilisation", "reconfigure")}
    was_set = settings.interval_seconds != usual_interval(past.policy)
    if _INTERVAL in given or not (one.policy == past.policy or was_set):
        own["interval_seconds"] = one.settings.interval_seconds
    return replace(settings, **{name: value for name, value in own.items() if value is not None})


# ---- what is told


def _recorded_row(past: _Past) -> list[str]:
    measures, latency = past.measures, past.measures.latency
    times = ["-"] * 4 if latency is None else [f"{1000 * each:,.0f}" for each in (latency.mean, latency.p50, latency.p95, latency.p99)]
    share = measures.events.share
    changes = measures.replicas.activations_decided + measures.replicas.deactivations_decided
    saved = "-" if measures.saved_resources is None else f"{measures.saved_resources:.1%}"
    decisions = f"{measures.decisions.cycles + measures.decisions.corrections:,}"
    return [RECORDED, past.predictor, saved, *times, "-" if share is None else f"{share:.1%}", f"{changes:,}", decisions, "-"]


def _text(past: _Past, before: Simulated, after: Sequence[Contender], found: Sequence[Simulated], seconds: float) -> str:
    arrivals = past.simulation.arrivals
    more = more_of((before, *found))
    rows = [[*_recorded_row(past), *("-" for _ in more)], row_of(f"{AS_IT_WAS}: {past.policy}", before, more)]
    rows += [row_of(one.name, result, more) for one, result in zip(after, found, strict=True)]
    head = f"{past.name}, {past.where}: {arrivals.events:,} events in {seconds:,.0f} s, at most {arrivals.peak_rate:,.0f}/s"
    lines = [head, "", *table((*HEAD, *more), rows, (0, 1)), ""]
    for one, result in zip(after, found, strict=True):
        lines += _difference_lines(one.name, before, result, seconds)
    return "\n".join([*lines, "all but the first line is simulated, not measured"])


def _difference_lines(name: str, before: Simulated, after: Simulated, seconds: float) -> list[str]:
    differ = differences(before.replicas, after.replicas, seconds)
    if not differ:
        return [f"{name}: all bolts have the same replicas at all times", ""]
    first, second = mean_active(before.replicas, seconds), mean_active(after.replicas, seconds)
    time = {bolt: sum(each.end - each.begin for each in differ if each.bolt == bolt) for bolt in first}
    bolts = [[bolt, f"{first[bolt]:.2f}", f"{second.get(bolt, math.nan):.2f}", f"{time[bolt] / seconds:.0%}"] for bolt in first]
    shown = [[f"{each.begin:.0f} to {each.end:.0f} s", each.bolt, str(each.first), str(each.second)] for each in _largest(differ)]
    more = f", the {len(shown)} longest or largest of {len(differ)}" if len(differ) > len(shown) else ""
    return [
        *table(("bolt", f"active {AS_IT_WAS}", name, "differs"), bolts),
        "",
        f"where they differ{more}:",
        *table(("when", "bolt", AS_IT_WAS, name), shown, (0, 1)),
        "",
    ]


def _largest(differ: Sequence[Difference]) -> list[Difference]:
    """Those with the most replicas times seconds, in the order of time."""
    ranked = sorted(differ, key=lambda each: abs(each.first - each.second) * (each.end - each.begin), reverse=True)
    return sorted(ranked[:_MOST_DIFFERENCES], key=lambda each: (each.begin, each.bolt))


def _json(past: _Past, before: Simulated, after: Sequence[Contender], found: Sequence[Simulated], seconds: float) -> dict[str, Any]:
    measures, latency = past.measures, past.measures.latency
    (as_it_was,) = past.simulation.contenders
    recorded = {
        "policy": past.policy,
        "predictor": past.predictor,
        "saved": measures.saved_resources,
        "latency_seconds": None if latency is None else {name: getattr(latency, name) for name in ("mean", "p50", "p95", "p99")},
        "changes": measures.replicas.activations_decided + measures.replicas.deactivations_decided,
        "processed_share": measures.events.share,
    }
    runs = [
        {
            **as_json(one, result),
            "mean_active": mean_active(result.replicas, seconds),
            "differences": [
                {"begin": each.begin, "end": each.end, "bolt": each.bolt, "as_it_was": each.first, "would_be": each.second}
                for each in differences(before.replicas, result.replicas, seconds)
            ],
        }
        for one, result in zip(after, found, strict=True)
    ]
    same = {**as_json(as_it_was, before), "mean_active": mean_active(before.replicas, seconds)}
    run = {"topology": past.name, "directory": past.where, "events": past.simulation.arrivals.events, "seconds": seconds}
    return {**run, RECORDED: recorded, "as_it_was": same, "runs": runs}
