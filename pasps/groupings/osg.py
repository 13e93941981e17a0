"""Online shuffle grouping, OSG of DABS-Storm: each tuple to the replica with the least estimated work, by what its key was seen to take.

Tasks keep sketches of execution times and send them to the senders when they are stable; each sender schedules for itself, and compares
its sums with those of the tasks now and then. See docs/decisions/0032.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import Enum

import msgspec

from pasps.api.splitting import Carrying, Pick, Receiver, Row, Sender, TargetView
from pasps.errors import GroupingError
from pasps.groupings.keys import KeyCache, KeyReader
from pasps.groupings.shuffle import Ring
from pasps.groupings.sketch import Cells, Sketch, cells_by, change

_log = logging.getLogger(__name__)


class _Question(msgspec.Struct, array_like=True):
    """A sender to a task, along with a tuple: what it has given the task to do, this tuple included, by its estimates in microseconds.

    `round` is a new one each time that the sender begins anew; `epoch` 0 asks for no answer, and says where its round begins.
    """

    round: int
    epoch: int
    given: float


class _Answer(msgspec.Struct, array_like=True, tag=0):
    """A task to the sender that asked: its part of how much more it has done in the sender's round than that has given it."""

    round: int
    epoch: int
    difference: float


class _Stable(msgspec.Struct, array_like=True, tag=1):
    """A task to all senders: its sketch."""

    counts: list[int]
    micros: list[int]


_encode = msgspec.msgpack.Encoder().encode
_read_question = msgspec.msgpack.Decoder(_Question).decode
_read_told = msgspec.msgpack.Decoder(_Answer | _Stable).decode


class _Keys:
    """The cells of rows, by their key fields."""

    def __init__(self, at: Sender | Receiver) -> None:
        self._reader: KeyReader[Cells] = KeyReader(at.source, at.stream, at.fields, at.names)
        self._cache: KeyCache[Cells] = self._reader.cache(at.options.columns, cells_by(at.options.rows))

    def of(self, rows: Sequence[Row]) -> list[Cells]:
        return self._reader.find(rows, self._cache)


class OsgObserver:
    """One task. Looks at its sketch each `window` tuples.

    States: START, until the first look; STABILIZING, in which a look that finds the means of cells as they were at the last one, but
    for `mu` of them, has the sketch sent, and another begun in START.
    """

    def __init__(self, at: Receiver) -> None:
        self._at = at
        self._keys = _Keys(at)
        self._options = at.options
        self.worked = 0
        """Microseconds of all tuples: the paper's C."""
        self._begun: dict[int, tuple[int, int]] = {}  # by sender: its round, and what had been worked when that began
        self._start()

    def _start(self) -> None:
        self.sketch = Sketch.empty(self._options.rows, self._options.columns)
        self._snapshot: list[float] | None = None  # none in START
        self._until_look = self._options.window

    def executed(self, row: Row, seconds: float) -> None:
        """See `Observer`."""
        micros = round(seconds * 1e6)
        self.worked += micros
        (cells,) = self._keys.of([row])
        self.sketch.add(cells, micros)
        self._until_look -= 1
        if not self._until_look:
            self._look()

    def _look(self) -> None:
        sketch, means = self.sketch, self.sketch.means()
        if self._snapshot is not None and change(self._snapshot, means) <= self._options.mu:
            self._start()  # first: where it cannot be told, it is tried again with the next one
            self._at.tell(_encode(_Stable(sketch.counts, sketch.micros)))
            return
        self._snapshot = means
        self._until_look = self._options.window

    def heard(self, sender: int, payload: bytes) -> None:
        """See `Observer`."""
        question = _read_question(payload)
        round_, begun = self._begun.get(sender, (None, 0))
        if round_ != question.round:
            begun = self.worked
            self._begun[sender] = question.round, begun
        if question.epoch:
            # each sender makes up for its part: all of them for the whole would send twice what is missing, and then too little
            difference = (self.worked - begun - question.given) / len(self._begun)
            self._at.tell(_encode(_Answer(question.round, question.epoch, difference)), sender)


class State(Enum):
    """See `OsgSplitter`."""

    ROUND_ROBIN = "round robin"
    SEND_ALL = "send all"
    WAIT_ALL = "wait all"
    RUN = "run"


