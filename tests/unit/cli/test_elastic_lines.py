"""What the views say of the control loop."""

from __future__ import annotations

from typing import Any

from pasps.cli.views.elastic_lines import Trail, elastic_lines, elastic_status, elastic_words


def said(**more: Any) -> dict[str, Any]:
    whole = {"policy": "pasps", "predictor": "lr", "source": "predictor", "arrived": 50.0, "predicted": 100.0, "decision": "", "held": {}}
    return {**whole, **more}


def test_input_and_expectation_are_drawn_on_one_scale() -> None:
    trail = Trail()
    for second, arrived in enumerate([0.0, 50.0, 100.0]):
        trail.add(second + 0.1, said(arrived=arrived, predicted=2 * arrived))
        trail.add(second + 0.6, said(arrived=999.0))
    assert trail.bars() == ("▁▅█", " ▁█")


def test_an_expectation_stands_under_the_second_it_was_made_for() -> None:
    trail = Trail()
    trail.add(0.0, said(arrived=None, predicted=70.0))
    trail.add(1.0, said(arrived=70.0, predicted=0.0))
    assert trail.bars() == (" █", " █")


def test_without_any_input_nothing_is_divided_by_zero() -> None:
    trail = Trail()
    trail.add(0.0, said(arrived=0.0, predicted=0.0))
    assert trail.bars() == ("▁", " ")


def test_the_last_decision_and_what_is_held_by_hand_are_shown() -> None:
    lines = elastic_lines(said(decision="cycle 3: a 1->2", held={"b": 4}), Trail())
    assert lines[-1] == "policy pasps   cycle 3: a 1->2   by hand: b=4"
    assert lines[1].endswith("100/s  lr")


def test_a_policy_without_forecasts_has_no_line_of_them() -> None:
    lines = elastic_lines(said(policy="static", predictor=None, source=None, predicted=None), Trail())
    assert [line.split()[0] for line in lines] == ["input", "policy"]
    assert elastic_words(said(policy="static", predictor=None, predicted=None)) == "policy static"
    assert elastic_words(said(policy="presps", predictor=None, source=None)) == "expected 100/s"


def test_a_lower_rung_of_the_ladder_is_named() -> None:
    assert elastic_words(said(source="basic")) == "expected 100/s lr, basic"


def test_a_status_says_policy_input_and_what_is_held() -> None:
    assert elastic_status(said(decision="cycle 3: a 1->2", held={"b": 4})) == [
        "policy     pasps   cycle 3: a 1->2",
        "input      50/s   expected 100/s lr",
        "by hand    b=4",
    ]
    nothing = said(predictor=None, policy="static", predicted=None, arrived=None)
    assert elastic_status(nothing) == ["policy     static   nothing decided yet"]
