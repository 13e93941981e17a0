"""`pasps et`: what one event takes in each bolt, measured before the topology runs, as jobs of Spark."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from difflib import get_close_matches
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pasps.api.blueprint import Blueprint
from pasps.api.topology import blueprint_of
from pasps.cli.jobs.et_report import Progress, Result, SampleFacts, say
from pasps.cli.jobs.spark_options import add_spark_options, conf_of
from pasps.cli.options import add_json, at_least_one, describe, seconds_above_zero
from pasps.cli.topology_file import add_file, add_package, load_here, missing_module, request_of
from pasps.clock import SystemClock
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.control.et_file import OperatorTimes, et_path, parse
from pasps.data.et_benchmark import Plan, benchmark
from pasps.data.et_events import EventFile, event_files, read_events
from pasps.data.et_pass import Pace
from pasps.data.et_sample import Limits, Sample, take_sample
from pasps.data.et_spark import CONF, Code, Here, SparkPasses, ship
from pasps.data.spark import is_local, spark_session
from pasps.errors import InvalidError
from pasps.topology.load_file import FileError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_WHAT = """\
Gives a sample of real events to every bolt of a topology, in topological order, so that each gets what the ones before it made
of them, and measures what one event takes: CPU time of bolts that run inline, wall time of those that wait. The bolts run on
Spark, in the runtime's own worker, one at a time, as at low load. The result is written to FILE.et.json, which `pasps run` and
`pasps submit` pick up, with a picture beside it. Nothing else should run on the machine meanwhile.

The bolts really run, several times over: one that writes to a database writes to it. --skip leaves such a bolt out.
Without --events the topology's own spouts are asked for the sample, on this machine; their events are acked at once, so a source
that remembers what was acked counts them as done."""

_EXAMPLES = (
    "pasps et wordcount.py",
    "pasps et tweets.py --events sample.jsonl --skip store",
    "pasps et shop.py --events orders=orders.csv --events clicks:mobile=clicks.parquet",
    "pasps et tweets.py --events gs://bucket/tweets.jsonl.gz --master spark://10.0.0.5:7077",
)

_CODES = """\
exit codes:
  0    every bolt that was not skipped has an entry in the file
  1    Spark does not start, or something in pasps broke
  2    nothing was measured: a wrong option, file, topology or sample
  5    a bolt has no entry: it failed on all that it was given, or nothing came to it; those that have one are written
  130  Ctrl-C; nothing is written
"""

_EVENTS = "JSON lines, CSV with a header, or Parquet, local or gs://, as PATH, SPOUT=PATH or SPOUT:STREAM=PATH; may be given several times"


def add_et(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps et`."""
    describe(parser, _WHAT, _EXAMPLES, _CODES)
    add_file(parser)
    add = parser.add_argument
    add("--events", metavar="WHERE", action="append", default=[], help=_EVENTS)
    add("--sample", metavar="N", type=at_least_one, default=300, help="at most so many events, and tuples of each bolt (default: 300)")
    add("--seconds", metavar="S", type=seconds_above_zero, default=30.0, help="wait at most so long for spouts (default: 30)")
    add("--repeat", metavar="N", type=at_least_one, default=6, help="measure every tuple in so many processes (default: 6)")
    add("--warm-up", metavar="N", type=_whole, default=50, help="first tuples of each pass that do not count (default: 50)")
    add("--rate", metavar="R", type=seconds_above_zero, default=200.0, help="events a second that a bolt is given (default: 200)")
    add("--limit", metavar="S", type=seconds_above_zero, default=30.0, help="end a pass over a bolt after so long (default: 30)")
    add("--skip", metavar="BOLT", action="append", default=[], help="leave a bolt out; may be given several times")
    add("--out", metavar="FILE", help="where to write (default: FILE.et.json beside the topology's file)")
    add_package(parser)
    add_spark_options(parser)
    add_json(parser)


def et(options: argparse.Namespace) -> int:
    """See the module."""
    request = request_of(options)
    blueprint = loaded(request)
    out = et_path(options.file) if options.out is None else Path(options.out)
    plan = Plan(
        options.sample,
        options.repeat,
        options.warm_up,
        Pace(options.rate, options.limit),
        bolts_to_skip(options.skip, blueprint),
    )
    kept = entries_to_keep(out, plan.skip)
    files = event_files(options.events, blueprint)
    name, conf = f"pasps et {blueprint.name}", {**CONF, **conf_of(options)}
    with tempfile.TemporaryDirectory(prefix="pasps-et-") as scratch, spark_session(name, options.master, conf) as spark:
        code = code_for(request, options.master, spark, Path(scratch), say)
        sample, facts = _sample(spark, blueprint, files, options)
        found = benchmark(blueprint, sample, plan, SparkPasses(spark, code), Progress(options.repeat, options.rate))
        version = spark.version
    ran = next((each for each in found if each.summary), None)
    made_with: dict[str, str | int] = {"events": sample.events, "passes": options.repeat, "rate": f"{options.rate:g}/s", "spark": version}
    if ran is not None:
        made_with |= {"python": ran.python, "cores": ran.cores}
    result = Result(blueprint, found, facts, kept, made_with)
    picture = result.write(out, SystemClock().wall())
    print(json.dumps(result.told(out, picture)) if options.json else result.text(out, picture), flush=True)
    return result.exit_code


