"""A topology that was just submitted is followed until it runs, has failed, or the time is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pasps.cli import exit_codes
from pasps.cli.submit import Start, follow_start
from pasps.cluster.master.client import ClusterAddress, MasterAwayError, MasterClient
from pasps.cluster.master.failures import UnknownTopologyError
from pasps.cluster.master.records import TopologyView
from pasps.errors import PaspsError, ProtocolError
from pasps.testing.clock import FakeClock

Answer = tuple[str, str] | PaspsError


class Told(MasterClient):
    """Answers with these, one after the other, the last one again and again."""

    def __init__(self, answers: list[Answer]) -> None:
        super().__init__(ClusterAddress("http://master:1", None, "--master"))
        self._answers = self._endless(answers)

    def topology(self, name: str) -> TopologyView:
        match next(self._answers):
            case state, detail:
                return TopologyView(name, state, detail)
            case error:
                raise error

    @staticmethod
    def _endless(answers: list[Answer]) -> Iterator[Answer]:
        yield from answers
        while True:
            yield answers[-1]


def followed(*answers: Answer, seconds: float = 2.0) -> tuple[Start, list[str]]:
    clock, said = FakeClock(), list[str]()
    return follow_start(Told(list(answers)), "counting", seconds, said.append, clock.advance, clock), said


def test_what_changes_is_said_once_until_it_runs() -> None:
    waiting = ("waiting", "it waits for 2 places")
    start, said = followed(("starting", ""), ("starting", ""), waiting, waiting, ("running", ""))
    assert said == ["starting", "waiting: it waits for 2 places"]
    assert (start.state, start.exit_code) == ("running", exit_codes.OK)
    assert start.text(" --master URL").startswith("counting is running; watch it with `pasps top counting --master URL`, ")


def test_one_that_waits_for_places_is_left_to_itself() -> None:
    start, said = followed(("waiting", "it waits for 2 places"))
    assert start.exit_code == exit_codes.OK
    assert start.text("") == (
        "counting waits: it waits for 2 places\nit starts by itself; see `pasps list`, or take it back with `pasps kill counting`"
    )
    assert said == ["waiting: it waits for 2 places"]


@pytest.mark.parametrize(
    ("state", "detail", "code", "said"),
    [
        (
            "failed",
            "ValueError: no",
            exit_codes.NOT_STARTED,
            "counting could not start: ValueError: no\nremove it with `pasps kill counting`",
        ),
        ("inactive", "", exit_codes.OK, "its spouts are stopped until `pasps activate counting`; watch it"),
        ("ended", "", exit_codes.OK, "counting has ended already; see `pasps list --all`"),
        ("starting", "", exit_codes.NO_ANSWER, "counting is still starting; it goes on; watch it with `pasps top counting`"),
        ("lost", "its driver ended", exit_codes.NO_ANSWER, "counting is still lost"),
    ],
)
def test_every_end_has_its_words_and_its_code(state: str, detail: str, code: int, said: str) -> None:
    start, _ = followed((state, detail))
    assert start.exit_code == code
    assert said in start.text("")


def test_a_master_may_go_away_and_come_back() -> None:
    start, said = followed(
        ("starting", ""), MasterAwayError("no master leads now"), MasterAwayError("no master leads now"), ("running", "")
    )
    assert start.state == "running"
    assert said == ["starting", "no master leads now"]


def test_one_that_is_gone_has_ended() -> None:
    assert followed(("starting", ""), UnknownTopologyError("no"))[0] == Start("counting", "gone", "")


def test_what_will_not_pass_is_raised() -> None:
    with pytest.raises(ProtocolError):
        followed(ProtocolError("no master"))
