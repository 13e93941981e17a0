"""OSG's two state machines, beside direct transcriptions of what the paper says; and what it does not foresee."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasps import Grouping
from pasps.api.blueprint import Edge
from pasps.errors import GroupingError
from pasps.groupings import MOST_PAYLOAD_BYTES, Carrying
from pasps.groupings.keys import encode
from pasps.groupings.osg import OsgObserver, OsgSplitter, State
from pasps.groupings.registry import make_observer, make_splitter
from pasps.groupings.sketch import cells_by
from tests.unit.groupings.harness import HandClock, taken, view_of

ROWS, COLUMNS = 2, 4
"""Of epsilon = 0.7, delta = 0.25: the paper's example."""
SMALL: dict[str, Any] = {"epsilon": 0.7, "delta": 0.25}
Told = tuple[int | None, Any]


def edge_of(**options: Any) -> Edge:
    return Edge(0, "words", "default", "count", Grouping.osg("word", **{**SMALL, **options}))


def observer_of(told: list[Told], index: int = 0, **options: Any) -> OsgObserver:
    def send(payload: bytes, sender: int | None) -> None:
        told.append((sender, msgspec.msgpack.decode(payload)))

    made = make_observer(edge_of(**options), ("word", "n"), index, send)
    assert isinstance(made, OsgObserver)
    return made


def splitter_of(task: int = 3, seed: int = 1, **options: Any) -> OsgSplitter:
    made = make_splitter(edge_of(**options), ("word", "n"), 11, task, 0.0, HandClock(), Random(seed))
    assert isinstance(made, OsgSplitter)
    return made


def columns_of(key: Any) -> list[tuple[int, int]]:
    """Row and column of a key's cells."""
    return [divmod(cell, COLUMNS) for cell in cells_by(ROWS)(COLUMNS, encode(key))]


# ---- transcriptions


class PaperTask:
    """Figure 7b, Eq. 14 and the update of both matrices, as the paper has them; a cell of 0/0 is 0."""

    def __init__(self, window: int, mu: float) -> None:
        self.window, self.mu = window, mu
        self.sent: list[tuple[list[list[int]], list[list[int]]]] = []
        self.state = "START"
        self.count = 0
        self.snapshot: list[list[float]] = []
        self.reset()

    def reset(self) -> None:
        self.phi = [[0] * COLUMNS for _ in range(ROWS)]
        self.omega = [[0] * COLUMNS for _ in range(ROWS)]

    def ratio(self) -> list[list[float]]:
        return [[self.omega[i][j] / self.phi[i][j] if self.phi[i][j] else 0.0 for j in range(COLUMNS)] for i in range(ROWS)]

    def executed(self, key: Any, micros: int) -> None:
        for i, j in columns_of(key):
            self.phi[i][j] += 1
            self.omega[i][j] += micros
        self.count += 1
        if self.count % self.window:
            return
        if self.state == "START":
            self.state, self.snapshot = "STABILIZING", self.ratio()
            return
        now = self.ratio()
        cells = [(i, j) for i in range(ROWS) for j in range(COLUMNS)]
        below = sum(self.snapshot[i][j] for i, j in cells)
        eta = sum(abs(self.snapshot[i][j] - now[i][j]) for i, j in cells) / below if below else math.inf
        if eta <= self.mu:
            self.sent.append((self.phi, self.omega))
            self.reset()
            self.state = "START"
        else:
            self.snapshot = now


