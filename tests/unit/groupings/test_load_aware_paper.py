from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from pasps.api.groupings import Grouping
from pasps.groupings.load import LoadTable
from tests.unit.groupings.harness import choices_of, rows_of, splitter_of, view_of

TD = 1.0


class Algorithm1:
    """The paper's Algorithm 1, line by line, for one sender; U by Eq. 1 at each report."""

    def __init__(self, replicas: int, turn: int) -> None:
        self.r = replicas
        self.turn = turn
        self.et = 10e-6
        self.U = [0.0] * replicas

    def report(self, j: int, mu: int, et: float) -> None:
        self.et = et
        self.U[j] = mu * et / TD

    def round_robin(self) -> int:
        m = self.turn
        self.turn = (self.turn + 1) % self.r
        return m

    def send_event(self) -> int:
        # equally busy replicas take turns
        if all(u == self.U[0] for u in self.U):
            return self.round_robin()
        m = 0
        for j in range(1, self.r):
            if self.U[j] < self.U[m]:
                m = j
        if self.U[m] >= 1:
            m = self.round_robin()
        else:
            self.U[m] = self.U[m] + self.et / TD
        return m


script = st.lists(
    st.one_of(
        st.integers(1, 60),
        st.tuples(st.integers(0, 4), st.integers(0, 120), st.sampled_from([0.0, 0.001, 0.01, 0.05, 0.125, 0.4])),
    ),
    max_size=30,
)


@given(replicas=st.integers(2, 5), script=script, seed=st.integers(0, 100))
@settings(max_examples=300, deadline=None)
def test_every_choice_is_that_of_a_direct_transcription(replicas: int, script: list[int | tuple[int, int, float]], seed: int) -> None:
    loads = LoadTable(replicas)
    splitter = splitter_of(Grouping.LOAD_AWARE_PAPER, seed=seed)
    splitter.refresh(view_of(range(replicas), tasks=replicas, loads=loads))
    paper = Algorithm1(replicas, turn=Random(seed).randrange(replicas))
    pending: set[int] = set()
    for step in script:
        if isinstance(step, tuple):
            loads.report(step[0] % replicas, 0.0, step[2], step[1], now=0.0)
            pending.add(step[0] % replicas)
            continue
        for j in pending:  # the sender reads what was reported since its last batch
            paper.report(j, loads.done[j], loads.component_each())
        pending = set()
        assert choices_of(splitter, rows_of(step)) == [paper.send_event() for _ in range(step)]


def test_the_batches_do_not_change_the_choices() -> None:
    def all_choices(size: int) -> list[int]:
        loads = LoadTable(3)
        splitter = splitter_of(Grouping.LOAD_AWARE_PAPER)
        splitter.refresh(view_of(range(3), tasks=3, loads=loads))
        for index, done in enumerate((10, 40, 70)):
            loads.report(index, 0.0, 0.01, done, now=0.0)
        return [choice for _ in range(240 // size) for choice in choices_of(splitter, rows_of(size))]

    assert all_choices(1) == all_choices(16) == all_choices(240)


def test_a_report_resets_its_replica_and_a_refresh_keeps_the_rest() -> None:
    loads = LoadTable(3)
    splitter = splitter_of(Grouping.LOAD_AWARE_PAPER)
    splitter.refresh(view_of([0, 1], tasks=3, loads=loads))
    loads.report(0, 0.0, 0.01, 30, now=0.0)
    loads.report(1, 0.0, 0.01, 50, now=0.0)
    assert choices_of(splitter, rows_of(10)) == [0] * 10
    splitter.refresh(view_of([0, 1, 2], tasks=3, loads=loads))
    assert choices_of(splitter, rows_of(40)) == [2] * 40  # 2 is idle, 0 is at 0.4
    loads.report(0, 0.0, 0.01, 0, now=0.0)
    assert choices_of(splitter, rows_of(20)) == [0] * 20
    splitter.refresh(view_of([2], tasks=3, loads=loads))
    assert splitter.split(rows_of(2)) == [(2, None)]
