"""`python -m benchmarks.elasticity.rehearsal`: a DEVELOPMENT AID that tries policies on the line in virtual time. Not a result.

The policies and the loop are the real ones (`pasps.control.loop.MapeLoop`); the line is `virtual_line`, the forecasts are made
here. Ten minutes take about a second, so that a rule can be tried with many settings before it is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean

from benchmarks.elasticity.traces import Prepared, Wish, prepare, read_trace
from benchmarks.elasticity.virtual_line import VirtualLine
from benchmarks.report import table
from pasps.control.decision_log import Act, Outcome
from pasps.control.forecaster import basic_predictions
from pasps.control.loop import LoopConfig, MapeLoop
from pasps.control.monitor import Machine
from pasps.control.policies import policy_named
from pasps.control.situation import Forecast, PolicySettings
from pasps.testing import FakeClock

TIMEOUT_SECONDS = 30.0
_MACHINE = Machine(2, 2)


class Guess:
    """Forecasts without a service: `basic`, `lr`, or `clear`, which knows the trace."""

    def __init__(self, model: str, prepared: Prepared) -> None:
        self.model, self._prepared = model, prepared

    async def forecast(self, samples: Sequence[float], seconds: float, now: float) -> Forecast | None:
        """See `pasps.control.loop.Forecasts`; it answers at once."""
        if not samples:
            return None
        horizon = math.ceil(seconds)
        if self.model == "clear":
            return Forecast(now, _known(self._prepared, now, horizon), self.model)
        if self.model == "lr" and len(samples) > 1:
            return Forecast(now, linear(samples, horizon), self.model)
        return Forecast(now, basic_predictions(samples, horizon, horizon), self.model)


def linear(samples: Sequence[float], horizon: int) -> tuple[float, ...]:
    """The least-squares line through the samples, gone on with; never below 0."""
    count = len(samples)
    middle, mean = (count - 1) / 2, fmean(samples)
    spread = sum((place - middle) ** 2 for place in range(count))
    slope = sum((place - middle) * (sample - mean) for place, sample in enumerate(samples)) / spread
    return tuple(max(0.0, mean + slope * (count + ahead - middle)) for ahead in range(horizon))


def _known(prepared: Prepared, now: float, horizon: int) -> tuple[float, ...]:
    rows = [(now + ahead) / prepared.row_seconds for ahead in range(horizon)]
    counts = [prepared.counts[int(row)] if row < len(prepared.counts) else 0 for row in rows]
    return tuple(count / prepared.row_seconds for count in counts)


class VirtualActuator:
    """Makes a plan true on a virtual line, and counts the changes."""

    def __init__(self, line: VirtualLine) -> None:
        self.changes = 0
        self._line = line

    async def set_replicas(self, wanted: Mapping[str, int], stay: frozenset[str]) -> tuple[dict[str, Act], int]:
        """See `pasps.control.loop.Actuator`."""
        acts = {name: Act(self._line.stages[name].active, count, count, Outcome.DONE) for name, count in wanted.items()}
        self.changes += sum(abs(act.after - act.before) for act in acts.values())
        self._line.set_active(wanted)
        return acts, self._line.version


@dataclass(frozen=True, slots=True)
class Try:
    """What is tried, and what came of it; latencies in seconds."""

    policy: str
    model: str
    settings: PolicySettings
    saved: float = 0.0
    latencies: tuple[float, ...] = ()
    share: float = 0.0
    changes: int = 0
    most_in_flight: int = 0

    def quantile(self, share: float) -> float:
        """Of the latencies; 0 when there are none."""
        return self.latencies[min(len(self.latencies) - 1, int(share * len(self.latencies)))] if self.latencies else 0.0


async def rehearse(wanted: Try, prepared: Prepared, wait_seconds: float) -> Try:
    """Run it to its end: all done, or one time-out after the trace."""
    line = VirtualLine(prepared, wait_seconds)
    actuator = VirtualActuator(line)
    policy = policy_named(wanted.policy)
    config = LoopConfig(line.shape, policy, wanted.settings, lambda record: None)
    loop = MapeLoop(config, Guess(wanted.model, prepared), actuator, FakeClock())
    step = min(1.0, wanted.settings.correction_seconds) if policy.corrects else 1.0
    now, working, most, steps = 0.0, 0, 0, 0
    while not line.done and now <= prepared.seconds + TIMEOUT_SECONDS:
        line.run(now)
        moment = loop.tick(line.stats(now), _MACHINE)
        if moment is not None:
            await loop.decide(moment)
        if policy.corrects:
            await loop.refresh_forecast()
        working += line.working(now)
        most = max(most, line.due - len(line.latencies))
        steps += 1
        now = steps * step
    over = len(line.stages) * line.pool
    return replace(
        wanted,
        saved=1 - working / steps / over,
        latencies=tuple(sorted(line.latencies)),
        share=len(line.latencies) / prepared.events,
        changes=actuator.changes,
        most_in_flight=most,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Try every combination of what is asked for, one line each."""
    options = _parser().parse_args(arguments)
    wish = Wish(options.rows, options.scale * 8000 / options.wait_millis, options.row_seconds, options.first_row)
    prepared = prepare(options.trace.stem, read_trace(options.trace), wish)
    print(f"{prepared.name}: rows from {prepared.first_row} on, {prepared.events:,} events, variation {prepared.variation:.1f} pools")
    rows = []
    for wanted in _tries(options):
        found = asyncio.run(rehearse(wanted, prepared, options.wait_millis / 1000))
        rows.append(_cells(found))
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    heads = "policy model td target plans drain saved mean_ms p50 p95 p99 processed changes in_flight".split()
    print(table("A rehearsal, no measurement", heads, rows))
    return 0


