"""What is shown of a run: plain lines for logs and pipes, JSON lines for programs. The live view is in `live_view`; see `choose_view`.

A JSON line is an object with `type` "progress" or, once, at the end, "summary". Both have `run_dir`, the fields of `Frame`, and
`components`, by name, with those of `ComponentFrame`; times in seconds, null for what is not known. The summary adds `topology`,
`ended` (finished, duration, interrupted, terminated, stopped, killed), `exit_code`, `signal`, `left`, `unreplayed`,
`workers_lost`, `restarts` (of all workers, for plans: `count`, seconds `waited` and `silent`, `replayed`, `dropped`, `lost`, and
those that were `called_off`), and `reports`, the last errors: `component`, `task`, `time`, `text`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import asdict
from types import TracebackType
from typing import Any, Protocol, Self, TextIO, cast

from pasps.cli.views.elastic_lines import elastic_words
from pasps.cli.views.frame import Frame
from pasps.cli.views.outcome import Outcome
from pasps.cli.views.output import Diverted
from pasps.cli.views.summary import summary_text
from pasps.cli.words import clock_text, count_text, rate_text, seconds_text, share_text
from pasps.topology.summary import Summary


class View(Protocol):
    """A context manager around a run; `summary` comes after it was left."""

    interval: float
    """Seconds between two frames."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

    def say(self, text: str) -> None:
        """What happens now, in a line."""

    def show(self, frame: Frame) -> None:
        """A newer frame."""

    def summary(self, outcome: Outcome) -> None:
        """The end."""


class PlainView:
    """A line every two seconds."""

    interval = 2.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def say(self, text: str) -> None:
        """See `View`."""
        print(text, flush=True)

    def show(self, frame: Frame) -> None:
        """See `View`."""
        print(plain_line(frame), flush=True)

    def summary(self, outcome: Outcome) -> None:
        """See `View`."""
        print(summary_text(outcome), flush=True)


class JsonView:
    """An object a second on standard output; whatever else is printed there goes to standard error."""

    interval = 1.0

    def __init__(self, run_dir: str) -> None:
        self._run_dir = run_dir
        self._diverted = Diverted([1], 2)
        self._out: TextIO

    def __enter__(self) -> Self:
        self._diverted.__enter__()
        self._out = open(self._diverted.original(1), "w", encoding="utf-8", closefd=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._diverted.__exit__(kind, error, trace)

    def say(self, text: str) -> None:
        """See `View`."""

    def show(self, frame: Frame) -> None:
        """See `View`."""
        print(json.dumps({"type": "progress", "run_dir": self._run_dir, **frame_object(frame)}), file=self._out, flush=True)

    def summary(self, outcome: Outcome) -> None:
        """See `View`."""
        print(json.dumps(summary_object(outcome)), file=sys.stdout, flush=True)


def frame_object(frame: Frame) -> dict[str, Any]:
    """A frame as JSON has it."""
    fields = asdict(frame)
    components = {component.pop("name"): component for component in fields.pop("components")}
    return {**fields, "components": components}


def summary_object(outcome: Outcome) -> dict[str, Any]:
    """The end as JSON has it."""
    frame = outcome.frame
    summary = Summary(
        run_dir=outcome.run_dir,
        topology=outcome.topology,
        ended=outcome.ended.value,
        seconds=frame.seconds,
        emitted=frame.emitted,
        acked=frame.acked,
        failed=frame.failed,
        replayed=frame.replayed,
        left=dict(outcome.left),
        restarts=outcome.restarts,
        troubles=frame.troubles,
        reports=outcome.errors,
    )
    own = {
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "unreplayed": outcome.unreplayed,
        "workers_lost": outcome.workers_lost,
    }
    return summary.as_json({**own, **frame_object(frame)})


def plain_line(frame: Frame) -> str:
    """A frame in one line."""
    parts = [
        clock_text(frame.seconds),
        f"in {rate_text(frame.emitted_per_second)}/s",
        f"acked {rate_text(frame.acked_per_second)}/s",
        f"pending {frame.pending:,}",
        f"backlog {count_text(frame.backlog)}",
        f"p99 {seconds_text(frame.recent_latency_p99)}"
        + ("" if frame.latency_p99 is None else f" (run {seconds_text(frame.latency_p99)})"),
        f"failed {frame.failed:,}",
        f"workers {frame.workers}/{frame.workers_wanted}",
    ]
    if frame.elastic is not None:
        parts.insert(2, elastic_words(frame.elastic))
    bolts = [
        f"{component.name} {component.active}/{component.pool} {share_text(component.busy)} queued {component.queued:,}"
        + (" blocks its workers" if component.blocks else "")
        for component in frame.components
        if not component.is_spout
    ]
    bolts += [f"trouble: {trouble}" for trouble in frame.troubles]
    if frame.restarting:
        bolts.append(frame.restarting)
    if frame.last_error is not None:
        # not all that is told is counted: what happened to a worker as a whole is no component's exception
        bolts.append((f"errors {frame.errors:,}, the last " if frame.errors else "last error ") + frame.last_error)
    return "  ".join(parts) + " | " + " | ".join(bolts)


def choose_view(title: str, run_dir: str, *, as_json: bool, no_tty: bool) -> View:
    """The view for what was asked, and for what standard output is."""
    if as_json:
        return JsonView(run_dir)
    if no_tty or not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return PlainView()
    # rich, which takes longer than the rest
    live_view = importlib.import_module("pasps.cli.views.live_view")
    return cast("View", live_view.LiveView(title))
