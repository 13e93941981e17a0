"""Events of several classes, each with a cost of its own, and groupings that look at what they take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from pasps import Grouping
from pasps.activation import with_active
from pasps.api.groupings import Kind
from pasps.control.settings import RestartSettings
from pasps.control.situation import PolicySettings
from pasps.errors import GroupingError, InvalidError
from pasps.groupings import Carrying, GroupingType, Pick, Receiver, Row, Sender, TargetView, by_target
from pasps.groupings.osg import OsgSplitter, State
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.graph import Graph, GraphBolt, with_classes
from pasps.simulation.model import Model
from pasps.simulation.run import Order, simulate
from tests.unit.simulation.graphs import PARCELS, bolt, graph, model, ran

SHARES = (0.7, 0.2, 0.1)
SECONDS = (0.002, 0.010, 0.060)
MEAN = sum(share * seconds for share, seconds in zip(SHARES, SECONDS, strict=True))


def classed(grouping: Any = Grouping.SHUFFLE, execution: str = "thread", pool: int = 4, **changes: Any) -> Graph:
    """One bolt whose replicas have queues of their own, and whose events take what their class says."""
    of: GraphBolt = bolt("a", "s", pool=pool, par=pool, execution=execution, grouping=grouping, shared_queues=False)
    return with_classes(graph(of, **{"workers": pool, "cores": pool, **changes}), SHARES, {"a": SECONDS})


def at(share: float, pool: int = 4, seconds: int = 60) -> Arrivals:
    """So much of what the bolt can carry, at random."""
    return Arrivals((round(share * pool / MEAN),) * seconds, seed=1)


def scheduler(of: Model) -> OsgSplitter:
    """The spout's."""
    (splitter,) = of._bolts["a"].splitters.values()  # noqa: SLF001
    assert isinstance(splitter, OsgSplitter)
    return splitter


def test_events_take_what_their_class_says_and_the_mean_in_the_mean() -> None:
    of = classed()
    assert of.bolts[0].et_seconds == pytest.approx(MEAN)
    found = ran(of, Arrivals((20,) * 200))
    stats = found.stats().components["a"]
    assert stats.execute_seconds == pytest.approx(MEAN, rel=0.05)
    assert found.latency.quantile(0.5) == pytest.approx(SECONDS[0], rel=0.05)
    assert found.latency.quantile(0.97) >= SECONDS[2] * 0.95


@pytest.mark.parametrize("execution", ["thread", "inline"])
def test_all_that_comes_of_an_event_is_of_its_class(execution: str) -> None:
    first, second = (bolt(name, source, execution=execution) for name, source in (("a", "s"), ("b", "a")))
    of = with_classes(graph(first, second), (1, 1), {"a": (0.001, 0.1), "b": (0.001, 0.1)})
    found = ran(of, Arrivals((2,) * 100))
    seconds = Counter(round(found.latency.quantile(share), 2) for share in (0.1, 0.9))
    assert sorted(seconds) == pytest.approx([0.0, 0.2], abs=0.02), "never one dear and one cheap bolt"


def test_the_classes_of_events_do_not_depend_on_who_chooses() -> None:
    busy = {ran(classed(spec), at(0.3, seconds=20)).stats().components["a"].execute_seconds for spec in (Grouping.SHUFFLE, Grouping.NONE)}
    assert len({round(seconds, 9) for seconds in busy}) == 1


@pytest.mark.parametrize(
    ("shares", "seconds", "said"),
    [
        ((), {"a": ()}, r"classes of topology 'g': expected shares of at least 0 that are not all 0, got \[\]"),
        ((0, 0), {"a": (1, 1)}, "that are not all 0"),
        ((-1, 2), {"a": (1, 1)}, "expected shares of at least 0"),
        ((1, 1), {"b": (1, 1)}, "classes of 'b': topology 'g' has no such bolt; its bolts are a"),
        ((1, 1), {"a": (1, 1, 1)}, "classes of 'a': expected a time of at least 0 for each of 2 classes"),
        ((1, 1), {"a": (1, -1)}, "classes of 'a': expected a time of at least 0"),
    ],
)
def test_classes_that_cannot_be_are_refused(shares: Any, seconds: Any, said: str) -> None:
    with pytest.raises(InvalidError, match=said):
        with_classes(graph(bolt("a", "s")), shares, seconds)


