"""The figures of whole runs, and of odd ones. They are looked at by people; here they are pictures of a size."""

from __future__ import annotations

import struct
from dataclasses import replace

from pasps.control.run_log import Sample
from pasps.report.canvas import DOTS_PER_INCH, WIDTH
from pasps.report.course import course_of
from pasps.report.drawing import Drawing
from pasps.report.figures import MOST_BOLTS, draw
from pasps.report.observed import Output
from tests.unit.report.builders import bolt_sample, made_up, sample

ALL = ["report-input.png", "report-replicas.png", "report-latency.png", "report-queues.png"]


def drawn(samples: list[Sample]) -> list[Drawing]:
    return draw(course_of(samples, Output("acked"), 60))


def size(png: bytes) -> tuple[int, int]:
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_a_run_has_four_figures_of_a_size_that_a_page_can_carry() -> None:
    drawings = drawn(made_up(120, 10)[0])
    assert [drawing.name for drawing in drawings] == ALL
    for drawing in drawings:
        width, height = size(drawing.png)
        assert width == round(WIDTH * DOTS_PER_INCH)
        assert 300 < height < 1500
        assert 5_000 < len(drawing.png) < 250_000


def test_the_same_run_gives_the_same_pictures() -> None:
    samples = made_up(40, 10)[0]
    assert drawn(samples) == drawn(samples)


def test_a_static_run_without_predictions_is_drawn() -> None:
    drawings = drawn(made_up(40, 10, elastic=False)[0])
    assert [drawing.name for drawing in drawings] == ALL
    assert "predicted" not in drawings[0].seen


def test_without_latency_there_is_no_figure_of_it() -> None:
    samples = [replace(one, latency={}, latency_total=0.0, acked=0) for one in made_up(30, 10)[0]]
    assert [drawing.name for drawing in drawn(samples)] == [name for name in ALL if "latency" not in name]


def test_nothing_at_all_is_drawn_too() -> None:
    assert drawn([sample(1)]) == []
    assert len(drawn([sample(1, {}), sample(2, {})])) == 2
    assert len(drawn([sample(1), sample(2)])) == 3


def test_of_many_bolts_those_are_shown_that_change() -> None:
    def at(second: int) -> Sample:
        moving = {f"moving{index}": bolt_sample(1 + second % 2) for index in range(MOST_BOLTS)}
        return sample(second, {"still": bolt_sample(3), **moving, "quiet": bolt_sample(2)})

    seen = drawn([at(second) for second in range(1, 6)])[1].seen
    assert "moving0, moving1" in seen
    assert "still" not in seen
