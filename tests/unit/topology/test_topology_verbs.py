from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import pytest

from pasps.api import Grouping
from pasps.api.blueprint import Blueprint
from pasps.api.bolt import Bolt
from pasps.api.context import TopologyContext
from pasps.api.spout import Spout
from pasps.api.topology import Topology
from pasps.api.tuples import Tuple
from pasps.control.decision_log import Restarts
from pasps.control.settings import ElasticSettings
from pasps.errors import InvalidError
from pasps.topology.elastic import ElasticConfig
from pasps.topology.run_record import RunState
from pasps.topology.status import status_from
from pasps.topology.topology_verbs import TopologyVerbs
from tests.unit.cli.builders import Doubled, report
from tests.unit.in_process import InProcessTopology, rounds


class Quiet(Spout):
    outputs = ("n",)

    def next_tuple(self) -> None:
        pass


class Doubling(Topology):
    numbers = Quiet.spec()
    doubled = Doubled.spec(inputs=[numbers], par=2, pool=4)


class Logs(Bolt):
    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.log = threading.Lock()

    def process(self, tup: Tuple) -> None:
        pass


class Logging(Topology):
    numbers = Quiet.spec()
    doubled = Logs.spec(inputs={numbers: Grouping.fields("n")}, par=2, pool=4)


class RunStanding:
    def __init__(self) -> None:
        self.state = RunState.RUNNING

    def enter(self, state: RunState) -> None:
        self.state = state


class Bench(InProcessTopology):
    """The verbs with what is around them."""

    def __init__(self, topology: Blueprint | None = None, workers: int = 1, *, elastic: bool = False) -> None:
        settings = ElasticSettings.from_config({"pasps.predictor": "none"})
        super().__init__(topology or Doubling.blueprint(), workers, control=ElasticConfig(settings, "pasps") if elastic else None)
        self.started(awake=elastic)
        self.standing = RunStanding()
        self.killed: list[float | None] = []
        self.verbs = TopologyVerbs(self.controller, self.standing, self.kill)

    async def kill(self, wait: float | None) -> Mapping[str, Any]:
        self.killed.append(wait)
        return {"left": {}}

    def call(self, name: str, **arguments: Any) -> Any:
        told = self.run(self.verbs.call(name, arguments))
        self.run(rounds())
        return told

    @property
    def awake(self) -> bool:
        """What workers were told last."""
        return bool(self.launcher.spouts) and self.launcher.spouts[-1][1]


@pytest.fixture(autouse=True)
def _all_end() -> Iterator[None]:
    yield
    Bench.close_all()


def test_status_is_all_that_is_known() -> None:
    bench = Bench(elastic=True)
    bench.controller.errors.extend(report(str(number)) for number in range(30))
    bench.clock.advance(3.0)
    status = status_from(bench.call("status"))
    assert (status.name, status.state, status.uptime_seconds) == ("doubling", RunState.RUNNING, 3.0)
    assert [component.id for component in status.components] == ["numbers", "doubled"]
    assert (status.workers_wanted, [worker.pid for worker in status.workers]) == (1, [41])
    assert [error.text for error in status.errors] == [str(number) for number in range(20, 30)]
    assert bench.controller.elastic is not None
    assert status.elastic == asdict(bench.controller.elastic.view())
    assert status.elastic["policy"] == "pasps"
    assert Bench().call("status")["elastic"] is None
    assert (status.restarting, status.restarts, status.troubles) == ("", Restarts(), ())


def test_status_says_what_keeps_a_part_of_it_from_working() -> None:
    bench = Bench()
    bench.run(bench.crash("w0"))
    (trouble,) = status_from(bench.call("status")).troubles
    assert trouble.startswith("worker w0 cannot live: it died 5 times within a minute")


def test_status_says_that_all_workers_are_started_anew_and_how_often_they_were() -> None:
    bench = Bench()
    restarts = bench.controller.restarts
    restarts.under_way, restarts.so_far = "all workers are being started anew (doubled 1 -> 2)", Restarts(3, 90.0, 2.5, 7)
    status = status_from(bench.call("status"))
    assert status.restarting == "all workers are being started anew (doubled 1 -> 2)"
    assert status.restarts == Restarts(3, 90.0, 2.5, 7)


def test_scale_sets_what_works_and_tells_before_and_after() -> None:
    told = Bench().call("scale", bolts={"doubled": 4})
    assert told == {"table_version": 2, "bolts": {"doubled": {"before": 2, "planned": 4, "after": 4, "error": None}}}


def test_what_the_controller_refuses_is_told_for_its_bolt() -> None:
    told = Bench(Logging.blueprint(), 3).call("scale", bolts={"doubled": 3})["bolts"]["doubled"]
    assert (told["before"], told["after"], told["error"][0]) == (2, 2, "UnmovableError")
    assert "attribute 'log' cannot move" in told["error"][1]