# ---- groupings that look


class Numbering:
    """A splitter in turn, whose rows carry the number of them that their task was given so far."""

    fan: int | None = 1

    def __init__(self, at: Sender) -> None:
        self.given: Counter[int] = Counter()
        self.told: Counter[int] = Counter()
        SPLITTERS.append(self)

    def refresh(self, view: TargetView) -> None:
        self.active = view.active

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        picks = list[tuple[int, Pick]]()
        for position in range(len(rows)):
            index = self.active[sum(self.given.values()) % len(self.active)]
            self.given[index] += 1
            picks.append((index, Carrying([position], {position: str(self.given[index]).encode()})))
        return picks

    def heard(self, index: int, payload: bytes) -> None:
        assert payload == b"heard"
        self.told[index] += 1


class Counting:
    """An observer that knows how many rows it has seen when it hears of one."""

    def __init__(self, at: Receiver) -> None:
        self.at = at
        self.seen: list[tuple[Row, float]] = []
        OBSERVERS.append(self)

    def executed(self, row: Row, seconds: float) -> None:
        self.seen.append((row, seconds))

    def heard(self, sender: int, payload: bytes) -> None:
        assert int(payload) == len(self.seen)
        self.at.tell(b"heard", sender)


SPLITTERS: list[Numbering] = []
OBSERVERS: list[Counting] = []
NUMBERED = GroupingType("numbered", "a test's own", Numbering, observer=Counting, takes_fields=True)


@pytest.mark.parametrize("execution", ["thread", "inline"])
def test_observers_see_each_tuple_with_what_it_took_and_hear_payloads_in_their_place(execution: str) -> None:
    SPLITTERS.clear()
    OBSERVERS.clear()
    found = ran(classed(Grouping.of(NUMBERED, "kind"), execution), at(0.9, seconds=10))
    (splitter,) = SPLITTERS
    assert sum(len(observer.seen) for observer in OBSERVERS) == found.done == sum(splitter.given.values())
    assert {seen for observer in OBSERVERS for seen in observer.seen} == {((kind,), SECONDS[kind]) for kind in range(3)}
    assert splitter.told == splitter.given


@pytest.mark.parametrize("execution", ["thread", "inline"])
def test_osg_learns_what_classes_take_and_comes_to_run(execution: str) -> None:
    of = classed(Grouping.osg("kind", window=100), execution)
    found = model(of, at(0.8))
    found.run(40.0)
    splitter = scheduler(found)
    assert splitter.state is State.RUN
    while not found.over:
        found.run(found.time + 10)
    assert found.done == found.due
    work = list(splitter.given.values())
    assert max(work) / min(work) < 1.1


@pytest.mark.parametrize("execution", ["thread", "inline"])
def test_it_is_quicker_than_to_give_each_the_same_number(execution: str) -> None:
    means = {}
    for name, spec in (("shuffle", Grouping.SHUFFLE), ("osg", Grouping.osg("kind", window=100))):
        found = model(classed(spec, execution), at(0.8, seconds=120))
        found.run(30.0)
        before = found.latency.total, found.latency.count
        while not found.over:
            found.run(found.time + 10)
        means[name] = (found.latency.total - before[0]) / (found.latency.count - before[1])
    assert means["osg"] < 0.8 * means["shuffle"]


class Spoilt(Numbering):
    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        return by_target([{"text": 0}[row[0]] for row in rows])


class OnceSpoilt(Numbering):
    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        picks = super().split(rows)
        if sum(self.given.values()) == 50:
            raise ValueError("once")
        return picks