class PaperScheduler:
    """Figure 7a for `k` tasks, with the prototype's resynchronisation; in round robin from task `first` on."""

    def __init__(self, k: int, first: int, window: int, resync: bool) -> None:
        self.k, self.window, self.resync = k, window, resync
        self.state = "ROUND_ROBIN"
        self.turn = first
        self.matrices: dict[int, Any] = {}
        self.c_hat = [0.0] * k
        self.epoch = 0
        self.next = 0
        self.replies: dict[int, float] = {}
        self.runs = 0

    def estimate(self, x: int, key: Any) -> float:
        phi, omega = self.matrices[x]
        i, j = min(columns_of(key), key=lambda cell: (phi[cell[0]][cell[1]], cell[0]))
        if phi[i][j]:
            return omega[i][j] / phi[i][j]
        return sum(omega[0]) / sum(phi[0]) if sum(phi[0]) else 0.0

    def send_all(self) -> None:
        self.state, self.next, self.replies = "SEND_ALL", 0, {}
        self.epoch += 1

    def tuple(self, key: Any) -> tuple[int, float | None]:
        """The task, and the estimate that the tuple carries."""
        if self.state == "ROUND_ROBIN":
            x = self.turn % self.k
            self.turn += 1
            return x, None
        if self.state == "SEND_ALL":
            x = self.next
            self.c_hat[x] += self.estimate(x, key)
            self.next += 1
            if self.next == self.k:
                self.state = "WAIT_ALL"
                self.collect()
            return x, self.c_hat[x]
        x = min(range(self.k), key=self.c_hat.__getitem__)
        self.c_hat[x] += self.estimate(x, key)
        if self.state == "RUN":
            self.runs += 1
            if self.resync and self.runs >= self.window * self.k:
                self.send_all()
        return x, None

    def sent(self, x: int, matrices: Any) -> None:
        self.matrices[x] = matrices
        if self.state != "ROUND_ROBIN" or len(self.matrices) == self.k:
            self.send_all()

    def reply(self, x: int, epoch: int, delta: float) -> None:
        if epoch == self.epoch and self.state in ("SEND_ALL", "WAIT_ALL"):
            self.replies[x] = delta
            self.collect()

    def collect(self) -> None:
        if self.state == "WAIT_ALL" and len(self.replies) == self.k:
            for x, delta in self.replies.items():
                self.c_hat[x] += delta
            self.state, self.runs = "RUN", 0


def flat(matrix: list[list[int]]) -> list[int]:
    return [cell for row in matrix for cell in row]


# ---- the task


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3000)), max_size=300),
    st.integers(1, 12),
    st.sampled_from([0.001, 0.05, 0.5, 5.0]),
)
@settings(max_examples=150, deadline=None)
def test_a_task_sends_what_the_paper_s_would_when_it_would(tuples: list[tuple[str, int]], window: int, mu: float) -> None:
    told: list[Told] = []
    mine, paper = observer_of(told, window=window, mu=mu), PaperTask(window, mu)
    for key, micros in tuples:
        mine.executed((key, 0), micros / 1e6)
        paper.executed(key, micros)
        assert told == [(None, [1, flat(phi), flat(omega)]) for phi, omega in paper.sent]


def test_cells_that_nothing_hits_do_not_keep_a_task_from_being_stable() -> None:
    """0/0 as no number makes the sum no number, and no number is at most mu: the trap."""
    told: list[Told] = []
    mine = observer_of(told, window=5)
    for _ in range(10):
        mine.executed(("a", 0), 0.002)
    assert [sender for sender, _ in told] == [None]
    assert sum(told[0][1][1]) == 10 * ROWS


def test_a_task_whose_tuples_take_no_time_that_can_be_measured_is_not_stable() -> None:
    told: list[Told] = []
    mine = observer_of(told, window=2)
    for _ in range(50):
        mine.executed(("a", 0), 1e-8)
    assert told == []


def test_a_sketch_that_cannot_be_told_is_tried_again_with_the_next() -> None:
    tries = []

    def send(payload: bytes, sender: int | None) -> None:
        tries.append(payload)
        raise GroupingError("too large for a frame")

    mine = make_observer(edge_of(window=5), ("word", "n"), 0, send)
    for _ in range(30):
        with contextlib.suppress(GroupingError):
            mine.executed(("a", 0), 0.002)
    assert len(tries) == 3


def question(round_: int, epoch: int, given_: float) -> bytes:
    return msgspec.msgpack.encode([round_, epoch, given_])


def test_a_task_answers_with_what_it_has_done_more_in_the_sender_s_round() -> None:
    told: list[Told] = []
    mine = observer_of(told)
    mine.executed(("a", 0), 1.0)  # of an earlier round, or of other senders
    mine.heard(7, question(1, 0, 0.0))
    mine.executed(("a", 0), 0.002)
    mine.executed(("b", 0), 0.003)
    mine.heard(7, question(1, 1, 4000.0))
    assert told == [(7, [0, 1, 1, 1000.0])]
    mine.executed(("b", 0), 0.003)
    mine.heard(7, question(1, 2, 9000.0))
    assert told[1:] == [(7, [0, 1, 2, -1000.0])]


