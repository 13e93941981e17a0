from __future__ import annotations

from typing import Any

import pytest

from pasps.cli import exit_codes
from pasps.control.decision_log import Restarts
from pasps.topology.summary import Reason
from tests.unit.cli.builders import outcome


@pytest.mark.parametrize("ended", [Reason.FINISHED, Reason.DURATION, Reason.INTERRUPTED, Reason.TERMINATED, Reason.STOPPED])
def test_whoever_ended_it_a_run_that_lost_nothing_is_fine(ended: Reason) -> None:
    assert outcome(ended, emitted_first=5, acked=5).exit_code == exit_codes.OK


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"failed": 3, "replayed": 3, "acked": 9}, exit_codes.OK),
        ({"failed": 3, "replayed": 2}, exit_codes.FAILED),
        ({"doubled": {"errors": 1}}, exit_codes.FAILED),
        ({"workers_lost": 1, "emitted_first": 9, "acked": 9}, exit_codes.OK),
        ({"workers_lost": 1, "emitted_first": 9}, exit_codes.FAILED),
        ({"workers_lost": 1, "emitted_first": 9, "failed": 9, "replayed": 9}, exit_codes.OK),
        ({"workers_lost": 1, "emitted_first": 9, "pending": 9}, exit_codes.OK),
        ({"restarts": Restarts(2, 60.0, 3.0, 17, 40), "emitted_first": 9, "acked": 9}, exit_codes.OK),
        ({"restarts": Restarts(2, 60.0, 3.0, 0, 40, 40), "emitted_first": 9}, exit_codes.FAILED),
        ({"left": {"doubled": 1}, "failed": 3}, exit_codes.LEFT_OVER),
        ({"signal": 2, "left": {"doubled": 1}}, 130),
        ({"signal": 15}, 143),
    ],
)
def test_the_exit_code_says_what_became_of_the_tuples(given: dict[str, Any], code: int) -> None:
    assert outcome(**given).exit_code == code


def test_a_worker_that_cannot_live_at_the_end_is_a_failure() -> None:
    assert outcome(emitted_first=5, acked=5, troubles=["worker w0 cannot live"]).exit_code == exit_codes.FAILED


def test_the_help_names_every_code() -> None:
    named = {line.split()[0] for line in exit_codes.HELP.splitlines()[1:]}
    codes = (exit_codes.OK, exit_codes.BROKEN, exit_codes.INVALID, exit_codes.NOT_STARTED, exit_codes.LEFT_OVER, exit_codes.FAILED)
    assert named == {*map(str, codes), f"{exit_codes.BY_SIGNAL}+n"}
    assert {str(exit_codes.NOT_RUNNING), str(exit_codes.NO_ANSWER)} <= {line.split()[0] for line in exit_codes.VERB_HELP.splitlines()[1:]}
