"""What is measured of an executor: what it has done, whether its calls block, how much fits into a step.

Plain numbers: the pump and the executors have the clock.
"""

from __future__ import annotations


class Meter:
    """Plain numbers; only the worker's loop writes them."""

    __slots__ = ("acked", "errors", "executed", "failed", "held_back", "replayed", "seconds")

    def __init__(self) -> None:
        self.executed: dict[int, int] = {}
        self.seconds = 0.0
        self.acked = 0
        self.failed = 0
        self.errors = 0
        self.replayed = 0
        self.held_back = 0

    def ran(self, edge: int, count: int) -> None:
        """`count` tuples of `edge` were executed."""
        self.executed[edge] = self.executed.get(edge, 0) + count


_LOOK_SECONDS = 1.0
"""So much time of steps is looked at before they are suspected, and again before they are judged."""
_REST_SECONDS = 10.0
"""So much time of steps is judged by the last verdict, before they are looked at again."""
_SHARE = 0.25
"""Steps block when they wait for this share of their time."""
_FEWEST = 3
"""In so many steps: one slow call, such as the first connection, says nothing of the others."""


class Blocking:
    """Of one executor whose steps run on the worker's loop.

    States: LOOKING, by CPU time against wall time, which are measured anyway; WATCHING, when the CPU time was too little. Then the
    pump also measures what any thread of the process ran, or waited for a core: what is left of the wall time is a wait for
    something outside. A wait for a core is none, and neither is one for the interpreter, which another thread of the process then
    has. See docs/decisions/0016.
    """

    __slots__ = ("_asked", "_asleep", "_cpu", "_limit", "_sleeps", "_uncounted", "_wall", "blocks", "watching")

    def __init__(self) -> None:
        self.blocks = False
        """The verdict; the steps' wall time counts."""
        self.watching = False
        """Whether `step` wants to know how long the process was awake."""
        self._limit = _LOOK_SECONDS
        self._wall = self._cpu = self._asleep = self._uncounted = self._asked = 0.0
        self._sleeps = 0

    def asked(self, seconds: float) -> None:
        """It took so long to find out how long the process was awake; that is a part of the time for which steps are watched."""
        self._asked += seconds

    def step(self, cpu: float, wall: float, awake: float | None = None) -> float:
        """A step took so long; returns the seconds to count for it.

        `awake`: seconds in which any thread of the process ran or waited for a core meanwhile; None: not known.
        """
        self._wall += wall
        self._cpu += cpu
        if awake is not None:
            asleep = max(0.0, wall - awake)
            self._asleep += asleep
            self._sleeps += asleep > _SHARE * wall
        counted = wall if self.blocks else cpu
        if self._wall + self._asked < self._limit:
            return counted
        if not self.blocks:
            self._uncounted += self._wall - self._cpu
        return counted + (self._judge() if self.watching else self._look())

    def _look(self) -> float:
        suspect = self._wall - self._cpu > _SHARE * self._wall
        if not suspect:
            self.blocks = False
        return self._begin(_LOOK_SECONDS, watching=suspect)

    def _judge(self) -> float:
        before, self.blocks = self.blocks, self._asleep > _SHARE * self._wall and self._sleeps >= _FEWEST
        # what led to the verdict was counted by CPU time
        late = self._uncounted if self.blocks and not before else 0.0
        self._begin(_REST_SECONDS, watching=False)
        self._uncounted = 0.0
        return late

    def _begin(self, seconds: float, *, watching: bool) -> float:
        self.watching, self._limit = watching, seconds
        self._wall = self._cpu = self._asleep = self._asked = 0.0
        self._sleeps = 0
        if not watching:
            self._uncounted = 0.0
        return 0.0


STEP_SECONDS = 0.002
_CHUNK_SECONDS = 0.001
_MOST_OUTPUT = 1024


class Whole:
    """For bolts that take batches: as many as there are, whatever a call takes, since a call is one unit of their work."""

    __slots__ = ("size",)

    def __init__(self, most: int) -> None:
        self.size = most

    def learn(self, count: int, seconds: float, produced: int) -> None:
        """Nothing to learn."""


class Pace:
    """Learns from each chunk; grows at most fourfold at a time. One tuple when it cannot tell."""

    __slots__ = ("_most", "seconds_each", "size")

    def __init__(self, most: int) -> None:
        self._most = most
        self.size = 1
        self.seconds_each = 0.0

    def learn(self, count: int, seconds: float, produced: int) -> None:
        """A chunk of `count` tuples took `seconds` and produced so many."""
        # believed by half: one chunk may have been slow because another process had the core
        self.seconds_each = (seconds / count + self.seconds_each) / 2 if self.seconds_each else seconds / count
        size = min(4 * count, self._most, int(_CHUNK_SECONDS / max(self.seconds_each, 1e-9)))
        if produced > count:
            size = min(size, _MOST_OUTPUT * count // produced)
        self.size = max(1, size)
