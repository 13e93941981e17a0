"""Figures as PNGs: our curves over theirs."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.papers.report import Drawing

_OURS = ("#1b9e77", "#7570b3", "#e7298a", "#66a61e")


def draw(drawing: Drawing, folder: Path) -> Path:
    """A panel for each of our curves, with theirs of the same name behind it, or one for all."""
    rows = 1 if drawing.together else len(drawing.ours)
    figure = Figure(figsize=(11, 1.1 + (3.8 if drawing.together else 1.9 * rows)), layout="constrained")
    panels = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    figure.suptitle(drawing.title)
    for number, (name, (moments, values)) in enumerate(drawing.ours.items()):
        panel = panels[0 if drawing.together else number]
        if name in drawing.theirs:
            panel.plot(*drawing.theirs[name], color="#d95f02", linewidth=1.0, label=f"{name}, published")
        panel.plot(moments, values, color=_OURS[number % len(_OURS) if drawing.together else 0], linewidth=1.2, label=f"{name}, here")
        panel.set_ylabel(drawing.ylabel)
        panel.grid(alpha=0.3)
        panel.legend(loc="best" if drawing.together else "upper right", fontsize="small")
    panels[-1].set_xlabel(drawing.xlabel)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{drawing.name}.png"
    figure.savefig(path, dpi=110)
    return path