class OsgSplitter:
    """One sender's scheduler.

    States: ROUND_ROBIN, until there is a sketch of every active task. SEND_ALL: the next tuples go to each task in turn, and ask it how
    much it has done. WAIT_ALL: the least loaded gets the next tuple, until all have answered, and the sums are put right. RUN: the
    same without waiting. A new sketch, in any state but ROUND_ROBIN, leads to SEND_ALL; so do `window` tuples for each task, in RUN if
    `resync` says so, and in WAIT_ALL, where answers may be lost: there twice as many each time, since they may also be late.
    Other tasks than before, or lives of theirs, lead to ROUND_ROBIN; sketches of those that stay are kept.
    """

    fan: int | None = 1

    def __init__(self, at: Sender) -> None:
        self._at = at
        self._keys = _Keys(at)
        self._options = at.options
        self._ring = Ring(at.random)
        self._homes: dict[int, object] = {}
        self._sketches: dict[int, Sketch] = {}
        self.round = at.random.getrandbits(32)
        """Another than that of a splitter which was in the place of this before."""
        self.state = State.ROUND_ROBIN
        self.given: dict[int, float] = {}
        """Microseconds of work that each task was given, by what is known: the paper's estimate of C."""
        self._greeted: set[int] = set()  # who knows of this round
        self.epoch = 0
        """Of the questions that were asked last."""
        self._unasked: list[int] = []
        self._answers: dict[int, float] = {}
        self._since = 0  # tuples in WAIT_ALL or RUN
        self._patience = 0

    # ---- states

    def refresh(self, view: TargetView) -> None:
        """See `Splitter`."""
        if not view.active:
            raise GroupingError("no active replica to send to; a component keeps at least one")
        homes = {index: view.homes.get(index) for index in view.active}
        if homes == self._homes:
            return
        self._sketches = {i: sketch for i, sketch in self._sketches.items() if i in homes and homes[i] == self._homes.get(i)}
        self._homes = homes
        self._ring.refresh(view.active, {})
        self.round += 1
        self.given = dict.fromkeys(view.active, 0.0)
        self._greeted.clear()
        self._patience = self._options.window * len(homes)
        self._enter(State.ROUND_ROBIN)
        self._send_all_if_known()

    def _enter(self, state: State) -> None:
        self.state = state
        self._since = 0
        _log.debug("osg from %s (task %d) to %s: %s", self._at.source, self._at.task, self._at.target, state.value)

    def _send_all_if_known(self) -> None:
        if len(self._sketches) == len(self._homes):
            self._send_all()

    def _send_all(self) -> None:
        self.epoch += 1
        self._unasked = sorted(self._homes, reverse=True)
        self._answers.clear()
        self._enter(State.SEND_ALL)

    def _run_if_answered(self) -> None:
        if self.state is State.WAIT_ALL and len(self._answers) == len(self._homes):
            for index, difference in self._answers.items():
                self.given[index] += difference
            self._patience = self._options.window * len(self._homes)
            self._enter(State.RUN)

    # ---- tuples

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        """See `Splitter`."""
        picked: dict[int, list[int]] = {}
        questions: dict[int, dict[int, bytes]] = {}
        for position, cells in enumerate(self._keys.of(rows)):
            index, question = self._choose(cells)
            picked.setdefault(index, []).append(position)
            if question is not None:
                questions.setdefault(index, {})[position] = _encode(question)
        return [(index, Carrying(some, questions[index]) if index in questions else some) for index, some in picked.items()]

    def _choose(self, cells: Cells) -> tuple[int, _Question | None]:
        """The task of one tuple, and what that carries."""
        state = self.state
        if state is State.ROUND_ROBIN:
            index = self._ring.next()
            if index in self._greeted:
                return index, None
            self._greeted.add(index)
            return index, _Question(self.round, 0, 0.0)
        if state is State.SEND_ALL:
            index = self._unasked.pop()
            self._give(index, cells)
            question = _Question(self.round, self.epoch, self.given[index])
            if not self._unasked:
                self._enter(State.WAIT_ALL)
                self._run_if_answered()
            return index, question
        index = min(self.given, key=self.given.__getitem__)
        self._give(index, cells)
        self._since += 1
        if state is State.RUN:
            if self._options.resync and self._since >= self._options.window * len(self._homes):
                self._send_all()
        elif self._since >= self._patience:
            self._patience *= 2
            self._send_all()
        return index, None

    def _give(self, index: int, cells: Cells) -> None:
        self.given[index] += self._sketches[index].mean(cells)

    # ---- what tasks tell

    def heard(self, index: int, payload: bytes) -> None:
        """See `ObservedSplitter`."""
        told = _read_told(payload)
        if index not in self._homes:
            return
        if isinstance(told, _Answer):
            if (told.round, told.epoch) == (self.round, self.epoch) and self.state in (State.SEND_ALL, State.WAIT_ALL):
                self._answers[index] = told.difference
                self._run_if_answered()
            return
        cells = self._options.rows * self._options.columns
        if len(told.counts) != cells or len(told.micros) != cells:
            raise GroupingError(f"osg: a sketch of {len(told.counts)} and {len(told.micros)} cells, expected {cells}")
        self._sketches[index] = Sketch(self._options.columns, told.counts, told.micros)
        self._send_all_if_known()
