"""The comparison as text: the paper's table, and the verdict. Markdown, which reads well in a terminal too. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.elasticity.outcomes import Numbers
from benchmarks.elasticity.verdict import STEADY, Judged, Row, Verdict
from benchmarks.report import table

_NOTHING = "-"
_UNSURE = ("saved", "mean ms", "p50", "p95", "p99")
"""Columns with the 95% interval of their mean, when there are several runs."""


def _share(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:.1%}"


def _all_or_share(value: float | None) -> str:
    """Nine events of ten thousand must not be rounded away."""
    return _NOTHING if value is None else "all" if value >= 1 else f"{min(value, 0.9999):.2%}"


def _millis(seconds: float | None) -> str:
    return _NOTHING if seconds is None else f"{seconds * 1000:,.0f}"


def _count(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:,.0f}"


_COLUMNS: Sequence[tuple[str, Callable[[Numbers], str]]] = (
    ("saved", lambda row: _share(row.saved)),
    ("degradation", lambda row: _share(row.degradation)),
    ("processed", lambda row: _all_or_share(row.processed)),
    ("mean ms", lambda row: _millis(row.mean)),
    ("p50", lambda row: _millis(row.p50)),
    ("p95", lambda row: _millis(row.p95)),
    ("p99", lambda row: _millis(row.p99)),
    ("MAPE input", lambda row: _share(row.input_error)),
    ("MAPE replicas", lambda row: _share(row.replica_error)),
    ("lost", lambda row: _count(row.lost)),
    ("duplicated", lambda row: _count(row.duplicated)),
    ("up", lambda row: _count(row.activations)),
    ("down", lambda row: _count(row.deactivations)),
    ("replica-s", lambda row: _count(row.replica_seconds)),
    ("cores used", lambda row: f"{row.cores_used:.2f}"),
)


def result_table(title: str, rows: Sequence[Row]) -> str:
    """One row a run; of repeated ones the mean."""
    heads = ["run", *(head for head, _ in _COLUMNS)]
    cells = [[_name(row), *(_with_margin(row, head, cell) for head, cell in _COLUMNS)] for row in rows]
    if any(row.latency_target is not None for row in rows):
        heads.append("minutes kept")
        cells = [[*line, _kept(row)] for line, row in zip(cells, rows, strict=True)]
    return table(title, heads, cells)


def _kept(row: Row) -> str:
    """Minutes within the latency that the run was told to keep, of those in which the whole pools kept it."""
    return _NOTHING if row.kept is None else f"{row.kept[0]} of {row.kept[1]}"


def _with_margin(row: Row, head: str, cell: Callable[[Numbers], str]) -> str:
    margin = row.margins.get({"mean ms": "mean"}.get(head, head))
    if margin is None or head not in _UNSURE:
        return cell(row.numbers)
    return f"{cell(row.numbers)} ± {100 * margin:.1f}" if head == "saved" else f"{cell(row.numbers)} ± {_millis(margin)}"


def verdict_text(verdict: Verdict) -> str:
    """What becomes of the aim, point by point."""
    if verdict.reached is None:
        return "No verdict: it takes runs of `pasps`, and one of `presps` or `pa-sps`."
    judged = table(
        "Against the papers' policies, at what each of them saves",
        ["run", "saved", "mean ms", "pasps there, ms", "below"],
        [[one.name, _share(one.saved), _millis(one.latency), _there(one), "yes" if one.below else "NO"] for one in verdict.judged],
    )
    ratios = ", ".join(f"`{name}` {ratio:.2f}" for name, ratio in verdict.ratios.items()) or f"no run of `{STEADY}`"
    lost = f"NO: {', '.join(verdict.incomplete)}" if verdict.incomplete else "yes"
    lines = [
        judged,
        "",
        f"- Everything processed by `pasps`: {lost}.",
        f"- Mean latency over that of `{STEADY}`: {ratios}.",
        f"- The aim, a curve below every point and everything processed: {'reached' if verdict.reached else 'NOT reached'}.",
    ]
    if verdict.beside:
        heads = ["run", "saved", "what", "ms", "pasps there, ms", "times"]
        cells = [[one.name, _share(one.saved), one.what, _millis(one.latency), _there(one), _times(one)] for one in verdict.beside]
        lines += ["", table("Beside PA-SPS that knows what comes, at what it saves", heads, cells)]
    return "\n".join(lines)


def _times(judged: Judged) -> str:
    return _NOTHING if judged.curve is None else f"{judged.curve / judged.latency:.2f}"


def _there(judged: Judged) -> str:
    return "saves less" if judged.curve is None else _millis(judged.curve)


def _name(row: Row) -> str:
    return row.name if row.repeats == 1 else f"{row.name} (mean of {row.repeats})"
