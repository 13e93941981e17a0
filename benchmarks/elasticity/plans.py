"""The runs of the comparison: what they all share, and what each is told. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pasps.simulation.forecasters import CLAIRVOYANT

PREDICTORS = ("basic", "lr", "fft", "ann", "rf")
STATIC = (8, 4, 1)
TARGETS = (0.6, 0.8, 0.9, 1.0, 1.1, 1.3)
LATENCY_TARGETS = (0.2, 0.5)
"""Seconds that p95 of the latency is to stay within; `pasps` finds the utilisation for it."""
PACES = (1.0,)
"""The papers' policies decide each td, and at these paces too, which activation in milliseconds allows them as well."""
POOL = 8
LINE_BOLTS = ("first", "second", "third", "last")
"""As the line has them."""
AT_START = 4
"""Active replicas of every bolt before the first decision; a static run has its own from the start."""
ACKERS = "topology.acker.executors"
"""0: nothing is tracked."""
_PENDING_SHARE = 0.8
_QUEUE = 100_000
KEEPS_LATENCY = "pasps that keeps a latency"
_LATENCY_TARGET = "pasps.policy.options.latency_target"


@dataclass(frozen=True, slots=True)
class Setup:
    """What all runs of a comparison share. `scale`: the trace's peak over what the whole pool can carry.

    `pasps` are further options for the runs of our own policy.
    """

    wait_millis: float = 20.0
    scale: float = 0.9
    interval_seconds: float = 5.0
    timeout_seconds: float = 120.0
    workers: int = 2
    shared_queues: bool = True
    pasps_predictor: str = "auto"
    pasps: Mapping[str, str] = field(default_factory=dict)

    @property
    def peak_rate(self) -> float:
        """Events a second in the trace's highest row: `scale` times what eight replicas can carry."""
        return self.scale * POOL * 1000 / self.wait_millis

    @property
    def most_pending(self) -> int:
        """As many tuples as one replica of a bolt gets through well within the time-out.

        So none times out for having to wait, whatever the replicas do, and what comes twice comes from something else. It is long, so
        that what waits does so at the bolts, where every policy looks, and not in the spout, where not all do.
        """
        return int(_PENDING_SHARE * self.timeout_seconds * 1000 / self.wait_millis)

    def options(self) -> dict[str, str]:
        """For `pasps run -o`."""
        return {
            "line.wait.millis": f"{self.wait_millis:g}",
            "pasps.interval.secs": f"{self.interval_seconds:g}",
            "topology.message.timeout.secs": f"{self.timeout_seconds:g}",
            "topology.max.spout.pending": str(self.most_pending),
            "pasps.shared.queues": str(self.shared_queues).lower(),
            # the paper's queue: what is under way waits at the bolts
            "topology.executor.receive.buffer.size": str(_QUEUE),
        }


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run: its name, which is that of its directory too, the policy it belongs to, its options, and replicas at the start.

    `CLAIRVOYANT` stands for the policy of a run of PA-SPS that is told the trace. In figures a run is a `detail` of a `kind`, both in
    words. `pace_seconds` is how often one of the papers' policies decides, `latency_target` what p95 of the latency is to stay within.

    `topology`: the file that it runs, where that is not its comparison's. `benchmark`: et_i in seconds by bolt, as who decides is told
    before it starts; nothing: they are measured in the run alone.
    """

    name: str
    policy: str
    options: Mapping[str, str]
    at_start: int = AT_START
    kind: str = ""
    detail: str = ""
    pace_seconds: float | None = None
    latency_target: float | None = None
    topology: Path | None = None
    benchmark: Mapping[str, float] = field(default_factory=dict)

    @property
    def tracked(self) -> bool:
        """Whether its events are: what is lost on its way comes again, and latency is known."""
        return self.options.get(ACKERS) != "0"


def run_plans(setup: Setup, targets: Sequence[float] = TARGETS, latency_targets: Sequence[float] = LATENCY_TARGETS) -> list[RunPlan]:
    """All runs, in the order in which they are made: what does not move first, ours last."""
    plans = [_static(count) for count in STATIC]
    plans.append(_paper("presps", "presps", setup.interval_seconds))
    plans += [_paper(f"pa-sps-{model}", "pa-sps", setup.interval_seconds, model) for model in PREDICTORS]
    for pace in PACES:
        plans += [_paper(f"presps@{pace:g}s", "presps", pace), _paper(f"pa-sps-basic@{pace:g}s", "pa-sps", pace, "basic")]
        knows = _paper(f"pa-sps-{CLAIRVOYANT}@{pace:g}s", "pa-sps", pace, CLAIRVOYANT)
        plans.append(replace(knows, policy=CLAIRVOYANT, kind="PA-SPS that knows what comes", detail=_how_often(pace)))
    shared = {"pasps.policy": "pasps", "pasps.predictor": setup.pasps_predictor, **setup.pasps}
    for target in targets:
        options = {"pasps.target.utilisation": f"{target:g}", **shared}
        plans.append(RunPlan(f"pasps-{target:g}", "pasps", options, kind="pasps", detail=f"target {target:g}"))
    for seconds in latency_targets:
        options, words = {_LATENCY_TARGET: f"{seconds:g}", **shared}, f"p95 below {seconds:g} s"
        plan = RunPlan(f"pasps-latency-{seconds:g}", "pasps", options, kind=KEEPS_LATENCY, detail=words, latency_target=seconds)
        plans.append(plan)
    return plans


def _static(count: int) -> RunPlan:
    options = {"pasps.policy": "static", "pasps.static.replicas": str(count)}
    return RunPlan(f"static-{count}", "static", options, count, "fixed replicas", f"{count} of each bolt")


def _paper(name: str, policy: str, pace: float, model: str | None = None) -> RunPlan:
    """PRESPS forecasts nothing. `basic` is as the paper's own and stands in no label."""
    options = {"pasps.policy": policy, "pasps.interval.secs": f"{pace:g}"}
    if model is not None:
        options["pasps.predictor"] = model
    by = f"{model}, " if model not in (None, "basic") else ""
    return RunPlan(name, policy, options, kind=policy.upper(), detail=f"{by}{_how_often(pace)}", pace_seconds=pace)


def _how_often(seconds: float) -> str:
    return "each second" if seconds == 1 else f"each {seconds:g} s"


def chosen(plans: Sequence[RunPlan], wanted: Sequence[str]) -> list[RunPlan]:
    """Those with one of the names, or whose name begins with one and a dash; all of them when none is wanted.

    Raises:
        ValueError: a name that fits none.
    """
    for name in wanted:
        if not any(_fits(plan.name, name) for plan in plans):
            raise ValueError(f"no run {name!r}; there are {', '.join(plan.name for plan in plans)}")
    return [plan for plan in plans if not wanted or any(_fits(plan.name, name) for name in wanted)]


def _fits(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(f"{wanted}-")
