from __future__ import annotations

import itertools
from collections import Counter

import hypothesis.strategies as st
from hypothesis import given

from pasps.assignment import Need, place, spread

HOST_OF = st.dictionaries(st.integers(0, 99).map("w{}".format), st.sampled_from("abcde"), max_size=20)
TWO_LEVELS = st.dictionaries(st.integers(0, 99).map("w{}".format), st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=20)


def is_fair(order: list[str]) -> bool:
    """Every beginning has as many groups as it can, each as often as others unless these are used up."""
    whole = Counter(order)
    for end in range(1, len(order) + 1):
        seen = Counter(order[:end])
        for one, count in seen.items():
            if any(seen[other] < min(count - 1, whole[other]) for other in whole if other != one):
                return False
    return True


@given(TWO_LEVELS)
def test_every_worker_is_in_it_once(where: dict[str, tuple[str, ...]]) -> None:
    assert sorted(spread(where)) == sorted(where)


@given(HOST_OF)
def test_neighbours_are_on_different_hosts_until_only_one_host_is_left(hosts: dict[str, str]) -> None:
    order = [hosts[worker] for worker in spread({worker: (host,) for worker, host in hosts.items()})]
    assert is_fair(order)
    for index, (one, following) in enumerate(itertools.pairwise(order)):
        if one == following:
            assert set(order[index:]) == {one}


@given(TWO_LEVELS)
def test_on_each_host_neighbours_are_in_different_parts(where: dict[str, tuple[str, ...]]) -> None:
    order = spread(where)
    assert is_fair([where[worker][0] for worker in order])
    for host in "abc":
        assert is_fair([where[worker][1] for worker in order if where[worker][0] == host])


@given(HOST_OF)
def test_what_lies_on_one_host_keeps_its_order(hosts: dict[str, str]) -> None:
    order = spread({worker: (host,) for worker, host in hosts.items()})
    for host in "abcde":
        assert [worker for worker in order if hosts[worker] == host] == [worker for worker in hosts if hosts[worker] == host]


def test_hosts_in_pairs_of_executors() -> None:
    where = {
        "w0": ("a", "x"),
        "w1": ("a", "x"),
        "w2": ("a", "y"),
        "w3": ("b", "x"),
        "w4": ("b", "x"),
    }
    assert spread(where) == ["w0", "w3", "w2", "w4", "w1"]


def test_workers_of_which_nothing_is_known_stay_as_they_are() -> None:
    assert spread({"w1": (), "w0": (), "w2": ("a",)}) == ["w1", "w0", "w2"]
    assert spread({}) == []


@given(HOST_OF.filter(bool), st.integers(1, 30))
def test_so_the_first_replicas_are_on_as_many_hosts_as_there_are(hosts: dict[str, str], par: int) -> None:
    workers = spread({worker: (host,) for worker, host in hosts.items()})
    routing = place({"bolt": Need(30, par)}, workers)["bolt"]
    assert len({hosts[routing.places[replica]] for replica in routing.active}) == min(par, len(set(hosts.values())))