def test_each_sender_has_a_round_of_its_own_and_a_new_one_begins_at_nothing() -> None:
    told: list[Told] = []
    mine = observer_of(told)
    mine.heard(7, question(1, 0, 0.0))
    mine.executed(("a", 0), 0.010)
    mine.heard(8, question(1, 0, 0.0))
    mine.executed(("a", 0), 0.005)
    mine.heard(7, question(1, 1, 0.0))
    mine.heard(8, question(1, 1, 0.0))
    assert [answer[1][3] for answer in told] == [7_500, 2_500], "half of what is missing is made up for by each"
    mine.heard(7, question(2, 4, 600.0))  # whose beginning was lost
    assert told[2] == (7, [0, 2, 4, -300.0])


def test_what_is_no_question_is_an_error() -> None:
    with pytest.raises(msgspec.DecodeError):
        observer_of([]).heard(7, b"\x01")


# ---- the sender

MATRICES = st.tuples(
    st.lists(st.integers(0, 9), min_size=ROWS * COLUMNS, max_size=ROWS * COLUMNS),
    st.lists(st.integers(0, 5000), min_size=ROWS * COLUMNS, max_size=ROWS * COLUMNS),
)


ALL = None
"""In place of a task: each of them, one after the other."""


@st.composite
def stories(draw: Any) -> tuple[int, int, bool, list[Any]]:
    """How many tasks, the window, whether it resyncs, and what happens: batches of keys, sketches, and answers."""
    k = draw(st.integers(1, 4))
    who = st.one_of(st.just(ALL), st.integers(0, k - 1))
    steps = draw(
        st.lists(
            st.one_of(
                st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9),
                st.tuples(who, MATRICES),
                st.tuples(who, st.sampled_from([0, 0, 0, 1]), st.lists(st.floats(-1e4, 1e4), min_size=k, max_size=k)),
            ),
            max_size=60,
        )
    )
    return k, draw(st.integers(30, 60)), draw(st.booleans()), steps


def consistent(counts: list[int], micros: list[int]) -> tuple[list[int], list[int]]:
    """Each row has all tuples, and what was not seen took nothing."""
    counts, micros = list(counts), [took if count else 0 for count, took in zip(counts, micros, strict=True)]
    for row in range(1, ROWS):
        counts[row * COLUMNS] += max(0, sum(counts[:COLUMNS]) - sum(counts[row * COLUMNS : (row + 1) * COLUMNS]))
    return counts, micros


@given(stories(), st.integers(0, 50))
@settings(max_examples=250, deadline=None)
def test_a_sender_chooses_as_the_paper_s_would(story: tuple[int, int, bool, list[Any]], seed: int) -> None:
    k, window, resync, steps = story
    mine = splitter_of(seed=seed, window=window, resync=resync)
    mine.refresh(view_of(range(k), tasks=k))
    paper: PaperScheduler | None = None
    since = 0
    for step in steps:
        if isinstance(step, list):
            rows = [(key, 0) for key in step]
            picks = mine.split(rows)
            chosen = {position: index for index, pick in picks for position in taken(range(len(rows)), pick)}  # type: ignore[arg-type]
            carried = {position: asked for _, pick in picks if isinstance(pick, Carrying) for position, asked in pick.payloads.items()}
            if paper is None:
                paper = PaperScheduler(k, chosen[0], window, resync)  # it starts at a random one
            for position, key in enumerate(step):
                waits = paper.state == "WAIT_ALL"
                index, estimate = paper.tuple(key)
                assert chosen[position] == index
                if estimate is not None:
                    _, epoch, given_ = msgspec.msgpack.decode(carried[position])
                    assert (epoch, given_) == (paper.epoch, pytest.approx(estimate))
                elif position in carried:
                    assert msgspec.msgpack.decode(carried[position])[1:] == [0, 0.0], "no more than that a round begins"
                since = since + 1 if waits and paper.state == "WAIT_ALL" else 0
                if since >= window * k:  # the paper would wait for ever, see below
                    return
        elif paper is not None:
            for index in range(k) if step[0] is ALL else [step[0]]:
                if len(step) == 2:
                    counts, micros = consistent(*step[1])
                    mine.heard(index, msgspec.msgpack.encode([1, counts, micros]))
                    paper.sent(index, tuple([cells[r * COLUMNS : (r + 1) * COLUMNS] for r in range(ROWS)] for cells in (counts, micros)))
                else:
                    epoch, delta = paper.epoch - step[1], step[2][index]
                    mine.heard(index, msgspec.msgpack.encode([0, mine.round, epoch, delta]))
                    paper.reply(index, epoch, delta)
        if paper is not None:
            assert mine.state.name == paper.state
            assert [mine.given[x] for x in range(k)] == pytest.approx(paper.c_hat)


