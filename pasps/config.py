"""The configuration keys there are, what each may hold, and the record that the runtime reads; standard library only.

A key that begins with neither `topology.` nor `pasps.` is the user's own: it passes unchecked and reaches `initialize` as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from pasps.errors import ConfigError, InvalidError

OWN_PREFIXES = ("topology.", "pasps.")
OPTIONS_PREFIX = "pasps.policy.options."
"""Keys that the chosen policy takes: they are checked where it is known (`pasps.control.policies`)."""
_KIND_NAMES = {int: "an integer", float: "a number", bool: "true or false", str: "text"}

Value = int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class Key:
    """One key: the type of its values, the bounds they must keep, and whether a component may set it for itself."""

    name: str
    kind: type
    default: Value
    doc: str
    unit: str = ""
    least: float | None = None
    above: float | None = None
    most: float | None = None
    on_component: bool = False
    choices: tuple[str, ...] = ()

    @property
    def nullable(self) -> bool:
        """Whether it may be null: then that is its default, and means no limit or none at all."""
        return self.default is None

    def expected(self) -> str:
        """What a value must be, for people: `an integer of at least 1, or null`."""
        text = " or ".join(repr(choice) for choice in self.choices) or _KIND_NAMES[self.kind]
        if self.above is not None:
            text += f" above {self.above:g}"
        if self.least is not None:
            text += f" of at least {self.least:g}"
        if self.most is not None:
            text += f"{' of' if self.least is None and self.above is None else ' and'} at most {self.most:.10g}"
        return text + (", or null" if self.nullable else "")

    def accepts(self, value: object) -> bool:
        """Whether `value` has the type and keeps the bounds. A bool is no number; an integer is a number too."""
        if value is None:
            return self.nullable
        if self.kind is bool or isinstance(value, bool):
            return self.kind is bool and isinstance(value, bool)
        if self.kind is str:
            return isinstance(value, str) and bool(value) and (not self.choices or value in self.choices)
        if not isinstance(value, int if self.kind is int else (int, float)):
            return False
        if isinstance(value, float) and not math.isfinite(value):
            return False
        low = (self.least is None or value >= self.least) and (self.above is None or value > self.above)
        return low and (self.most is None or value <= self.most)

    def parse(self, text: str) -> Value:
        """The value that `text` writes.

        Raises:
            ValueError: `text` does not write a value of this key's type.
        """
        word = text.lower()
        if word == "null" or (word == "none" and (self.nullable or self.kind is not str)):
            return None
        if self.kind is str:
            return text
        if self.kind is bool:
            if text.lower() not in ("true", "false"):
                raise ValueError(text)
            return text.lower() == "true"
        return int(text) if self.kind is int else float(text)


_ALMOST_OPTIONS = ("pasps.policy.", "pasps.options.", "pasps.options")

MOST_WORKERS = 100_000
"""Of one topology; more are a slip of the finger."""

_ALL = (
    Key("topology.workers", int, None, "Worker processes; null: one for each core, in a cluster 2", least=1, most=MOST_WORKERS),
    Key("topology.acker.executors", int, None, "0 turns tracking off; any other value changes nothing", least=0),
    Key("topology.message.timeout.secs", float, 30, "A tracked tuple not done after 1 to 2 times this fails", "seconds", above=0),
    Key("topology.enable.message.timeouts", bool, True, "Whether tracked tuples time out"),
    Key("topology.max.spout.pending", int, None, "Most tracked tuples of a spout task in flight", "tuples", least=1, on_component=True),
    Key("topology.tick.tuple.freq.secs", float, None, "Time between ticks to a bolt", "seconds", above=0, on_component=True),
    Key("topology.executor.receive.buffer.size", int, 1024, "Most tuples that wait in the inbox of a replica", "tuples", least=1),
    Key("topology.batch.flush.interval.millis", float, 1, "Longest wait of a tuple in an output buffer", "milliseconds", least=0),
    Key("topology.transfer.batch.size", int, 512, "Tuples buffered for another worker before a frame goes", "tuples", least=1),
    Key("topology.producer.batch.size", int, 512, "Most tuples that one step puts into one batch", "tuples", least=1),
    Key("topology.locality.band", float, 5, "Load-aware edges prefer their worker within this; 0: never", "milliseconds", least=0),
    Key("topology.max.task.parallelism", int, None, "Caps `par` and `pool` of every component", "replicas", least=1),
    Key("topology.debug", bool, False, "Workers log what pasps does at DEBUG level, to standard error"),
    Key("topology.error.throttle.interval.secs", float, 10, "Interval in which reported errors are counted", "seconds", above=0),
    Key("topology.max.error.report.per.interval", int, 5, "Most errors a component reports in one interval", "errors", least=1),
    Key("pasps.worker.host", str, None, "Of a cluster: where workers listen, an address or a network; null: where they are reached"),
    Key("pasps.wire.pickle", bool, False, "Let values of any picklable type travel between workers"),
    Key("pasps.wire.max.frame.bytes", int, 64 << 20, "Largest frame; who sends more is cut off", "bytes", least=4096, most=2**31 - 1),
    Key("pasps.shared.queues", bool, True, "Where any replica will do, those in a worker take from one queue; false: each has its own"),
    Key("pasps.receive.buffer.bytes", int, 16 << 20, "Most bytes of large tuples in the inbox of a replica", "bytes", least=1),
    Key("pasps.load.report.interval.millis", float, 100, "Time between load reports of a replica", "milliseconds", above=0),
    Key("pasps.policy", str, None, "Who decides how many replicas work; null: `pasps`, in a LocalCluster `static`"),
    Key(
        "pasps.predictor",
        str,
        "auto",
        "Model that forecasts: `auto`, beside the loop; one of the service, trained as `bigru@NAME`; `none`",
    ),
    Key("pasps.predictor.artifacts", str, None, "Directory of trained models, for the service that is started; null: it has none"),
    Key("pasps.predictor.url", str, None, "Where a predictor service listens; null: the cluster's own, else a child process"),
    Key("pasps.predictor.token", str, None, "Its bearer token; null: the environment's `PASPS_PREDICTOR_TOKEN`, if any"),
    Key("pasps.predictor.timeout.secs", float, None, "Most time for a forecast; null: half an interval, at most 5", "seconds", above=0),
    Key("pasps.interval.secs", float, None, "The interval td, planned at its end; null: the policy's own", "seconds", least=1, most=3600),
    Key("pasps.correction.secs", float, 0.25, "Time between the corrections of a policy that makes some", "seconds", least=0.1),
    Key("pasps.target.utilisation", float, None, "Share of its time a replica is to be busy; null: 1, `pasps` 0.9", above=0, most=1.5),
    Key("pasps.scale.down.plans", int, None, "Fewer replicas when so many plans agree; null: the policy's own way", least=1),
    Key("pasps.drain.secs", float, None, "Time in which queues are to be gone; null: an interval, `pasps` 0.25", "seconds", above=0),
    Key("pasps.queue.share", str, None, "Eq. 7 as printed or by edge; null: the policy's own reading", choices=("paper", "edge")),
    Key("pasps.reconfigure", str, None, "How plans are carried out; null: as the policy says", choices=("pool", "restart")),
    Key("pasps.restart.wait.secs", float, None, "Wait of a restart before workers end; null: the time-out", "seconds", least=0),
    Key("pasps.restart.silence.secs", float, 0, "A restart's time without workers, at least this, as of a real Storm", "seconds", least=0),
    Key("pasps.static.replicas", int, None, "Replicas of every bolt under policy `static`; null: as at the start", "replicas", least=1),
)
KEYS: Mapping[str, Key] = MappingProxyType({key.name: key for key in _ALL})


def check(mapping: Mapping[str, Any], where: str, *, component: bool = False) -> dict[str, Any]:
    """A plain dict of `mapping`, every key of ours known and well-typed.

    Args:
        mapping: The keys and values as a user wrote them.
        where: Whose they are, for the message: `topology 'wc'`, `component 'count'`.
        component: Whether they stand on a component, where only some keys have a meaning.

    Raises:
        ConfigError: an unknown key (with the nearest known name), or a value that its key does not take.
        InvalidError: `mapping` is no mapping.
    """
    if not isinstance(mapping, Mapping):
        raise InvalidError(f"{where}: configuration must be a dict of keys and values, got {mapping!r}")
    for name, value in mapping.items():
        key = _key(name, where)
        if key is None:
            if component and isinstance(name, str) and name.startswith(OPTIONS_PREFIX):
                raise ConfigError(name, "holds for the whole topology", where=where, cure="set it in the topology's config")
            continue
        if component and not key.on_component:
            raise ConfigError(name, "holds for the whole topology", where=where, cure="set it in the topology's config")
        if not key.accepts(value):
            raise ConfigError(name, f"must be {key.expected()}, got {value!r} ({type(value).__name__})", where=where)
    return dict(mapping)


def parse_option(text: str) -> tuple[str, Any]:
    """Key and value of `key=value` as given to `-o`; `null` is None, and a user's own key takes JSON or else text.

    Raises:
        ConfigError: no `=`, an unknown key, or a value that its key does not take.
    """
    where = "option"
    name, equals, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if not equals or not name:
        raise ConfigError(text, "has no value", where=where, cure="write key=value")
    key = _key(name, where)
    if key is None:
        return name, _own_value(value)
    try:
        parsed = key.parse(value)
    except ValueError:
        raise ConfigError(name, f"must be {key.expected()}, got {value!r}", where=where) from None
    check({name: parsed}, where)
    return name, parsed


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults with `layers` over them, the later ones on top: the `conf` that `initialize` gets."""
    conf: dict[str, Any] = {key.name: key.default for key in _ALL}
    for layer in layers:
        conf.update(layer)
    return conf


