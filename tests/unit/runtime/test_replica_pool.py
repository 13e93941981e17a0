"""The replica pool against a model, under tables and marks in any order."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pasps.runtime.hosting import Key, ReplicaPool, ReplicaState

KEYS: list[Key] = [("count", 0), ("count", 1), ("split", 0)]
some_keys = st.sets(st.sampled_from(KEYS))


class PoolMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.pool = ReplicaPool()
        self.version = 0
        self.marked = 0
        self.model: dict[Key, ReplicaState] = {}
        self.since: dict[Key, int] = {}

    @rule(listed=some_keys, placed=some_keys)
    def apply(self, listed: set[Key], placed: set[Key]) -> None:
        self.version += 1
        activated, draining = self.pool.apply(self.version, listed, placed)
        for key in placed:
            self.model.setdefault(key, ReplicaState.INACTIVE)
        on = {key for key in self.model if key in listed and key in placed}
        assert set(activated) == {key for key in on if self.model[key] is not ReplicaState.ACTIVE}
        assert set(draining) == {key for key, state in self.model.items() if state is ReplicaState.ACTIVE and key not in on}
        for key in on:
            self.model[key] = ReplicaState.ACTIVE
            self.since.pop(key, None)
        for key in draining:
            self.model[key] = ReplicaState.DRAINING
            self.since[key] = self.version

    @rule(ahead=st.integers(0, 2))
    def marks_arrive(self, ahead: int) -> None:
        self.marked = min(self.version, self.marked + ahead)

    @rule(empty=some_keys)
    def park(self, empty: set[Key]) -> None:
        parked = self.pool.park(self.marked, empty.__contains__)
        may = {(key, since) for key, since in self.since.items() if since <= self.marked and key in empty}
        assert set(parked) == may
        for key, _ in parked:
            self.model[key] = ReplicaState.INACTIVE
            del self.since[key]

    @rule(key=st.sampled_from(KEYS))
    def drop(self, key: Key) -> None:
        if self.model.get(key) is ReplicaState.INACTIVE:
            self.pool.drop(key)
            del self.model[key]

    @invariant()
    def states_agree(self) -> None:
        assert self.pool.states == self.model
        assert self.pool.draining() == (ReplicaState.DRAINING in self.model.values())


TestPool = PoolMachine.TestCase
TestPool.settings = settings(max_examples=60, stateful_step_count=30)


def test_a_replica_that_drains_parks_only_when_all_marks_are_in_and_it_is_empty() -> None:
    pool, key = ReplicaPool(), ("count", 0)
    pool.apply(1, {key}, {key})
    pool.apply(2, set(), {key})
    assert pool.park(1, lambda _: True) == []
    assert pool.park(2, lambda _: False) == []
    assert pool.states[key] is ReplicaState.DRAINING
    assert pool.park(2, lambda _: True) == [(key, 2)]
    assert pool.states[key] is ReplicaState.INACTIVE


def test_a_replica_that_drains_may_be_activated_again() -> None:
    pool, key = ReplicaPool(), ("count", 0)
    pool.apply(1, {key}, {key})
    pool.apply(2, set(), {key})
    assert pool.apply(3, {key}, {key}) == ([key], [])
    assert pool.park(3, lambda _: True) == []
