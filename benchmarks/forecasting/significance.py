"""Which differences between models are more than chance: ranks over series, Friedman's test with Nemenyi's, and Wilcoxon's with Holm's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Ranking:
    """Mean ranks, 1 the best; `chance` that they differ so much when all are alike; ranks closer than `critical` may be so by chance."""

    ranks: Mapping[str, float]
    chance: float
    critical: float


def ranking(losses: Mapping[str, Sequence[float]]) -> Ranking:
    """Of three or more models, each with its loss on every series in the same order."""
    names, rows = list(losses), list(zip(*losses.values(), strict=True))
    ranked = [rankdata(row) for row in rows]
    count, series = len(names), len(rows)
    means = {name: float(sum(row[place] for row in ranked)) / series for place, name in enumerate(names)}
    chance = float(friedmanchisquare(*losses.values()).pvalue)
    critical = float(studentized_range.ppf(1 - LEVEL, count, math.inf)) / math.sqrt(2) * math.sqrt(count * (count + 1) / (6 * series))
    return Ranking(means, chance, critical)


def unlike(losses: Mapping[str, Sequence[float]], one: str) -> dict[str, float]:
    """For every other model the chance, by Wilcoxon's signed ranks and corrected by Holm, that it is as good as `one`."""
    raw = {name: _chance(losses[one], theirs) for name, theirs in losses.items() if name != one}
    corrected, most = {}, 0.0
    for place, (name, chance) in enumerate(sorted(raw.items(), key=lambda item: item[1])):
        most = max(most, min(1.0, chance * (len(raw) - place)))
        corrected[name] = most
    return corrected


def _chance(ours: Sequence[float], theirs: Sequence[float]) -> float:
    # as ratios, so that a series of many events counts no more than one of few
    ratios = [math.log((mine + 1e-12) / (other + 1e-12)) for mine, other in zip(ours, theirs, strict=True)]
    return float(wilcoxon(ratios).pvalue) if any(ratios) else 1.0
