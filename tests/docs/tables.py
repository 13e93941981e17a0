"""Tables of the docs that are made from code: `python -m tests.docs.tables` brings the pages up to date.

A page holds a table between `<!-- table NAME: ... -->` and `<!-- end NAME -->`; everything else of it is written by people.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pasps.api.groupings import OsgOptions
from pasps.config import KEYS, Key
from pasps.control.policies import BUILT_IN, Policy
from pasps.control.settings import USUAL_INTERVAL_SECONDS
from pasps.options import files_of, keys_of
from predictor_service.model import MOST_SAMPLES
from predictor_service.registry import builtin_models

DOCS = Path(__file__).parents[2] / "docs"

STORM_DEFAULTS: dict[str, object] = {
    "topology.workers": 1,
    "topology.acker.executors": None,
    "topology.message.timeout.secs": 30,
    "topology.enable.message.timeouts": True,
    "topology.max.spout.pending": None,
    "topology.tick.tuple.freq.secs": None,
    "topology.executor.receive.buffer.size": 32768,
    "topology.batch.flush.interval.millis": 1,
    "topology.transfer.batch.size": 1,
    "topology.producer.batch.size": 1,
    "topology.max.task.parallelism": None,
    "topology.debug": False,
    "topology.error.throttle.interval.secs": 10,
    "topology.max.error.report.per.interval": 5,
}
"""What Storm's own defaults are, for the keys that have its names."""


def shown(value: object) -> str:
    """A value as one writes it after `-o key=`."""
    return {None: "null", True: "true", False: "false"}.get(value, str(value)) if value is None or isinstance(value, bool) else str(value)


def keys_table() -> str:
    """All keys."""
    rows = ["| Key | Value | Default | What it does |", "|---|---|---|---|"]
    return "\n".join(rows + [_key_row(key) for key in KEYS.values()])


def _unit(key: Key) -> str:
    return f" ({key.unit})" if key.unit else ""


def _key_row(key: Key) -> str:
    return f"| `{key.name}` | {key.expected()}{_unit(key)} | `{shown(key.default)}` | {key.doc}{' (C)' if key.on_component else ''} |"


def defaults_table() -> str:
    """The keys whose default is not Storm's, and those that Storm has not."""
    rows = ["| Key | Storm | pasps |", "|---|---|---|"]
    for key in KEYS.values():
        theirs = STORM_DEFAULTS.get(key.name, "no such key")
        if key.name not in STORM_DEFAULTS or theirs != key.default:
            cell = f"`{shown(theirs)}`" if key.name in STORM_DEFAULTS else str(theirs)
            rows.append(f"| `{key.name}` | {cell} | `{shown(key.default)}` |")
    return "\n".join(rows)


def policies_table() -> str:
    """The policies that come with it."""
    rows = ["| `pasps.policy` | What | Decides | Forecasts |", "|---|---|---|---|"]
    return "\n".join(rows + [f"| `{name}` | {policy.about} | {_decides(policy)} | {_looks(policy)} |" for name, policy in BUILT_IN.items()])


def _decides(policy: Policy) -> str:
    own = policy.needs.interval_seconds
    return f"each {USUAL_INTERVAL_SECONDS if own is None else own:g} s{', and corrects in between' if policy.needs.corrects else ''}"


def _looks(policy: Policy) -> str:
    ahead = policy.needs.horizon_seconds
    if ahead is None and "horizon" in policy.keys:
        return "`horizon` intervals ahead"
    return "one interval ahead" if ahead is None else f"{ahead:g} s ahead" if ahead else "needs none"


def options_table() -> str:
    """The options of each of them."""
    rows = ["| Policy | `pasps.policy.options.` | Value | Default | What it does |", "|---|---|---|---|---|"]
    keys = [(name, field, key) for name, policy in BUILT_IN.items() for field, key in policy.keys.items()]
    return "\n".join(rows + [_option_row(*each) for each in keys])


def _option_row(policy: str, field: str, key: Key) -> str:
    expected = key.expected().replace("text", "a file") if field in files_of(BUILT_IN[policy].options) else key.expected()
    return f"| `{policy}` | `{field}` | {expected}{_unit(key)} | `{shown(key.default)}` | {key.doc} |"


def osg_table() -> str:
    """The options of OSG."""
    rows = ["| `Grouping.osg(...)` | Value | Default | What it does |", "|---|---|---|---|"]
    keys = keys_of(OsgOptions).items()
    return "\n".join(rows + [f"| `{name}` | {key.expected()}{_unit(key)} | `{shown(key.default)}` | {key.doc} |" for name, key in keys])


MODELS: dict[str, tuple[str, ...]] = {
    "online": ("naive", "ses", "holt", "theta", "kalman", "ensemble", "ar"),
    "longer": ("auto", "gbm"),
    "papers": ("basic", "lr", "fft", "fft-published", "ann", "ann-published", "rf", "ridge", "bayesian", "sgd", "svm", "gaussian"),
}
"""In the order in which they are read; each in one of them."""
_LANES = {"instant": "loop"}
"""Where a fit goes by what it costs; the others have lanes of that name."""


def models_table(group: str) -> str:
    """Models that the service always has."""
    known = builtin_models()
    rows = ["| name | what | needs | lane |", "|---|---|---|---|"]
    for name in MODELS[group]:
        model = known[name]
        most = "" if model.most_samples == MOST_SAMPLES else f"; at most {model.most_samples:,} samples"
        rows.append(f"| `{name}` | {model.about}{most} | {model.least_samples} | {_LANES.get(model.cost, model.cost)} |")
    return "\n".join(rows)


TABLES: dict[str, tuple[Path, Callable[[], str]]] = {
    "keys": (DOCS / "configuration.md", keys_table),
    "defaults": (DOCS / "storm-compatibility.md", defaults_table),
    "policies": (DOCS / "policies.md", policies_table),
    "options": (DOCS / "policies.md", options_table),
    "osg": (DOCS / "groupings.md", osg_table),
    **{f"models {group}": (DOCS / "predictor.md", partial(models_table, group)) for group in MODELS},
}


def with_table(page: str, name: str, table: str) -> str:
    """The page with this table in its place.

    Raises:
        ValueError: the page has no such place.
    """
    place = re.compile(rf"(<!-- table {name}:[^\n]*-->\n).*?(<!-- end {name} -->)", re.DOTALL)
    made, count = place.subn(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", page)
    if count != 1:
        raise ValueError(f"expected one place for table {name!r}, found {count}")
    return made


if __name__ == "__main__":
    for table_name, (path, make) in TABLES.items():
        path.write_text(with_table(path.read_text(encoding="utf-8"), table_name, make()), encoding="utf-8")
