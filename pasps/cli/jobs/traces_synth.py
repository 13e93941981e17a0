"""`pasps traces synth`: a trace from parameters and a seed. Needs neither Java nor numpy."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pasps.cli import exit_codes
from pasps.cli.jobs.traces import add_overwrite, add_times, from_zero, whole
from pasps.cli.options import at_least_one, describe
from pasps.data.trace_output import check_span, refuse_existing, trace_lines, write_lines
from pasps.spouts.synth import KINDS, Traffic, rates

_ABOUT = """\
Makes a trace of synthetic traffic. The same options give the same trace on any machine.

kinds:
  steady       one rate
  diurnal      days and nights
  spiky        up-spikes and down-spikes at random moments (after Bodik et al. 2010)
  erratic      sudden, severe and mostly brief increases; the last one stays a while (DABS-Storm, Figure 11b)
  progressive  a large increase, a plateau, a decrease (DABS-Storm, Figure 11a)"""

_EXAMPLES = (
    "pasps traces synth --kind spiky --steps 600 --step 1s --mean 200 --peak 800 --seed 3 --out spiky.csv",
    "pasps traces synth --kind diurnal --steps 2016 --step 5min --period 288 --out week.csv",
    "pasps traces synth --kind progressive --noise 0 | head",
)

_CODES = """\
exit codes:
  0    written
  1    something in pasps broke
  2    refused: a wrong option, a peak that such a mean cannot have, or a file that is there already
  130  Ctrl-C"""


def add_traces_synth(parser: argparse.ArgumentParser) -> None:
    """The arguments."""
    describe(parser, _ABOUT, _EXAMPLES, _CODES)
    usual, number = Traffic("steady"), at_least_one
    noise = f"standard deviation at the mean rate, as a share of it (default: {usual.noise:g}); at others as that of a Poisson process"
    peak = "events of the largest step, exactly (default: what the kind makes of the mean)"
    down = f"spiky: the share of spikes that go down (default: {usual.down:g})"
    parser.add_argument("--kind", choices=KINDS, required=True, help="see above")
    parser.add_argument("--steps", metavar="N", type=number, default=usual.steps, help=f"rows (default: {usual.steps})")
    parser.add_argument("--mean", metavar="X", type=from_zero, default=usual.mean, help=f"events of a step (default: {usual.mean:g})")
    parser.add_argument("--peak", metavar="N", type=number, help=peak)
    parser.add_argument("--seed", metavar="N", type=whole, default=usual.seed, help=f"from 0 (default: {usual.seed})")
    parser.add_argument("--noise", metavar="X", type=from_zero, default=usual.noise, help=noise)
    parser.add_argument("--period", metavar="N", type=number, help="diurnal: steps of a day (default: a third of all)")
    parser.add_argument("--spikes", metavar="N", type=whole, help="spiky and erratic: how many (default: one in 75 steps)")
    parser.add_argument("--down", metavar="X", type=from_zero, default=usual.down, help=down)
    add_times(parser)
    parser.add_argument("--out", metavar="FILE", default="-", help="the CSV file to write (default: -, standard output)")
    add_overwrite(parser)


def traces_synth(options: argparse.Namespace) -> int:
    """Do what the options say; returns the exit code.

    Raises:
        InvalidError: an option is wrong, or the file may not or cannot be written.
    """
    names = ("kind", "steps", "mean", "peak", "seed", "noise", "period", "spikes", "down")
    traffic = Traffic(**{name: getattr(options, name) for name in names})
    check_span(options.start, options.step, traffic.steps)
    to = None if options.out == "-" else Path(options.out)
    if to is not None:
        refuse_existing([to], overwrite=options.overwrite)
    lines = trace_lines(rates(traffic), options.start, options.step)
    if to is None:
        sys.stdout.writelines(lines)
        sys.stdout.flush()
    else:
        write_lines(to, lines)
    return exit_codes.OK
