"""`python -m benchmarks.papers TABLE|all`: a table or figure of a paper beside ours, with a verdict by rules that were fixed beforehand.

Simulated at full length, but for --live. What was made is kept in --cache, so that another table, or what was interrupted, makes only
what is missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from tempfile import gettempdir

from benchmarks.data_folder import NO_FOLDER, add_data
from benchmarks.elasticity.making import interrupt_on_sigterm, tell_interrupted
from benchmarks.machine import machine
from benchmarks.papers import ahead, bgelasor, dabs, live, pa_sps, presps, thesis
from benchmarks.papers.curves import MissingError
from benchmarks.papers.drawings import draw
from benchmarks.papers.report import Experiment, Report
from benchmarks.papers.runs import Laboratory
from benchmarks.papers.verdict import counted

EXPERIMENTS: dict[str, Experiment] = {
    each.name: each
    for each in (
        *pa_sps.EXPERIMENTS,
        *presps.EXPERIMENTS,
        *thesis.EXPERIMENTS,
        *dabs.EXPERIMENTS,
        *bgelasor.EXPERIMENTS,
        *ahead.EXPERIMENTS,
    )
}
ALL = "all"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make and print; exit code 2 when something that is needed cannot be had, 1 when a live run came to nothing, 130 after Ctrl-C."""
    wanted = _parser().parse_args(arguments)
    if wanted.list:
        width = max(map(len, EXPERIMENTS))
        print("\n".join(f"{name:{width}}  {each.about}" for name, each in EXPERIMENTS.items()))
        return 0
    try:
        chosen = chosen_of(wanted.tables)
        if wanted.data is None:
            raise MissingError(NO_FOLDER)
        if wanted.live:
            return _live(wanted, chosen)
        if wanted.only or wanted.beside != 1:
            raise MissingError("--only and --beside are of live runs: give --live too, or leave them out")
        lab = Laboratory(wanted.data, wanted.cache, wanted.processes, wanted.seeds)
        reports = {name: _said(EXPERIMENTS[name].make(lab), wanted.figure, alone=wanted.ours_alone) for name in chosen}
    except MissingError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"\n{counted(verdict for report in reports.values() for verdict in report.verdicts.values())}")
    if wanted.json:
        content = {"machine": machine(), "verdicts": {name: report.verdicts for name, report in reports.items()}}
        wanted.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0


def _live(wanted: argparse.Namespace, chosen: Sequence[str]) -> int:
    tables = list(live.TABLES) if ALL in wanted.tables else chosen
    interrupt_on_sigterm()
    try:
        return 0 if live.made(tables, wanted.data, wanted.cache / "live", wanted.seconds, wanted.only, wanted.beside) else 1
    except KeyboardInterrupt:
        return tell_interrupted()


def chosen_of(tables: Sequence[str]) -> list[str]:
    """The names of the experiments, in order, each once.

    Raises:
        MissingError: none is called like that, or none was named.
    """
    if not tables:
        raise MissingError("nothing to make: name some tables, or all; --list tells what there is")
    if ALL in tables:
        return list(EXPERIMENTS)
    for name in tables:
        if name not in EXPERIMENTS:
            near = get_close_matches(name, EXPERIMENTS, 1)
            raise MissingError(f"no table {name!r}; " + (f"is it {near[0]!r}?" if near else "--list tells what there is"))
    return list(dict.fromkeys(tables))


def _said(report: Report, figures: Path | None, *, alone: bool) -> Report:
    print(f"\n## {report.title}\n")
    print("\n\n".join(report.parts), flush=True)
    if report.verdicts:
        print(f"\n{counted(report.verdicts.values())}", flush=True)
    for drawing in report.drawings if figures else ():
        print(f"\n{draw(replace(drawing, theirs={}) if alone else drawing, figures)}" if figures else "")
    return report


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.papers", description=__doc__)
    add = parser.add_argument
    add("tables", nargs="*", metavar="TABLE", help="which, or all")
    add("--list", action="store_true", help="say which there are")
    add_data(parser, "folder with rates/ and paper-curves/")
    cache = Path(gettempdir()) / "pasps-papers"
    add("--cache", type=Path, default=cache, metavar="DIR", help=f"where each run is kept as JSON (default: {cache})")
    add("--processes", type=int, default=2, metavar="N", help="so many runs at a time (default: 2)")
    add("--seeds", type=int, default=5, metavar="N", help="repetitions of what is random in a training (default: 5)")
    add("--live", action="store_true", help="run what fits in real time, scaled to two cores: " + ", ".join(live.TABLES))
    add("--seconds", type=int, default=live.SECONDS, metavar="S", help="of each live run (default: %(default)s)")
    add("--only", type=_words, default=[], metavar="A,B", help="some of the live runs: a name, or all that begin so, as pa-sps")
    add("--beside", type=int, default=1, metavar="N", help="so many live runs at a time, of which each must leave cores for the others")
    add("--figure", type=Path, metavar="DIR", help="draw our curves over the published ones, as PNGs there")
    add("--ours-alone", action="store_true", help="with --figure: without the published ones, whose licence allows no new drawing of them")
    add("--json", type=Path, metavar="FILE", help="all verdicts")
    return parser


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


if __name__ == "__main__":
    sys.exit(main())
