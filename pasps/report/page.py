"""The page: everything about a run as one HTML text that needs no other file, no script and no network. Pure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from pasps.report.definitions import BOLT_HEAD, bolt_rows, shown
from pasps.report.drawing import Drawing
from pasps.report.measures import Measures
from pasps.report.notable import Notable, lasted
from pasps.report.page_style import STYLE
from pasps.report.story import Headline


@dataclass(frozen=True, slots=True)
class View:
    """What stands on the page, from top to bottom. `facts` are names and values of how it was run."""

    title: str
    about: str
    sentence: str
    warnings: Sequence[str]
    headlines: Sequence[Headline]
    drawings: Sequence[Drawing]
    measures: Measures
    decisions: Sequence[Notable]
    facts: Sequence[tuple[str, str]]
    command: str


def page(view: View) -> str:
    """The whole text. Everything in it that is not ours is escaped."""
    title = escape(view.title)
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="robots" content="noindex">',
        f"<title>{title}: report of a run</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        "<header>",
        f"<h1>{title}</h1>",
        f'<p class="quiet">{escape(view.about)}</p>',
        f'<p class="lead">{escape(view.sentence)}</p>',
        *(f'<p class="warning">{escape(warning)}</p>' for warning in view.warnings),
        *_tiles(view.headlines),
        "</header>",
        "<main>",
        *_figures(view.drawings),
        *_measures(view.measures),
        *_bolts(view.measures),
        *_decisions(view.decisions),
        *_reproduce(view),
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _tiles(headlines: Iterable[Headline]) -> Iterator[str]:
    yield '<dl class="tiles">'
    for headline in headlines:
        value, beside = escape(headline.value), escape(headline.beside)
        yield f'<div class="tile"><dt>{escape(headline.name)}</dt><dd>{value}</dd><dd>{beside}</dd></div>'
    yield "</dl>"


def _figures(drawings: Sequence[Drawing]) -> Iterator[str]:
    if not drawings:
        return
    yield "<h2>Over time</h2>"
    yield '<div class="figures">'
    for drawing in drawings:
        data = b64encode(drawing.png).decode("ascii")
        yield f'<figure><img alt="{escape(drawing.seen)}" src="data:image/png;base64,{data}"></figure>'
    yield "</div>"


def _measures(measures: Measures) -> Iterator[str]:
    yield "<h2>Measures</h2>"
    yield '<table class="measures">'
    for heading, of_paper in (("The six of the PA-SPS paper", True), ("Beyond them", False)):
        yield f'<tr class="group"><td colspan="3">{heading}</td></tr>'
        for definition, text in shown(measures):
            if definition.of_paper == of_paper:
                cells = (definition.name, text, definition.meaning)
                yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    yield "</table>"


def _bolts(measures: Measures) -> Iterator[str]:
    if not measures.bolts:
        return
    yield "<h2>Bolts</h2>"
    yield '<div class="wide"><table class="bolts">'
    yield "<tr>" + "".join(f"<th>{head}</th>" for head in BOLT_HEAD) + "</tr>"
    for row in bolt_rows(measures):
        yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
    yield "</table></div>"
    yield (
        '<p class="quiet">Utilisation is the share of their time that active and draining replicas spent executing: '
        "CPU time of inline bolts, wall time of threads and coroutines.</p>"
    )


def _decisions(decisions: Sequence[Notable]) -> Iterator[str]:
    yield "<h2>Decisions worth reading</h2>"
    if not decisions:
        yield "<p>None: nothing was changed, and nothing went wrong.</p>"
        return
    yield '<p class="quiet">The largest changes, and whatever did not go as planned, in the order of time.</p>'
    yield '<ol class="decisions">'
    for found in decisions:
        why = f'<br><span class="quiet">{escape(found.why)}</span>' if found.why else ""
        when = f'<span class="quiet">{escape(lasted(found))}</span>'
        yield f'<li><span class="kind {found.kind}">{found.kind}</span>{when} <strong>{escape(found.what)}</strong>{why}</li>'
    yield "</ol>"


def _reproduce(view: View) -> Iterator[str]:
    yield "<h2>How it was run</h2>"
    if view.command:
        yield f"<pre>{escape(view.command)}</pre>"
        yield '<p class="quiet">The same topology and configuration. Other options of the run are not in it, and secrets are masked.</p>'
    yield '<div class="wide"><table>'
    for name, value in view.facts:
        yield f'<tr><td class="quiet">{escape(name)}</td><td>{escape(value)}</td></tr>'
    yield "</table></div>"