def _tries(options: argparse.Namespace) -> list[Try]:
    found = []
    for name, model, seconds in product(options.policy, options.model, options.interval):
        plain = PolicySettings(interval_seconds=seconds, correction_seconds=min(seconds, options.correction))
        if name.startswith("static-"):
            found.append(Try("static", "", replace(plain, static_replicas=int(name.removeprefix("static-")))))
        elif not policy_named(name).corrects:
            found.append(Try(name, model if policy_named(name).forecasts else "", plain))
        else:
            guards = product(options.target, options.plans, options.drain)
            found += [
                Try(name, model, replace(plain, target_utilisation=target, scale_down_plans=plans, drain_seconds=drain))
                for target, plans, drain in guards
            ]
    return list(dict.fromkeys(found))


def _cells(found: Try) -> list[str]:
    settings = found.settings
    guards = [settings.target_utilisation, settings.scale_down_plans, settings.drain_seconds]
    times = [fmean(found.latencies) if found.latencies else 0.0, *map(found.quantile, (0.5, 0.95, 0.99))]
    name = f"static-{settings.static_replicas}" if found.policy == "static" else found.policy
    return [
        *(name, found.model, f"{settings.interval_seconds:g}"),
        *("" if guard is None else f"{guard:g}" for guard in guards),
        f"{found.saved:.3f}",
        *(f"{1000 * seconds:,.0f}" for seconds in times),
        f"{found.share:.1%}",
        f"{found.changes:,}",
        f"{found.most_in_flight:,}",
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.elasticity.rehearsal", description=__doc__)
    add = parser.add_argument
    add("--trace", type=Path, required=True, metavar="FILE", help="CSV of time and count")
    add("--rows", type=int, default=600)
    add("--first-row", type=int, help="default: the burstiest stretch")
    add("--row-seconds", type=float, default=1.0)
    add("--scale", type=float, default=0.9, help="peak input over what the whole pool can carry")
    add("--wait-millis", type=float, default=20.0)
    add("--correction", type=float, default=1.0, help="seconds between corrections")
    add("--policy", type=_words, default=["static-8", "presps", "pa-sps", "pasps"], metavar="A,B", help="static-N, or a policy's name")
    add("--model", type=_words, default=["basic", "lr"], metavar="A,B", help="basic, lr, or clear (knows what comes)")
    add("--interval", type=_numbers, default=[5.0], metavar="S,S", help="td")
    add("--target", type=_numbers, default=[0.6, 0.7, 0.8, 0.9, 1.0], metavar="U,U")
    add("--plans", type=lambda text: [int(word) for word in text.split(",")], default=[5], metavar="N,N")
    add("--drain", type=_numbers, default=[1.0], metavar="S,S")
    return parser


def _words(text: str) -> list[str]:
    return text.split(",")


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