def _sample(spark: SparkSession, blueprint: Blueprint, files: list[EventFile], options: argparse.Namespace) -> tuple[Sample, SampleFacts]:
    """From the files, and of the spouts that none is given for from these.

    Raises:
        InvalidError: a file or a spout is no good, or nothing comes of them.
    """
    facts = SampleFacts()
    rows: dict[str, list[list[tuple[str, tuple[Any, ...]]]]] = {}
    for file in files:
        read = read_events(spark, file, blueprint.components[file.spout].streams[file.stream].fields, options.sample)
        rows.setdefault(file.spout, []).append([(file.stream, values) for values in read.values])
        facts = facts.with_file(file, read)
    # the streams of one spout in turn
    given = {spout: [row for row in chain(*zip_longest(*streams)) if row is not None] for spout, streams in rows.items()}
    asked = [name for name, plan in blueprint.components.items() if plan.is_spout and name not in given]
    if asked:
        say(f"asking {', '.join(asked)} for events, for at most {options.seconds:g} s")
    # what a spout prints must not be taken for a result
    with redirect_stdout(sys.stderr):
        sample = take_sample(blueprint, given, Limits(options.sample, options.seconds), SystemClock(), threading.Event().wait)
    facts = facts.of(sample)
    facts.tell()
    if not any(output.deliveries for output in sample.outputs.values()):
        silent = [name for name, count in sample.by_spout.items() if not count]
        why = f" ({', '.join(silent)} gave none)" if silent else ""
        raise InvalidError(f"there is no event for any bolt{why}, so nothing can be measured; give some with --events, or more --seconds")
    return sample, facts


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}")
    return int(text)


# ---- the topology, how its code comes to Spark, and which entries of its file are to stay


def loaded(request: PackageRequest) -> Blueprint:
    """The topology, imported here: its spouts are asked here, and its order must be known.

    Raises:
        InvalidError: it cannot be imported, or cannot run.
    """
    try:
        topology = load_here(request)
    except FileError as error:
        missing = missing_module(error)
        if request.requirements is None or missing is None:
            raise
        cure = f"the topology is needed here too, so install it here as well: pip install -r {request.requirements}"
        raise FileError(f"{request.file}: module {missing!r} is not here; {cure}") from error
    return blueprint_of(topology, None, dict(request.options))


def bolts_to_skip(names: list[str], blueprint: Blueprint) -> frozenset[str]:
    """The bolts that `--skip` names.

    Raises:
        InvalidError: one is none, or none is left.
    """
    bolts = [name for name, plan in blueprint.components.items() if not plan.is_spout]
    for name in names:
        if name not in bolts:
            near = get_close_matches(name, bolts, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its bolts are {', '.join(bolts) or 'none'}"
            raise InvalidError(f"--skip {name}: the topology has no bolt {name!r}; {hint}")
    if set(bolts) <= set(names):
        raise InvalidError(f"topology {blueprint.name!r} has no bolt to measure" + (" but those of --skip" if names else ""))
    return frozenset(names)


def entries_to_keep(out: Path, skipped: frozenset[str]) -> Mapping[str, OperatorTimes]:
    """What the file says already of bolts that are not measured now.

    Raises:
        InvalidError: the file cannot be written, or what is there is no such file.
    """
    if not out.parent.is_dir() or out.is_dir():
        raise InvalidError(f"--out {out}: expected a file in a folder that exists")
    try:
        with tempfile.TemporaryFile(dir=out.parent):
            pass
    except OSError as error:
        raise InvalidError(f"{out} cannot be written: {error.strerror or error}; give another with --out") from error
    if not skipped or not out.is_file():
        return {}
    entries = parse(out.read_text(encoding="utf-8", errors="replace"), str(out)).operators
    return {name: entry for name, entry in entries.items() if name in skipped}


def code_for(request: PackageRequest, master: str, session: SparkSession, scratch: Path, say: Callable[[str], None]) -> Code:
    """How executors find the user's code: in the same places on this machine, in a package that is shipped elsewhere.

    Raises:
        InvalidError: something for the package is not there, or not what it should be.
        BrokenError: it cannot be written.
    """
    if is_local(master) and request.requirements is None:
        return Here(tuple(sys.path))
    package = scratch / "package.zip"
    build_package(request, package, say)
    return ship(session, package, scratch / "parts")
