"""The page as text: whole, on its own, and safe with any name."""

from __future__ import annotations

from base64 import b64encode
from html.parser import HTMLParser
from typing import Any

from pasps.control.decision_log import Act, Outcome
from pasps.control.plan import Plan
from pasps.report.definitions import DEFINITIONS
from pasps.report.drawing import Drawing
from pasps.report.measures import measures_of
from pasps.report.notable import notable
from pasps.report.page import View, page
from pasps.report.story import headlines, sentence
from tests.unit.report.builders import bolt_sample, made_up, record, sample

EVIL = "</p><script>alert('x')</script>&\"<img src=x>"
VOID = {"meta", "img", "br"}


class Reader(HTMLParser):
    """Keeps tags, and whether each that opens is closed in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def close(self) -> None:
        super().close()
        assert self._open == []


def view(**given: Any) -> View:
    samples, records = made_up(60, 10)
    measures = measures_of(samples, records, 10)
    fields: dict[str, Any] = {
        "title": "wordcount",
        "about": "policy pa-sps",
        "sentence": sentence(measures),
        "warnings": [],
        "headlines": headlines(measures),
        "drawings": [Drawing("report-input.png", b"picture", "Events over time.")],
        "measures": measures,
        "decisions": notable(records),
        "facts": [("policy", "pa-sps")],
        "command": "pasps run wordcount.py",
        **given,
    }
    return View(**fields)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader


def test_the_page_needs_no_script_and_no_other_file() -> None:
    reader = read(page(view()))
    assert not {"script", "link", "iframe", "object"} & set(reader.tags)
    sources = [value for name, value in reader.attributes if name in ("src", "href")]
    assert sources == ["data:image/png;base64," + b64encode(b"picture").decode()]
    assert "url(" not in page(view())


def test_every_measure_stands_there_with_its_definition() -> None:
    text = read(page(view())).text
    for definition in DEFINITIONS:
        assert definition.rare or definition.name in text
        assert definition.rare or definition.meaning in text
    for name in ("parse", "split", "count", "store"):
        assert name in text


def test_text_of_users_is_escaped_everywhere() -> None:
    measures = measures_of([sample(1, {EVIL: bolt_sample()}), sample(2, {EVIL: bolt_sample()})], [], 10)
    acts = {EVIL: Act(1, 5, 2, Outcome.FAILED, EVIL)}
    decisions = notable([record(1, 5, Plan({}, held=EVIL), acts=acts, notes=(EVIL,))])
    drawings = [Drawing("report-input.png", b"", EVIL)]
    safe = {"about": EVIL, "sentence": EVIL, "warnings": [EVIL], "facts": [(EVIL, EVIL)], "command": EVIL}
    text = page(view(title=EVIL, measures=measures, decisions=decisions, drawings=drawings, **safe))
    reader = read(text)
    assert "script" not in reader.tags
    assert reader.tags.count("img") == 1
    assert ("alt", EVIL) in reader.attributes
    assert reader.text.count(EVIL) >= 10


def test_a_phone_and_the_dark_are_provided_for() -> None:
    text = page(view())
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    assert "prefers-color-scheme: dark" in text
    assert "max-width: 44rem" in text


def test_a_run_of_which_little_is_known_has_a_page() -> None:
    text = read(page(view(measures=measures_of([], [], 10), drawings=[], decisions=[], headlines=[], command="", facts=[]))).text
    assert "None: nothing was changed, and nothing went wrong." in text
    assert "Over time" not in text
    assert "Bolts" not in text
