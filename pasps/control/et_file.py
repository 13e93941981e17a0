"""The execution-time file of a topology, `<topology file>.et.json`: et_i of each operator as a benchmark found it before the topology ran.

Read when a topology starts, written by whoever benchmarks. docs/execution-times.md describes it for people.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pasps.api.blueprint import Blueprint, ComponentPlan, Execution
from pasps.api.source import source_hash
from pasps.errors import InvalidError

SCHEMA = "pasps.et/1"
CURE = "correct it by hand, or remove it: et is then what is measured while the topology runs"
_NO_ENTRY = "there is no entry for it, so only what is measured while it runs counts; if that is not enough, add one by hand"


@dataclass(frozen=True, slots=True)
class OperatorTimes:
    """What was measured of one operator; None: not measured.

    `et_seconds` is et_i, the mean over several processes of what each has without what lies further than a standard deviation from
    its mean: CPU time of an `inline` operator, wall time of an `async` or `thread` one. `source` is
    `pasps.api.source.source_hash` of what was measured; None: not checked. `varies` is 0 when every event takes as long, else the
    standard deviation between events, as a part of the mean.
    `selectivity` has, by stream, the tuples that come of one event.
    """

    et_seconds: float
    execution: Execution
    source: str | None
    samples: int | None = None
    mean_seconds: float | None = None
    standard_deviation_seconds: float | None = None
    p50_seconds: float | None = None
    p95_seconds: float | None = None
    p99_seconds: float | None = None
    varies: float | None = None
    selectivity: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EtFile:
    """A whole file. `made_at` is an ISO time, `made_with` says on what: `{"python": "3.11.7", "cores": 2}`; never a machine's name."""

    topology: str
    operators: Mapping[str, OperatorTimes]
    made_at: str | None = None
    made_with: Mapping[str, str | int] = field(default_factory=dict)
    schema: str = SCHEMA


@dataclass(frozen=True, slots=True)
class ExecutionTimes:
    """et_i by bolt, as far as the file holds for the topology as it is now; `warnings` say what was ignored, and why."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def et_path(topology_file: Path | str) -> Path:
    """`tweets.py.et.json` beside `tweets.py`."""
    return Path(f"{topology_file}.et.json")


def load_execution_times(path: Path, blueprint: Blueprint) -> ExecutionTimes:
    """What the file says of the bolts of this topology; nothing when there is no such file.

    Raises:
        InvalidError: the file cannot be read, or is not what docs/execution-times.md describes.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ExecutionTimes()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidError(f"{path}: expected a file of execution times, which cannot be read: {error}") from error
    return execution_times_for(blueprint, parse(text, str(path)), str(path))


def write_execution_times(path: Path, file: EtFile) -> None:
    """Put the file in place as a whole: who reads at the same time sees the old one or the new one.

    Raises:
        InvalidError: it holds what `load_execution_times` would refuse; nothing was written.
        OSError: it cannot be written.
    """
    text = written(file)
    parse(text, str(path))
    put_in_place(path, text.encode())