def _key(name: object, where: str) -> Key | None:
    if not isinstance(name, str) or not name:
        raise ConfigError(str(name), f"must be a non-empty string, got {name!r}", where=where)
    key = KEYS.get(name)
    if key is None and name.startswith(OPTIONS_PREFIX):
        return None
    if key is None and name.startswith(OWN_PREFIXES):
        if name.startswith(_ALMOST_OPTIONS):
            last = name.rpartition(".")[2]
            meant = OPTIONS_PREFIX + ("NAME" if last in ("option", "options") else last)
            cure = f"an option of a policy is written {meant!r}"
            raise ConfigError(name, "is unknown", where=where, cure=cure)
        near = get_close_matches(name, KEYS, n=1, cutoff=0.0)
        raise ConfigError(name, "is unknown", where=where, cure=f"the nearest known name is {near[0]!r}")
    return key


def _own_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """What the runtime reads, in its own units; one for a topology, and one for each component that overrides something."""

    message_timeout_seconds: float
    timeouts_enabled: bool
    ackers_enabled: bool
    max_spout_pending: int | None
    tick_seconds: float | None
    receive_buffer_size: int
    receive_buffer_bytes: int
    flush_interval_seconds: float
    transfer_batch_size: int
    producer_batch_size: int
    locality_band_seconds: float
    wire_pickle: bool
    max_frame_bytes: int
    load_report_seconds: float
    shared_queues: bool
    debug: bool
    error_throttle_seconds: float
    max_error_reports: int
    worker_host: str | None

    @classmethod
    def from_config(cls, conf: Mapping[str, Any]) -> RuntimeSettings:
        """Read `conf`; what it leaves out has its default.

        Raises:
            ConfigError: an unknown or ill-typed key.
        """
        conf = merged(check(conf, "configuration"))
        tick = conf["topology.tick.tuple.freq.secs"]
        return cls(
            message_timeout_seconds=float(conf["topology.message.timeout.secs"]),
            timeouts_enabled=conf["topology.enable.message.timeouts"],
            ackers_enabled=conf["topology.acker.executors"] != 0,
            max_spout_pending=conf["topology.max.spout.pending"],
            tick_seconds=None if tick is None else float(tick),
            receive_buffer_size=conf["topology.executor.receive.buffer.size"],
            receive_buffer_bytes=conf["pasps.receive.buffer.bytes"],
            flush_interval_seconds=conf["topology.batch.flush.interval.millis"] / 1000,
            transfer_batch_size=conf["topology.transfer.batch.size"],
            producer_batch_size=conf["topology.producer.batch.size"],
            locality_band_seconds=conf["topology.locality.band"] / 1000,
            wire_pickle=conf["pasps.wire.pickle"],
            max_frame_bytes=conf["pasps.wire.max.frame.bytes"],
            shared_queues=conf["pasps.shared.queues"],
            load_report_seconds=conf["pasps.load.report.interval.millis"] / 1000,
            debug=conf["topology.debug"],
            error_throttle_seconds=float(conf["topology.error.throttle.interval.secs"]),
            max_error_reports=conf["topology.max.error.report.per.interval"],
            worker_host=conf["pasps.worker.host"],
        )
