"""The live view: one table that is drawn again in place. Imports rich, which takes longer than the rest of the command line."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console, ConsoleDimensions
from rich.live import Live
from rich.text import Text

from pasps.cli.views.elastic_lines import Trail, elastic_lines
from pasps.cli.views.frame import ComponentFrame, Frame
from pasps.cli.views.outcome import Outcome
from pasps.cli.views.output import Diverted, LineCatcher
from pasps.cli.views.summary import blocking_lines, summary_text
from pasps.cli.words import clock_text, count_text, rate_text, seconds_text, share_text

_COLUMNS = ("component", "emitted/s", "executed/s", "queued", "active", "execute", "busy", "failed", "errors")
_HOT = 0.8
"""From this share of its time on a bolt is shown as close to its limit."""


class LiveView:
    """See `View`. What anybody prints meanwhile appears above the table."""

    interval = 0.25

    def __init__(self, title: str) -> None:
        self._title = title
        self._said = ""
        self._frame: Frame | None = None
        self._trail = Trail()
        self._stack = ExitStack()
        self._catcher: LineCatcher
        self._console: Console
        self._live: Live
        self._out: TextIO

    def __enter__(self) -> Self:
        self._catcher = LineCatcher()
        self._stack.callback(self._print_caught)
        self._stack.callback(self._catcher.close)
        # standard error stays where it is when it goes to a file
        diverted = self._stack.enter_context(Diverted([1, 2] if os.isatty(2) else [1], self._catcher.descriptor))
        self._out = self._stack.enter_context(open(diverted.original(1), "w", encoding="utf-8", closefd=False))
        self._console = Console(file=self._out)
        self._live = Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
        self._stack.enter_context(self._live)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, trace)

    def say(self, text: str) -> None:
        """See `View`."""
        self._said = text
        self._draw()

    def show(self, frame: Frame) -> None:
        """See `View`."""
        self._frame = frame
        if frame.elastic is not None:
            self._trail.add(frame.seconds, frame.elastic)
        self._draw()

    def summary(self, outcome: Outcome) -> None:
        """See `View`."""
        print(summary_text(outcome), flush=True)

    def _draw(self) -> None:
        with suppress(OSError):
            width, height = os.get_terminal_size(self._out.fileno())
            # the usual descriptors are not the terminal now, so rich cannot ask it; a size of 0 says that nobody knows
            self._console.size = ConsoleDimensions(width or 80, height or 25)
        if lines := self._catcher.take():
            self._console.print(Text("\n".join(lines)))  # one call, since each draws the table again
        self._live.update(_screen(f"{self._title}   {self._said}", self._frame, self._trail), refresh=True)

    def _print_caught(self) -> None:
        for line in self._catcher.take():
            print(line, flush=True)


def _screen(head: str, frame: Frame | None, trail: Trail) -> Text:
    """All of it as one text: rich takes ten times as long over a table of its own."""
    text = Text(no_wrap=True, overflow="crop")
    text.append(head, style="bold")
    if frame is None:
        return text
    text.append(
        f"\n{clock_text(frame.seconds)}   in {rate_text(frame.emitted_per_second)}/s   acked {rate_text(frame.acked_per_second)}/s\n"
        f"latency of the last 10 s p50 {seconds_text(frame.recent_latency_p50)}, p99 {seconds_text(frame.recent_latency_p99)}   "
        f"of the whole run {seconds_text(frame.latency_p50)}, {seconds_text(frame.latency_p99)}\n"
    )
    text.append(
        f"workers {frame.workers}/{frame.workers_wanted}   pending {frame.pending:,}   backlog {count_text(frame.backlog)}   "
        f"replays {frame.replayed:,}   failed {frame.failed:,}\n",
        style="" if frame.workers == frame.workers_wanted else "yellow",
    )
    if frame.elastic is not None:
        text.append("\n".join(elastic_lines(frame.elastic, trail)) + "\n", style="cyan")
    _append_table(text, frame)
    for line in blocking_lines(frame):
        text.append(f"\n{line}", style="yellow")
    if frame.restarting:
        text.append(f"\nrestart     {frame.restarting}", style="yellow")
    for trouble in frame.troubles:
        text.append(f"\ntrouble     {trouble}", style="red")
    if frame.last_error is not None:
        text.append(f"\nlast error  {frame.last_error}", style="red")
    return text


def _append_table(text: Text, frame: Frame) -> None:
    rows = [[(name, "dim") for name in _COLUMNS], *(_row(component) for component in frame.components)]
    widths = [max(len(row[i][0]) for row in rows) for i in range(len(_COLUMNS))]
    for number, row in enumerate(rows):
        if number:
            text.append("\n")
        for i, ((cell, style), width) in enumerate(zip(row, widths, strict=True)):
            text.append(cell.rjust(width + 1) if i else cell.ljust(width), style=style)


def _row(component: ComponentFrame) -> list[tuple[str, str]]:
    """Text and style of each cell."""
    is_spout = component.is_spout
    hot = component.busy is not None and component.busy >= _HOT
    return [
        (component.name, ""),
        (rate_text(component.emitted_per_second), ""),
        ("" if is_spout else rate_text(component.executed_per_second), ""),
        ("" if is_spout else count_text(component.queued), ""),
        (f"{component.active}/{component.pool}", ""),
        ("" if is_spout else seconds_text(component.execute_seconds), ""),
        ("" if is_spout else share_text(component.busy), "yellow" if hot else ""),
        (count_text(component.failed), "red" if component.failed else ""),
        (count_text(component.errors), "red" if component.errors else ""),
    ]
