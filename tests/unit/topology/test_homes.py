from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from pasps.api import Grouping
from pasps.api.bolt import Bolt
from pasps.api.topology import Topology
from pasps.topology.homes import Homes
from pasps.topology.keeper import Resume
from tests.unit.cli.builders import Numbers


class Plain(Bolt):
    def process(self, tup: Any) -> None:
        pass


class Spread(Topology):
    numbers = Numbers.spec(par=2)
    wide = Plain.spec(inputs=[numbers], par=2, pool=4)
    counted = Plain.spec(inputs={numbers: Grouping.fields("n")}, par=1, pool=4)


@dataclass
class Link:
    """See `Housed`."""

    worker: str
    incarnation: int
    where: tuple[str, ...]


def homes(resume: Resume | None = None) -> Homes:
    return Homes(Spread.blueprint(), resume or Resume())


def links(*hosts: str) -> list[Link]:
    return [Link(f"w{index}", index + 1, (host, "/executor")) for index, host in enumerate(hosts)]


def test_before_workers_have_places_nobody_is_alive() -> None:
    made = homes()
    table = made.before(["w0", "w1"])
    assert table.workers == {}
    assert set(table.components) == {"numbers", "wide", "counted"}
    assert made.routings == {}


def test_the_first_table_has_all_workers_with_their_incarnations() -> None:
    made = homes()
    table = made.settle(links("a", "a"))
    assert (table.version, table.workers) == (1, {"w0": 1, "w1": 2})
    assert made.routings == table.components


def test_replicas_that_are_neighbours_run_on_different_hosts() -> None:
    hosts = {"w0": "a", "w1": "a", "w2": "b", "w3": "b"}
    table = homes().settle(links(*hosts.values()))
    for routing in table.components.values():
        on = [hosts[worker] for worker in routing.places]
        assert all(one != next_one for one, next_one in itertools.pairwise(on))
    wide = table.components["wide"]
    assert {hosts[wide.places[replica]] for replica in wide.active} == {"a", "b"}


def test_a_topology_that_ran_before_goes_on_with_as_many_replicas_and_the_next_table() -> None:
    table = homes(Resume(17, {"wide": 3, "counted": 2})).settle(links("a", "b"))
    assert table.version == 18
    assert {name: routing.active for name, routing in table.components.items()} == {
        "numbers": (0, 1),
        "wide": (0, 1, 2),
        "counted": (0, 1),
    }
    counted = table.components["counted"].hosts
    assert counted is not None
    assert set(counted) == {0, 1}


def test_what_no_longer_fits_is_made_to_fit() -> None:
    table = homes(Resume(1, {"wide": 9, "counted": 0, "gone": 3})).settle(links("a"))
    assert {name: len(routing.active) for name, routing in table.components.items()} == {"numbers": 2, "wide": 4, "counted": 1}


def test_for_other_numbers_all_is_placed_as_at_first() -> None:
    made = homes()
    first = made.settle(links("a", "a", "b"))
    table = made.settle_anew(links("a", "a", "b"), {"numbers": 2, "wide": 4, "counted": 2})
    assert {name: len(routing.active) for name, routing in table.components.items()} == {"numbers": 2, "wide": 4, "counted": 2}
    assert {name: routing.places for name, routing in table.components.items()} == {n: r.places for n, r in first.components.items()}
    assert first.components["wide"].active == (0, 1), "the table of before is as it was"


def test_a_worker_that_is_on_another_host_now_is_placed_by_that() -> None:
    made = homes()
    made.settle(links("a", "a", "b", "b"))
    table = made.settle_anew(links("a", "b", "b", "a"), {})
    hosts = dict(zip(("w0", "w1", "w2", "w3"), ("a", "b", "b", "a"), strict=True))
    for routing in table.components.values():
        assert all(hosts[one] != hosts[following] for one, following in itertools.pairwise(routing.places))


def test_who_does_not_come_is_expected_where_it_was_and_until_then_others_do_its_work() -> None:
    made = homes()
    first = made.settle(links("a", "b", "c"))
    came = [link for link in links("a", "b", "c") if link.worker != "w1"]
    table = made.settle_anew(came, {"wide": 2, "counted": 1})
    assert table.workers == {"w0": 1, "w2": 3}
    assert {routing.places[replica] for routing in table.components.values() for replica in routing.active} <= {"w0", "w2"}
    assert made.routings["wide"].places == first.components["wide"].places
    assert made.settle_anew([], {"wide": 3}).workers == {}
