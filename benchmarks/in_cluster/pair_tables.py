"""Pairs into tables in Markdown, and into JSON: medians over the rounds, with the smallest and the largest. Pure, but for the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from statistics import median

from benchmarks.in_cluster.pairs import AIM, Pair, cells, middle
from benchmarks.machine import machine
from benchmarks.report import table

_NOTHING = "-"


def tables(pairs: Sequence[Pair]) -> str:
    """The whole report."""
    parts = [_full(pairs), _paced(pairs), _notes(pairs), _problems(pairs)]
    return "\n\n".join(part for part in parts if part)


def to_json(pairs: Sequence[Pair]) -> dict[str, object]:
    """Everything that was measured, and the medians of the ratios."""
    ratios = [
        {
            "subject": cell[0].subject.name,
            "workers": cell[0].subject.workers,
            "workload": cell[0].workload,
            "mode": cell[0].mode,
            "events_per_second": middle(pair.speed_ratio for pair in cell),
            "p50": middle(pair.p50_ratio for pair in cell),
            "p99": middle(pair.p99_ratio for pair in cell),
        }
        for cell in cells(pairs)
    ]
    return {"machine": machine(), "aim": AIM, "ratios": ratios, "pairs": [asdict(pair) for pair in pairs]}


def _full(pairs: Sequence[Pair]) -> str:
    heads = ["workload", "subject", "workers", "pasps run: events/s", "cluster: events/s", "ratio", f">= {AIM:g}", "exact"]
    rows = [
        [
            *_names(cell),
            _spread((pair.here.events_per_second for pair in cell), ",.0f"),
            _spread((pair.cluster.events_per_second for pair in cell), ",.0f"),
            _spread((pair.speed_ratio for pair in cell), ".2f"),
            _reached(middle(pair.speed_ratio for pair in cell)),
            _exact(cell),
        ]
        for cell in cells(pair for pair in pairs if pair.mode == "full")
    ]
    return table("Full speed", heads, rows)


def _paced(pairs: Sequence[Pair]) -> str:
    heads = ["workload", "subject", "workers", "load", "offered/s", "pasps run: p50 ms", "cluster: p50 ms", "ratio", f">= {AIM:g}"]
    heads += ["pasps run: p99 ms", "cluster: p99 ms", "ratio", f">= {AIM:g}", "exact"]
    rows = [
        [
            *_names(cell),
            cell[0].mode,
            _spread((pair.rate for pair in cell), ",.0f"),
            _spread((pair.here.p50_ms for pair in cell), ".2f"),
            _spread((pair.cluster.p50_ms for pair in cell), ".2f"),
            _spread((pair.p50_ratio for pair in cell), ".2f"),
            _reached(middle(pair.p50_ratio for pair in cell)),
            _spread((pair.here.p99_ms for pair in cell), ".2f"),
            _spread((pair.cluster.p99_ms for pair in cell), ".2f"),
            _spread((pair.p99_ratio for pair in cell), ".2f"),
            _reached(middle(pair.p99_ratio for pair in cell)),
            _exact(cell),
        ]
        for cell in cells(pair for pair in pairs if pair.mode != "full")
    ]
    return table("Latency at the same rate", heads, rows)


def _notes(pairs: Sequence[Pair]) -> str:
    """What has to be known to read the tables; nothing without any pair."""
    if not pairs:
        return ""
    idle = [result.idle_before for pair in pairs for result in (pair.here, pair.cluster)]
    starts = [_spread((getattr(pair, side).start_seconds or None for pair in pairs), ".1f") for side in ("here", "cluster")]
    return "\n".join(
        [
            "A ratio is the median of the rounds' own: the cluster's speed over that of `pasps run`, the latency of `pasps run` over the",
            "cluster's; so more is better for the cluster. The cluster, without a topology, stays up while `pasps run` is measured.",
            f"From the start of the program to the first event at a sink: `pasps run` {starts[0]} s, submitted {starts[1]} s.",
            f"How idle the machine was just before the runs: {median(idle):.0f}%, at the least {min(idle):.0f}%.",
        ]
    )


def _problems(pairs: Sequence[Pair]) -> str:
    lines = [f"- {problem}" for pair in pairs for problem in pair.problems]
    return "\n".join(["### Problems", "", *lines]) if lines else ""


def _names(cell: list[Pair]) -> list[str]:
    return [cell[0].workload.upper(), cell[0].subject.name, str(cell[0].subject.workers)]


def _exact(cell: list[Pair]) -> str:
    return "yes" if all(pair.here.exact and pair.cluster.exact for pair in cell) else "NO"


def _reached(ratio: float | None) -> str:
    # as it is printed: 0.80 is not a miss
    return _NOTHING if ratio is None else "yes" if round(ratio, 2) >= AIM else "NO"


def _spread(values: Iterable[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return _NOTHING
    text, least, most = (format(value, form) for value in (median(known), min(known), max(known)))
    return text if least == most else f"{text} [{least}-{most}]"
