"""What the control loop is told by a topology's configuration, in its own units. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pasps.config import OPTIONS_PREFIX, check, merged
from pasps.control.policies import policy_named
from pasps.control.situation import PolicySettings

_MOST_FORECAST_SECONDS = 5.0
USUAL_INTERVAL_SECONDS = 30.0
"""td, where neither the configuration nor the policy says another."""


@dataclass(frozen=True, slots=True)
class RestartSettings:
    """How all workers are started anew. `wait_seconds`: so long the spouts are silent and the rest goes on before they end;
    `silence_seconds`: at least so long nothing works then, for comparisons with what takes longer than this runtime.
    """

    wait_seconds: float = 30.0
    silence_seconds: float = 0.0

    @classmethod
    def from_config(cls, conf: Mapping[str, Any]) -> RestartSettings:
        """Read `conf`; what it leaves out has its default.

        Raises:
            ConfigError: an unknown or ill-typed key.
        """
        conf = merged(check(conf, "configuration"))
        wait = conf["pasps.restart.wait.secs"]
        return cls(float(conf["topology.message.timeout.secs"] if wait is None else wait), float(conf["pasps.restart.silence.secs"]))


@dataclass(frozen=True, slots=True)
class ElasticSettings:
    """`policy` None: nobody chose one, and the caller's own default holds. `predictor_url` None: a child process is started.

    `predictor` may be `MODEL@ARTIFACT`, a model that was trained; `artifacts` is the directory in which a child process finds them.

    `options` are those of the policy by field, as they were given: the policy checks them, once it is known.
    """

    policy: str | None
    predictor: str
    predictor_url: str | None
    predictor_token: str | None
    forecast_seconds: float
    plan: PolicySettings
    artifacts: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_config(cls, conf: Mapping[str, Any]) -> ElasticSettings:
        """Read `conf`; what it leaves out has its default, and the interval is that of the policy which it names.

        Raises:
            ConfigError: an unknown or ill-typed key, or a policy that there is not.
        """
        conf = merged(check(conf, "configuration"))
        seconds = usual_interval(conf["pasps.policy"]) if conf["pasps.interval.secs"] is None else float(conf["pasps.interval.secs"])
        deadline = conf["pasps.predictor.timeout.secs"]
        return cls(
            policy=conf["pasps.policy"],
            predictor=conf["pasps.predictor"],
            predictor_url=conf["pasps.predictor.url"],
            predictor_token=conf["pasps.predictor.token"],
            forecast_seconds=min(_MOST_FORECAST_SECONDS, seconds / 2) if deadline is None else float(deadline),
            plan=PolicySettings(
                interval_seconds=seconds,
                correction_seconds=min(seconds, float(conf["pasps.correction.secs"])),
                queue_share=conf["pasps.queue.share"],
                target_utilisation=conf["pasps.target.utilisation"],
                scale_down_plans=conf["pasps.scale.down.plans"],
                drain_seconds=conf["pasps.drain.secs"],
                static_replicas=conf["pasps.static.replicas"],
                reconfigure=conf["pasps.reconfigure"],
            ),
            artifacts=conf["pasps.predictor.artifacts"],
            options={name.removeprefix(OPTIONS_PREFIX): value for name, value in conf.items() if name.startswith(OPTIONS_PREFIX)},
        )


def usual_interval(policy: str | None) -> float:
    """td under that policy, unless it is configured; None: nobody chose one.

    Raises:
        ConfigError: there is no such policy.
    """
    own = None if policy is None else policy_named(policy).needs.interval_seconds
    return USUAL_INTERVAL_SECONDS if own is None else own
