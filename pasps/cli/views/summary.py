"""What is printed when a run is over, as text for people; `view` writes the same for programs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pasps.cli.views.frame import Frame
from pasps.cli.views.outcome import Outcome
from pasps.cli.words import count_text, rate_text, seconds_text, table
from pasps.control.decision_log import Restarts
from pasps.metrics import blocks_text
from pasps.topology.controller import ErrorReport
from pasps.topology.summary import Reason
from pasps.worker.tracebacks import without_our_frames

MOST_ERRORS = 3
INCOMPLETE = "incomplete a live worker did not answer in time, so its numbers are those that it told last"
_HEAD = ("component", "emitted", "executed", "failed", "errors", "active/pool", "mean execute", "executed/s")
_WHY = {
    Reason.FINISHED: "finished: every spout is at its end and everything is done",
    Reason.DURATION: "the time is over",
    Reason.INTERRUPTED: "interrupted",
    Reason.TERMINATED: "terminated",
    Reason.STOPPED: "stopped by `pasps kill`",
    Reason.KILLED: "ended at once, without draining",
}


def summary_text(outcome: Outcome) -> str:
    """The whole summary."""
    lines = [
        "",
        f"{outcome.topology}: {_why(outcome)} after {outcome.frame.seconds:.1f} s",
        "",
        *component_lines(outcome.frame),
        "",
        *frame_lines(outcome.frame),
        *_losses(outcome),
    ]
    if outcome.run_dir:
        lines.append(f"run        {outcome.run_dir}")
    if outcome.errors:
        lines += ["", *error_lines(outcome.errors, outcome.frame.errors)]
    return "\n".join(lines)


def _why(outcome: Outcome) -> str:
    why = _WHY[outcome.ended]
    if outcome.ended in (Reason.FINISHED, Reason.KILLED):
        return why
    return f"{why}, not drained in time" if outcome.left else f"{why}, drained"


def component_lines(frame: Frame) -> list[str]:
    """A table of all components since the start."""
    seconds = frame.seconds or 1.0
    rows = [
        (
            component.name,
            count_text(component.emitted),
            "-" if component.is_spout else count_text(component.executed),
            count_text(component.failed),
            count_text(component.errors),
            f"{component.active}/{component.pool}",
            "-" if component.is_spout else seconds_text(component.execute_seconds),
            "-" if component.is_spout else rate_text(component.executed / seconds),
        )
        for component in frame.components
    ]
    return table(_HEAD, rows)


def frame_lines(frame: Frame) -> list[str]:
    """What is counted of the whole topology since the start."""
    lines = [
        f"events in  {frame.emitted:,}   acked {frame.acked:,}   failed {frame.failed:,}   replayed {frame.replayed:,}",
        f"rate       {rate_text(frame.emitted / frame.seconds if frame.seconds else 0.0)} events/s   (whole run, as executed/s)",
    ]
    if frame.latency_p50 is not None:
        shown = [("p50", frame.latency_p50), ("p95", frame.latency_p95), ("p99", frame.latency_p99), ("mean", frame.latency_mean)]
        lines.append(f"latency    {_latencies(shown)}   (until the last ack, whole run)")
        recent = [
            *(("p50", frame.recent_latency_p50), ("p95", frame.recent_latency_p95)),
            *(("p99", frame.recent_latency_p99), ("mean", frame.recent_latency_mean)),
        ]
        lines.append(f"last 10 s  {_latencies(recent)}")
    return lines + blocking_lines(frame)


def blocking_lines(frame: Frame) -> list[str]:
    """Who blocks its workers, and the cure."""
    return [f"blocks     {one.name}: {blocks_text(is_spout=one.is_spout)}" for one in frame.components if one.blocks]


def _latencies(named: Sequence[tuple[str, float | None]]) -> str:
    return "   ".join(f"{name} {seconds_text(value)}" for name, value in named)


def _losses(outcome: Outcome) -> list[str]:
    lines = [f"backlog    {outcome.frame.backlog:,} events were due and not emitted when it ended"] if outcome.frame.backlog else []
    lines += restart_lines(outcome.restarts)
    if outcome.workers_lost:
        lines.append(f"workers    {outcome.workers_lost} lost and started again")
    if outcome.perhaps_lost:
        lines.append("lost       nothing is tracked, so whatever a lost worker held is gone")
    if outcome.unreplayed:
        lines.append(f"lost       {outcome.unreplayed:,} failed and were not emitted again")
    lines += [f"trouble    {trouble}" for trouble in outcome.frame.troubles]
    if not outcome.frame.complete:
        lines.append(INCOMPLETE)
    if outcome.left:
        lines.append("left       " + ", ".join(f"{name}: {count:,}" for name, count in outcome.left.items()))
    return lines


def restart_lines(restarts: Restarts) -> list[str]:
    """How often plans had all workers started anew, and at what price."""
    lines = []
    if restarts.count:
        times = f"{restarts.count} by plans" if restarts.count > 1 else "1 by a plan"
        silence = f"the spouts were silent for {seconds_text(restarts.waited + restarts.silent)}"
        lines.append(f"restarts   {times}; {silence}" + (f", {restarts.replayed:,} events came again" if restarts.replayed else ""))
    if restarts.called_off:
        lines.append(f"restarts   {restarts.called_off} called off: the spouts were silent already, and no worker had ended yet")
    if restarts.lost:
        lines.append(f"lost       {restarts.lost:,} untracked tuples went with workers that were started anew")
    return lines


def error_lines(errors: Sequence[ErrorReport], total: int) -> list[str]:
    """The last of them, each kind once, and how many there were in all."""
    kinds: dict[tuple[str, str], ErrorReport] = {}
    for error in errors:
        # the last line differs from tuple to tuple, what is above it says where
        kind = error.component, error.text.rstrip().rpartition("\n")[0] or error.text
        kinds.pop(kind, None)
        kinds[kind] = error
    shown = list(kinds.values())[-MOST_ERRORS:]
    total = max(total, len(errors))  # what happened to a worker as a whole is no component's
    lines = [f"errors     {total:,}; the last:" if total > len(shown) else f"errors     {total:,}:"]
    for error in shown:
        lines.append(f"  {error.where}:")
        lines += [f"    {line}" for line in without_our_frames(error.text).splitlines()]
    return lines
