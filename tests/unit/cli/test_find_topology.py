"""Which topology is meant, of those here and those of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from pasps.cli.asking.which_run import choose_past, choose_view
from pasps.cli.exit_codes import NotRunningError
from pasps.cluster.master.client import read
from pasps.cluster.master.records import EndedTopology, TopologyView
from pasps.errors import InvalidError, ProtocolError
from pasps.topology.run_record import RunState
from tests.unit.cli.builders import known_run

URL = "http://master:1"


def view(name: str, state: str = "running", **more: Any) -> TopologyView:
    return TopologyView(name, state, **more)


ONE, TWO = view("counting", submitted=900.0), view("tweets", submitted=2000.0)


def test_the_only_one_need_not_be_named() -> None:
    assert choose_view([ONE], None, URL) is ONE
    assert choose_view([ONE, TWO], "tweets", URL) is TWO


@pytest.mark.parametrize(
    ("views", "wanted", "said"),
    [
        ([], None, "no topology runs in the cluster at http://master:1; submit one with `pasps submit FILE`"),
        ([], "a", "no topology named 'a' runs in the cluster at http://master:1; submit"),
        ([ONE, TWO], "tweet", "did you mean 'tweets'? there is\n  counting  running\n  tweets  running"),
        ([ONE], "zzz", "no topology named 'zzz' runs in the cluster at http://master:1; there is\n  counting"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(views: list[TopologyView], wanted: str | None, said: str) -> None:
    with pytest.raises(NotRunningError) as caught:
        choose_view(views, wanted, URL)
    assert said in str(caught.value)


def test_several_are_listed() -> None:
    with pytest.raises(InvalidError, match="several topologies run in the cluster at http://master:1; say which by its name\n  counting"):
        choose_view([ONE, TWO], None, URL)


def test_what_lives_comes_before_what_is_over_then_the_newest() -> None:
    ended, living = known_run("counting", RunState.ENDED), known_run("here", number=2)
    assert choose_past([ended], [ONE], "counting") is ONE
    assert choose_past([ended], [view("counting", "failed", submitted=900.0)], "counting") is ended
    assert choose_past([ended, living], [ONE], None) is living
    assert choose_past([living], [ONE, TWO], None) is TWO
    assert choose_past([ended], [], ended.entry.name) is ended
    assert choose_past([ended], [ONE], "other") is None


def test_one_that_ended_in_the_cluster_is_newer_than_a_run_here_that_was_over_before_it_began() -> None:
    before, after = known_run("counting", RunState.ENDED), known_run("counting", RunState.ENDED, started=3000.0)
    ended = [EndedTopology("counting", ended=500.0, submitted=400.0), EndedTopology("counting", ended=2500.0, submitted=2000.0)]
    assert choose_past([before], ended, "counting") is ended[1]
    assert choose_past([before, after], ended, "counting") is after
    assert choose_past([before], [*ended, ONE], "counting") is ONE
    assert choose_past([before], ended, None) is ended[1]
    living = known_run("counting")
    assert choose_past([living], ended, "counting") is living, "what is over does not run twice"


def test_a_name_that_lives_here_and_there_is_refused() -> None:
    with pytest.raises(InvalidError, match=r"topology 'counting' runs twice, .* give the run directory /base/runs/counting-"):
        choose_past([known_run("counting")], [ONE], "counting")
    assert choose_past([known_run("counting")], [TWO], "counting") is not None


def test_a_record_of_another_version_is_said_to_be_one() -> None:
    assert read({"name": "a", "state": "running", "news": 1}, TopologyView, "the master") == view("a")
    with pytest.raises(ProtocolError, match=r"the master: expected .*TopologyView.*, perhaps it is of another version of pasps: .*`name`"):
        read({"state": "running"}, TopologyView, "the master")
