"""Figures as PNGs: our curves over theirs."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.papers.report import Drawing


def draw(drawing: Drawing, folder: Path) -> Path:
    """A panel for each of our curves, with theirs of the same name behind it."""
    figure = Figure(figsize=(11, 1.1 + 1.9 * len(drawing.ours)), layout="constrained")
    panels = figure.subplots(len(drawing.ours), 1, sharex=True, squeeze=False)[:, 0]
    figure.suptitle(drawing.title)
    for panel, (name, (moments, values)) in zip(panels, drawing.ours.items(), strict=True):
        if name in drawing.theirs:
            panel.plot(*drawing.theirs[name], color="#d95f02", linewidth=1.0, label=f"{name}, published")
        panel.plot(moments, values, color="#1b9e77", linewidth=1.2, label=f"{name}, here")
        panel.set_ylabel(drawing.ylabel)
        panel.grid(alpha=0.3)
        panel.legend(loc="upper right", fontsize="small")
    panels[-1].set_xlabel("seconds")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{drawing.name}.png"
    figure.savefig(path, dpi=110)
    return path
