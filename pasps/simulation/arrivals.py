"""When events become due: the rows of a trace, one event at a time or several as one. Pure, and the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from random import Random


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Events of each row, each `step_seconds` long; spread evenly as `TraceSpout` does, or with a `seed` at random within the row."""

    counts: tuple[int, ...]
    step_seconds: float = 1.0
    seed: int | None = None

    @classmethod
    def of(cls, values: Sequence[float], step_seconds: float = 1.0, seed: int | None = None) -> Arrivals:
        """Whole numbers with the same sum up to any row, as near as whole numbers can be."""
        sums = [0, *(round(total) for total in accumulate(values))]
        return cls(tuple(after - before for before, after in pairwise(sums)), step_seconds, seed)

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.counts) * self.step_seconds

    @property
    def events(self) -> int:
        """All of them."""
        return sum(self.counts)

    @property
    def peak_rate(self) -> float:
        """Events a second in the busiest row."""
        return max(self.counts, default=0) / self.step_seconds

    def expected(self, begin: float, end: float) -> float:
        """Events that become due between two moments, as the rows have it; after the last row there are none."""
        step, counts = self.step_seconds, self.counts
        found, row = 0.0, int(begin / step)
        while row < len(counts) and row * step < end:
            found += counts[row] * (min(end, (row + 1) * step) - max(begin, row * step)) / step
            row += 1
        return found

    def parcels(self, a_second: float) -> Iterator[tuple[float, int]]:
        """When, and how many: about `a_second` a second at most, in order. Several events as one are there at the middle of their time."""
        most = max(1, int(a_second * self.step_seconds))
        random = Random(self.seed) if self.seed is not None else None
        for row, count in enumerate(self.counts):
            if not count:
                continue
            start, step = row * self.step_seconds, self.step_seconds
            if count <= most:
                if random is None:
                    yield from ((start + step * (number + 1) / count, 1) for number in range(count))
                else:
                    yield from ((start + step * place, 1) for place in sorted(random.random() for _ in range(count)))
                continue
            done, share = 0, count / most
            for part in range(most):
                # as many as Poisson's process has there, when they come at random: what is too few now comes later in the row
                spread = 0.0 if random is None or part == most - 1 else random.gauss(0.0, share**0.5)
                upto = count if part == most - 1 else min(count, max(done, round((part + 1) * share + spread)))
                if upto > done:
                    yield start + step * (part + 0.5) / most, upto - done
                done = upto
