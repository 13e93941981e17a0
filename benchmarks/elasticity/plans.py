"""The runs of the comparison: what they all share, and what each is told. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PREDICTORS = ("basic", "lr", "fft", "ann", "rf")
STATIC = (8, 4, 1)
TARGETS = (0.6, 0.8, 0.9, 1.0, 1.1, 1.3)
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

    `topology`: the file that it runs, where that is not its comparison's. `benchmark`: et_i in seconds by bolt, as who decides is told
    before it starts; nothing: they are measured in the run alone.
    """

    name: str
    policy: str
    options: Mapping[str, str]
    at_start: int = AT_START
    topology: Path | None = None
    benchmark: Mapping[str, float] = field(default_factory=dict)

    @property
    def tracked(self) -> bool:
        """Whether its events are: what is lost on its way comes again, and latency is known."""
        return self.options.get(ACKERS) != "0"


def run_plans(setup: Setup, targets: Sequence[float] = TARGETS) -> list[RunPlan]:
    """All runs, in the order in which they are made: what does not move first, ours last."""
    plans = [_plan(f"static-{count}", "static", {"pasps.static.replicas": str(count)}, count) for count in STATIC]
    plans.append(_plan("presps", "presps", {}))
    plans += [_plan(f"pa-sps-{model}", "pa-sps", {"pasps.predictor": model}) for model in PREDICTORS]
    for pace in PACES:
        often = {"pasps.interval.secs": f"{pace:g}"}
        plans += [
            _plan(f"presps@{pace:g}s", "presps", often),
            _plan(f"pa-sps-basic@{pace:g}s", "pa-sps", {"pasps.predictor": "basic", **often}),
        ]
    ours = {"pasps.predictor": setup.pasps_predictor, **setup.pasps}
    plans += [_plan(f"pasps-{target:g}", "pasps", {"pasps.target.utilisation": f"{target:g}", **ours}) for target in targets]
    return plans


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


def _plan(name: str, policy: str, options: Mapping[str, str], at_start: int = AT_START) -> RunPlan:
    return RunPlan(name, policy, {"pasps.policy": policy, **options}, at_start)
