"""The figures: that they are pictures, and that labels do not hide each other."""

from __future__ import annotations

from itertools import combinations

from benchmarks.elasticity.drawings import label_offsets, latency_against_saved, replicas_over_time
from benchmarks.elasticity.outcomes import Numbers
from benchmarks.elasticity.verdict import Row
from pasps.control.run_log import BoltSample, Sample

PNG = b"\x89PNG\r\n"
NUMBERS = Numbers(0.5, 0.02, 1.0, 1000, 0.1, 0.09, 0.2, 0.3, None, None, 0, 0, 0, 10, 12, 900.0, 0.4)


def test_labels_of_near_points_stand_apart() -> None:
    marks = [(100.0, 100.0), (104.0, 102.0), (101.0, 95.0), (98.0, 99.0)]
    places = [(x + dx, y + dy) for (x, y), (dx, dy) in zip(marks, label_offsets(marks, ["presps"] * 4), strict=True)]
    assert all(abs(one[0] - other[0]) >= 27 or abs(one[1] - other[1]) >= 9.9 for one, other in combinations(places, 2))


def test_a_lonely_label_stands_beside_its_point() -> None:
    assert label_offsets([(100.0, 100.0)], ["pasps-1"]) == [(5.0, 0.0)]


def test_every_run_is_a_point() -> None:
    rows = [Row("static-8", "static", NUMBERS), Row("pasps-1", "pasps", NUMBERS), Row("other", "somebody's", NUMBERS)]
    assert latency_against_saved("wc", rows).startswith(PNG)
    assert latency_against_saved("nothing", []).startswith(PNG)


def test_replicas_are_drawn_under_the_input() -> None:
    bolts = {"first": BoltSample(4, 1, 8, 0, 10, 0.2)}
    samples = [Sample(float(second), 0.0, True, 1, second * 10, 0, 0, 0, 0, 0, 0, bolts) for second in range(1, 8)]
    assert replicas_over_time("wc", {"static-8": samples, "pasps-0.8": samples[:3]}).startswith(PNG)