def known(splitter: OsgSplitter, indices: Iterable[int], micros: int = 1000) -> None:
    """A sketch of each of these, by which every tuple takes so long."""
    for index in indices:
        counts = [1] * (ROWS * COLUMNS)
        splitter.heard(index, msgspec.msgpack.encode([1, counts, [micros] * (ROWS * COLUMNS)]))


def questions_in(picks: Any) -> dict[int, list[Any]]:
    """What each task is asked."""
    return {i: msgspec.msgpack.decode(p) for i, pick in picks if isinstance(pick, Carrying) for p in pick.payloads.values()}


def answer(splitter: OsgSplitter, asked: dict[int, list[Any]], difference: float = 0.0) -> None:
    for index, (round_, epoch, _) in asked.items():
        splitter.heard(index, msgspec.msgpack.encode([0, round_, epoch, difference]))


def running(k: int = 3, **options: Any) -> OsgSplitter:
    """A sender in RUN."""
    made = splitter_of(**options)
    made.refresh(view_of(range(k), homes=dict.fromkeys(range(k), "here")))
    known(made, range(k))
    answer(made, questions_in(made.split([("a", 0)] * k)))
    assert made.state is State.RUN
    return made


def test_the_first_tuple_to_each_task_says_that_a_round_begins() -> None:
    made = splitter_of()
    made.refresh(view_of(range(3)))
    assert questions_in(made.split([("a", 0)] * 7)) == {index: [made.round, 0, 0.0] for index in range(3)}
    assert questions_in(made.split([("a", 0)] * 7)) == {}
    made.refresh(view_of(range(2)))
    assert questions_in(made.split([("a", 0)] * 7)) == {index: [made.round, 0, 0.0] for index in range(2)}


def test_the_least_loaded_gets_the_next_tuple_and_is_charged_what_its_own_sketch_says() -> None:
    made = running(2)
    known(made, [1], micros=3000)
    answer(made, questions_in(made.split([("a", 0)] * 2)))
    before = dict(made.given)
    picks = dict(made.split([("a", 0)] * 8))
    spent = {index: made.given[index] - before[index] for index in (0, 1)}
    assert spent == {index: pytest.approx(len(picks[index] or []) * (1000, 3000)[index]) for index in (0, 1)}
    assert abs(made.given[0] - made.given[1]) <= 3000


def test_answers_that_are_lost_are_asked_for_again_ever_more_patiently() -> None:
    made = splitter_of(window=10, resync=False)
    made.refresh(view_of(range(2)))
    known(made, range(2))
    asked = [number for number in range(400) if questions_in(made.split([("a", 0)]))]
    assert [after - before for before, after in pairwise(asked[::2])] == [22, 42, 82, 162]
    answer(made, {index: [made.round, made.epoch, 0.0] for index in range(2)})
    assert made.state is State.RUN
    assert questions_in(made.split([("a", 0)] * 500)) == {}, "without resync nobody asks again"


def test_what_is_answered_to_an_earlier_epoch_or_round_counts_for_nothing() -> None:
    made = running(2)
    known(made, [0])
    late = {index: [made.round, made.epoch - 1, 0.0] for index in range(2)}
    asked = questions_in(made.split([("a", 0)] * 2))
    answer(made, late, 1e9)
    answer(made, {index: [made.round - 1, made.epoch, 0.0] for index in range(2)}, 1e9)
    assert made.state is State.WAIT_ALL
    answer(made, asked)
    assert made.state is State.RUN
    assert max(made.given.values()) < 1e6


# ---- what the paper does not foresee


def test_another_set_of_replicas_begins_anew_and_keeps_the_sketches_of_those_that_stay() -> None:
    made = running(3)
    round_ = made.round
    homes = dict.fromkeys(range(4), "here")
    made.refresh(view_of([0, 1, 2, 3], homes=homes))
    assert (made.state, made.round) == (State.ROUND_ROBIN, round_ + 1)
    assert made.given == dict.fromkeys(range(4), 0.0)
    known(made, [3])
    assert made.state is State.SEND_ALL, "only the new one's was missing"
    made.refresh(view_of([0, 1], homes=homes))
    assert made.state is State.SEND_ALL, "all that is needed is there"
    assert set(questions_in(made.split([("a", 0)] * 2))) == {0, 1}
    made.refresh(view_of([0, 1, 2], homes=homes))
    assert made.state is State.ROUND_ROBIN, "who was out for a while has nothing that is kept"