def put_in_place(path: Path, content: bytes) -> None:
    """Write a file as a whole: who reads at the same time sees the old one or the new one.

    Raises:
        OSError: it cannot be written; the old one is still there.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as output:
            output.write(content)
            output.flush()
            os.fsync(output.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def written(file: EtFile) -> str:
    """The text of a file; `parse` says whether it is a good one."""
    return json.dumps({"schema": file.schema, **asdict(file)}, indent=2, ensure_ascii=False) + "\n"


def execution_times_for(blueprint: Blueprint, file: EtFile, where: str) -> ExecutionTimes:
    """The entries that hold for the bolts of this topology."""
    bolts = {name: plan for name, plan in blueprint.components.items() if not plan.is_spout}
    warnings = [f"{where}: {_stranger(name, bolts)}" for name in file.operators if name not in blueprint.components]
    seconds: dict[str, float] = {}
    for name, plan in bolts.items():
        entry = file.operators.get(name)
        problem = _NO_ENTRY if entry is None else _mismatch(entry, plan)
        if entry is None or problem:
            warnings.append(f"{where}: bolt {name!r}: {problem}")
        else:
            seconds[name] = entry.et_seconds
    return ExecutionTimes(seconds, tuple(warnings))


def _stranger(name: str, bolts: Iterable[str]) -> str:
    near = get_close_matches(name, bolts, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(bolts)}"
    return f"operator {name!r} is none of this topology, so its entry is ignored; {hint}"


def _mismatch(entry: OperatorTimes, plan: ComponentPlan) -> str:
    """Why the entry does not hold for the bolt as it is now."""
    if entry.execution != plan.execution:
        return f"measured as {entry.execution!r}, but it runs as {plan.execution!r} now, so its entry is ignored; {CURE}"
    if entry.source is not None and entry.source != source_hash(plan):
        return f"its source is not the one that was measured, so its entry is ignored; {CURE}"
    return ""


def parse(text: str, where: str) -> EtFile:
    """The file in a text; `where` is its name, for the messages.

    Raises:
        InvalidError: names file, operator, field, what was expected, what is there, and the cure.
    """
    try:
        # Python's reader takes NaN, so that the message can name the field it stands in
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidError(f"{where}: expected an object of schema {SCHEMA!r} as JSON, got {text[:60]!r}: {error}; {CURE}") from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        got = repr(found.get("schema")) if isinstance(found, dict) else type(found).__name__
        cure = "make the file again with this version of pasps, or write the schema it has"
        raise InvalidError(f"{where}: field 'schema': expected {SCHEMA!r}, got {got}; {cure}")
    _check(found, _FILE, where)
    operators = {name: _operator(entry, f"{where}: operator {name!r}") for name, entry in found["operators"].items()}
    return EtFile(**{**found, "operators": operators})


def _operator(entry: object, where: str) -> OperatorTimes:
    if not isinstance(entry, dict):
        raise InvalidError(f"{where}: expected an object with et_seconds, execution and source, got {entry!r}; {CURE}")
    _check(entry, _OPERATOR, where)
    return OperatorTimes(**{**entry, "et_seconds": float(entry["et_seconds"])})


@dataclass(frozen=True, slots=True)
class _Field:
    """One field: what it must be, for people and as a test."""

    expected: str
    accepts: Callable[[Any], bool]
    required: bool = False


def _check(found: Mapping[str, Any], fields: Mapping[str, _Field], where: str) -> None:
    for name, wanted in fields.items():
        if name not in found and wanted.required:
            raise InvalidError(f"{where}: field {name!r}: expected {wanted.expected}, got nothing; {CURE}")
        if name in found and not wanted.accepts(found[name]):
            raise InvalidError(f"{where}: field {name!r}: expected {wanted.expected}, got {found[name]!r}; {CURE}")
    for name in [name for name in found if name not in fields]:
        near = get_close_matches(name, fields, n=1)
        cure = f"did you mean {near[0]!r}?" if near else f"the fields are {', '.join(fields)}"
        raise InvalidError(f"{where}: field {name!r}: expected no such field, got {found[name]!r}; {cure}")


def _number(value: Any) -> bool:
    # neither NaN nor infinite, nor an integer that no float holds
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e300 < value < 1e300


def _iso_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _optional(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or accepts(value)


def _mapping(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(accepts(item) for item in value.values())


_EXECUTIONS = ("inline", "async", "thread")
_AT_LEAST_ZERO = _Field("seconds of at least 0, or null", _optional(lambda value: _number(value) and value >= 0))
_OPERATOR: Mapping[str, _Field] = {
    "et_seconds": _Field("seconds above 0", lambda value: _number(value) and value > 0, required=True),
    "execution": _Field("one of 'inline', 'async' and 'thread'", lambda value: value in _EXECUTIONS, required=True),
    "source": _Field(
        "'sha256:' and 64 hexadecimal digits, or null",
        _optional(lambda value: isinstance(value, str) and re.fullmatch(r"sha256:[0-9a-f]{64}", value) is not None),
        required=True,
    ),
    "samples": _Field(
        "a whole number of at least 1, or null",
        _optional(lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0),
    ),
    **{f"{name}_seconds": _AT_LEAST_ZERO for name in ("mean", "standard_deviation", "p50", "p95", "p99")},
    "varies": _Field("a number of at least 0, or null", _optional(lambda value: _number(value) and value >= 0)),
    "selectivity": _Field("tuples for each event by stream, numbers of at least 0", _mapping(lambda value: _number(value) and value >= 0)),
}
_FILE: Mapping[str, _Field] = {
    "schema": _Field(repr(SCHEMA), lambda value: value == SCHEMA, required=True),
    "topology": _Field("the topology's name", lambda value: isinstance(value, str) and value != "", required=True),
    "made_at": _Field("an ISO time as '2025-01-31T14:03:05Z', or null", _optional(_iso_time)),
    "made_with": _Field("an object with text and whole numbers", _mapping(lambda value: type(value) in (str, int))),
    "operators": _Field("an object with an entry for each operator", lambda value: isinstance(value, dict), required=True),
}