@pytest.mark.parametrize(
    ("bolts", "words"),
    [
        ({}, "at least one bolt"),
        ({"doubled": 1, "doublet": 1}, "doublet=1: there is no bolt 'doublet' in topology 'doubling'; did you mean 'doubled'?"),
        ({"doubled": 1, "numbers": 1}, "it is a spout"),
        ({"doubled": 0}, "doubled=0: expected 1 to 4 replicas of 'doubled'"),
        ({"doubled": 5}, "expected 1 to 4 replicas"),
        ({"numbers": "auto"}, "it is a spout"),
        ({"doubled": "auto"}, "doubled=auto: the topology is not elastic, pasps.policy is static"),
    ],
)
def test_scale_checks_all_before_it_changes_any(bolts: dict[str, Any], words: str) -> None:
    bench = Bench()
    with pytest.raises(InvalidError) as caught:
        bench.call("scale", bolts=bolts)
    assert words in str(caught.value)
    assert bench.controller.publisher.table.version == 1


def test_auto_gives_a_bolt_back_to_whoever_decides() -> None:
    bench = Bench(elastic=True)
    assert bench.controller.elastic is not None
    bench.call("scale", bolts={"doubled": 3})
    assert bench.controller.elastic.view().held == {"doubled": 3}
    told = bench.call("scale", bolts={"doubled": "auto"})["bolts"]["doubled"]
    assert (told, bench.controller.elastic.view().held) == ({"before": 3, "planned": None, "after": 3, "error": None}, {})


def test_spouts_are_stopped_and_started() -> None:
    bench = Bench()
    assert bench.call("deactivate") == {"state": "inactive"}
    assert ([awake for _, awake in bench.launcher.spouts], bench.standing.state) == ([False], RunState.INACTIVE)
    assert bench.call("activate") == {"state": "running"}
    assert bench.awake


@pytest.mark.parametrize("state", [RunState.STARTING, RunState.DRAINING, RunState.ENDED])
def test_nobody_wakes_the_spouts_of_one_that_drains(state: RunState) -> None:
    bench = Bench()
    bench.standing.state = state
    with pytest.raises(InvalidError, match=f"is {state}, so its spouts stay as they are"):
        bench.call("activate")
    assert not bench.awake


@pytest.mark.parametrize("state", [RunState.STARTING, RunState.DRAINING])
@pytest.mark.parametrize(("verb", "wanted"), [("activate", "active"), ("deactivate", "inactive")])
def test_where_it_is_kept_and_done_later_it_is_not_refused(state: RunState, verb: str, wanted: str) -> None:
    bench = Bench()
    bench.verbs = TopologyVerbs(bench.controller, bench.standing, bench.kill, lambda: True)
    bench.standing.state = state
    assert bench.call(verb) == {"state": str(state), "wanted": wanted}
    assert (bench.launcher.spouts, bench.standing.state) == ([], state), "nobody was told anything"


def test_kill_is_for_whoever_owns_the_run() -> None:
    bench = Bench()
    assert bench.call("kill", wait=3) == {"left": {}}
    bench.call("kill")
    assert bench.killed == [3.0, None]


def test_errors_are_the_last_ones_of_one_component_or_of_all() -> None:
    bench = Bench()
    bench.controller.errors.extend([report("a"), report("b", "numbers"), report("c")])
    assert [error["text"] for error in bench.call("errors")["errors"]] == ["a", "b", "c"]
    assert [error["text"] for error in bench.call("errors", limit=1, component="doubled")["errors"]] == ["c"]
    with pytest.raises(InvalidError, match="there is no component 'doubles' in topology 'doubling'; did you mean 'doubled'"):
        bench.call("errors", component="doubles")


def test_workers_that_were_lost_are_told_in_their_places_among_the_errors_and_once() -> None:
    bench = Bench()
    own = replace(report("worker w0 died: status 7", ""), time=2.0)
    killed = replace(report("worker w0 died: SIGKILL", ""), time=3.0)
    bench.controller.errors.extend([replace(report("a"), time=1.0), own, replace(report("b"), time=4.0)])
    bench.controller.losses.extend([own, killed])
    bench.controller.lost = 7
    assert [error["text"] for error in bench.call("errors")["errors"]] == ["a", own.text, killed.text, "b"]
    assert [error["text"] for error in bench.call("errors", limit=2)["errors"]] == [killed.text, "b"]
    assert [error["text"] for error in bench.call("errors", component="doubled")["errors"]] == ["a", "b"]
    status = status_from(bench.call("status"))
    assert (status.lost, status.losses, [error.text for error in status.errors]) == (7, (own, killed), ["a", own.text, "b"])