def test_a_replica_that_lives_elsewhere_or_anew_is_another() -> None:
    made = running(3)
    made.refresh(view_of(range(3), homes={0: "here", 1: "there", 2: "here"}))
    assert made.state is State.ROUND_ROBIN
    known(made, [1])
    assert made.state is State.SEND_ALL


def test_the_same_view_again_changes_nothing() -> None:
    made = running(3)
    made.split([("a", 0)] * 5)
    given_, round_ = dict(made.given), made.round
    made.refresh(view_of(range(3), homes=dict.fromkeys(range(3), "here")))
    assert (made.state, made.given, made.round) == (State.RUN, given_, round_)


def worst_difference(senders: int, tuples: int = 30_000, k: int = 3) -> float:
    """Between what tasks have done, in seconds, where nothing waits and a tuple takes 10 ms in the mean, but nobody knows how long."""
    dice, observers = Random(1), list[OsgObserver]()
    schedulers = [splitter_of(task=task, seed=task, window=100, mu=0.5) for task in range(senders)]

    def observer(index: int) -> OsgObserver:
        def send(payload: bytes, sender: int | None) -> None:
            for task, scheduler in enumerate(schedulers):
                if sender in (None, task):
                    scheduler.heard(index, payload)

        made = make_observer(edge_of(window=100, mu=0.5), ("word", "n"), index, send)
        assert isinstance(made, OsgObserver)
        return made

    observers += [observer(index) for index in range(k)]
    for scheduler in schedulers:
        scheduler.refresh(view_of(range(k)))
    worst = 0.0
    for number in range(tuples):
        sender = dice.randrange(senders)
        ((index, pick),) = schedulers[sender].split([("a", 0)])
        observers[index].executed(("a", 0), dice.expovariate(100))
        for payload in pick.payloads.values() if isinstance(pick, Carrying) else ():
            observers[index].heard(sender, payload)
        if number > tuples / 2:
            worked = [each.worked for each in observers]
            worst = max(worst, (max(worked) - min(worked)) / 1e6)
    return worst


@pytest.mark.parametrize("senders", [4, 8])
def test_several_senders_do_not_all_make_up_for_the_same_difference(senders: int) -> None:
    """Each for the whole, they would send a task many times what it lacks: the next one lacks that, and so on, ever more."""
    assert worst_difference(senders) < 2.5 * worst_difference(1)


def test_what_a_task_tells_that_is_not_active_counts_for_nothing() -> None:
    made = running(2)
    known(made, [5])
    assert made.state is State.RUN


def test_a_sender_that_is_made_anew_has_another_round() -> None:
    assert splitter_of(seed=1).round != splitter_of(seed=2).round


def test_a_sketch_of_another_size_is_an_error() -> None:
    made = splitter_of()
    made.refresh(view_of(range(2)))
    with pytest.raises(GroupingError, match="a sketch of 3 and 8 cells, expected 8"):
        made.heard(0, msgspec.msgpack.encode([1, [1] * 3, [1] * 8]))


def test_the_largest_sketch_fits_into_a_payload() -> None:
    told: list[int] = []
    edge = Edge(0, "words", "default", "count", Grouping.osg("word", epsilon=0.01, delta=0.001, window=1, mu=10.0))
    mine = make_observer(edge, ("word",), 0, lambda payload, sender: told.append(len(payload)))
    assert isinstance(mine, OsgObserver)
    mine.executed(("a",), 1.0)
    mine.sketch.counts[:] = [2**63 - 1] * len(mine.sketch.counts)
    mine.sketch.micros[:] = [2**63 - 1] * len(mine.sketch.micros)
    mine.executed(("b",), 0.0)
    assert told == [told[0]]
    assert told[0] <= MOST_PAYLOAD_BYTES


@pytest.mark.parametrize("key", [[1, 2], {"a": 1}, object()])
def test_a_key_fails_or_not_as_it_does_with_fields(key: Any) -> None:
    made = splitter_of()
    made.refresh(view_of(range(2)))
    if type(key) is object:
        with pytest.raises(GroupingError, match=r"component 'words', .* field 'word': a key of type builtins\.object has no hash"):
            made.split([(key, 0)])
    else:
        assert made.split([(key, 0)])