class Deaf(Numbering):
    def heard(self, index: int, payload: bytes) -> None:
        raise ValueError("deaf")


class Blind(Counting):
    def executed(self, row: Row, seconds: float) -> None:
        raise ValueError("blind")


@pytest.mark.parametrize(
    ("splitter", "observer", "said"),
    [
        (Spoilt, Counting, r"the splitter of mine\(kind\) raised KeyError\(\d\); rows have nothing but key fields there"),
        (Deaf, Counting, r"the splitter of mine\(kind\) raised ValueError\('deaf'\)"),
        (Numbering, Blind, r"the observer of mine\(kind\) raised ValueError\('blind'\)"),
    ],
)
@pytest.mark.parametrize("execution", ["thread", "inline"])
def test_what_they_raise_ends_the_simulation_in_their_name(splitter: Any, observer: Any, said: str, execution: str) -> None:
    of = GroupingType("mine", "a test's own", splitter, observer=observer, takes_fields=True)
    with pytest.raises(GroupingError, match=r"component 'a', stream 'default' of 's.*': in simulation " + said):
        ran(classed(Grouping.of(of, "kind"), execution), at(0.9, seconds=10))


@pytest.mark.parametrize("policy", ["static", "pasps", "ds2"])
@pytest.mark.parametrize("way", ["pool", "restart"])
def test_a_run_ends_with_it_at_once_and_nothing_is_said_besides(
    policy: str, way: Literal["pool", "restart"], caplog: pytest.LogCaptureFixture
) -> None:
    of = GroupingType("mine", "a test's own", OnceSpoilt, observer=Counting, takes_fields=True)
    settings = PolicySettings(interval_seconds=2.0, reconfigure=way)
    told: list[float] = []
    with pytest.raises(GroupingError, match="once"):
        simulate(
            classed(Grouping.of(of, "kind")),
            Arrivals((10,) * 100),
            Order(policy, settings=settings, restart=RestartSettings(1.0)),
            progress=told.append,
        )
    assert max(told) <= 0.1, "the fiftieth event came with the fifth second, and spouts may be silent for two"
    assert caplog.records == []


def test_who_goes_on_all_the_same_is_told_again() -> None:
    of = GroupingType("mine", "a test's own", OnceSpoilt, observer=Counting, takes_fields=True)
    found = model(classed(Grouping.of(of, "kind")), at(0.9, seconds=10))
    for _ in range(3):
        with pytest.raises(GroupingError, match="once"):
            found.run(5.0)


def test_another_number_of_replicas_begins_anew() -> None:
    found = model(classed(Grouping.osg("kind", window=50)), at(0.4, seconds=120))
    found.run(40.0)
    assert scheduler(found).state is State.RUN
    for count in (2, 3):
        found.apply(with_active(found.table, "a", count))
        assert set(scheduler(found).given) == set(range(count))
        end = found.time + 25.0
        while scheduler(found).state is not State.RUN:
            found.run(found.time + 0.1)
            assert found.time < end
    found.run(500.0)
    assert found.over
    assert all(component.queued == 0 for component in found.stats().components.values())


def test_of_parcels_nobody_can_say_what_each_tuple_took() -> None:
    found = ran(classed(Grouping.osg("kind")), at(0.5), PARCELS)
    assert found.over
    assert found.stats().components["a"].execute_seconds == pytest.approx(MEAN)


@pytest.mark.parametrize("kind", [Kind.LOAD_AWARE_STORM, Kind.LOAD_AWARE, Kind.SHUFFLE])
@pytest.mark.parametrize("execution", ["thread", "inline"])
def test_every_grouping_brings_all_classes_to_an_end(kind: Kind, execution: str) -> None:
    found = ran(classed(getattr(Grouping, kind.name), execution), Arrivals((50, 120, 30)))
    assert found.over
    assert found.stats().components["a"].executed == 200
