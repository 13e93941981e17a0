"""The XOR ledger against a model that keeps the edges of each tree."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pasps.ids import IdSource
from pasps.runtime.ack_ledger import AckLedger


class LedgerMachine(RuleBasedStateMachine):
    """The model of a pending root is the set of edges that nobody has acked; it is done when the set is empty."""

    @initialize(seed=st.integers(0, 2**32))
    def start(self, seed: int) -> None:
        self.ids = IdSource(seed)
        self.ledger = AckLedger()
        self.open: dict[int, set[int]] = {}
        self.user_ids: dict[int, int] = {}
        self.age: dict[int, int] = {}
        self.forgotten: list[int] = []
        self.added: list[list[int]] = []
        self.now = 0.0
        self.count = 0

    def forget(self, root: int) -> None:
        del self.open[root], self.age[root]
        self.forgotten.append(root)

    def emit_one(self) -> int:
        (root,) = self.ids.roots(1, 7)
        self.open[root], self.user_ids[root], self.age[root] = {root}, self.count, 0
        self.count += 1
        return root

    @rule(count=st.integers(1, 5))
    def emit(self, count: int) -> None:
        roots = [self.emit_one() for _ in range(count)]
        self.now += 1.0
        self.added.append(roots)
        self.ledger.add(roots, [self.user_ids[root] for root in roots], self.now)

    def apply(self, pairs: list[tuple[int, int]], done: list[int]) -> None:
        roots = [root for root, _ in pairs]
        deltas = [delta for _, delta in pairs]
        entries = self.ledger.ack(roots, None if deltas == roots else deltas)
        assert sorted(entry[0] for entry in entries) == sorted(self.user_ids[root] for root in done)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), children=st.integers(0, 3))
    def ack_one_edge(self, data: st.DataObject, children: int) -> None:
        root = data.draw(st.sampled_from(sorted(self.open)))
        edge = data.draw(st.sampled_from(sorted(self.open[root])))
        fresh = self.ids.edges(children)
        delta = edge
        for child in fresh:
            delta ^= child
        self.open[root].discard(edge)
        self.open[root] |= set(fresh)
        done = [] if self.open[root] else [root]
        self.apply([(root, delta)], done)
        for finished in done:
            self.forget(finished)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def ack_many_whole(self, data: st.DataObject) -> None:
        roots = data.draw(st.lists(st.sampled_from(sorted(self.open)), unique=True, max_size=5))
        pairs, done = [], []
        for root in roots:
            edge = data.draw(st.sampled_from(sorted(self.open[root])))
            self.open[root].discard(edge)
            pairs.append((root, edge))
            if not self.open[root]:
                done.append(root)
        self.apply(pairs, done)
        for root in done:
            self.forget(root)

    @precondition(lambda self: self.added)
    @rule(data=st.data())
    def ack_together(self, data: st.DataObject) -> None:
        """The list itself, as it was added: as the rest of what is done, whether or not it is known as a whole."""
        roots = data.draw(st.sampled_from(self.added))
        if any(self.open.get(root) not in ({root}, None) for root in roots):
            return  # it has children by now, so the root's own edge is acked
        left = [root for root in roots if root in self.open]
        together = self.ledger.ack_together(roots, data.draw(st.sampled_from([None, roots])))
        if together is None:
            self.apply([(root, root) for root in roots], left)
        else:
            assert (left, together[0]) == (roots, [self.user_ids[root] for root in roots])
        for root in left:
            self.forget(root)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        roots = data.draw(st.lists(st.sampled_from(sorted(self.open)), unique=True, min_size=1, max_size=3))
        strangers = self.forgotten[-2:]
        entries = self.ledger.fail([*roots, *strangers])
        assert sorted(entry[0] for entry in entries) == sorted(self.user_ids[root] for root in roots)
        for root in roots:
            self.forget(root)

    @precondition(lambda self: self.forgotten)
    @rule(data=st.data())
    def late_ack(self, data: st.DataObject) -> None:
        root = data.draw(st.sampled_from(self.forgotten))
        assert self.ledger.ack([root], None) == []
        assert self.ledger.ack([root], [root ^ 1]) == []

    @rule()
    def time_out(self) -> None:
        old = [root for root, age in self.age.items() if age == 1]
        assert [entry[0] for entry in self.ledger.rotate()] == [self.user_ids[root] for root in old]
        for root in old:
            self.forget(root)
        for root in self.age:
            self.age[root] = 1

    @rule()
    def worker_lost(self) -> None:
        entries = self.ledger.fail_all()
        assert sorted(entry[0] for entry in entries) == sorted(self.user_ids[root] for root in self.open)
        for root in list(self.open):
            self.forget(root)

    @invariant()
    def as_many_are_pending(self) -> None:
        if hasattr(self, "ledger"):
            assert len(self.ledger) == len(self.open)


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(max_examples=60, stateful_step_count=30)


def test_entries_carry_the_time_of_emission() -> None:
    ledger = AckLedger()
    ledger.add([16, 32], ["a", "b"], 5.0)
    assert ledger.ack([32, 16], None) == [("b", 5.0), ("a", 5.0)]


def test_what_was_added_together_is_done_together_while_nothing_of_it_was_touched() -> None:
    ledger, roots, others = AckLedger(), [16, 32], [48, 64]
    ledger.add(roots, ["a", "b"], 5.0)
    ledger.add(others, ["c", "d"], 6.0)
    assert ledger.ack_together(list(roots), None) is None, "it is known by the list itself"
    assert ledger.ack_together(roots, [16, 33]) is None
    assert ledger.ack_together(roots, roots) == (["a", "b"], 5.0)
    assert ledger.ack_together(roots, None) is None
    assert ledger.ack([48], [49]) == []
    assert ledger.ack_together(others, None) is None, "one of them has children by now"
    assert len(ledger) == 2


def test_a_tuple_expires_after_one_to_two_time_outs() -> None:
    ledger = AckLedger()
    ledger.add([16], ["early"], 0.0)
    assert ledger.rotate() == []
    ledger.add([32], ["late"], 1.0)
    assert ledger.rotate() == [("early", 0.0)]
    assert ledger.rotate() == [("late", 1.0)]
