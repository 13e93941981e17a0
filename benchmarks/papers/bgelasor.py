"""BGElasor (Mu, Jin, Wang, Zhu, Wang): Table 1 on its two public loads, and Figures 4 and 5, of which its text tells what is seen.

What a replica can do in an epoch is not told; here ten replicas carry the highest epoch of the training part.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks.bgelasor import PAPER, USUAL, Load, LoadError, Outcome, kept, plans, read, verdict
from benchmarks.papers.curves import MissingError
from benchmarks.papers.report import Column, Drawing, Experiment, Report, columns_table
from benchmarks.papers.runs import Laboratory
from benchmarks.papers.verdict import Verdict, of_claim
from benchmarks.report import markdown
from pasps.control.policies.cba import balanced
from pasps.control.policies.epochs import Prices, base_of, cost, short
from pasps.control.policies.optimal import cheapest
from predictor_service.trained.artifact import Artifact, load, write
from predictor_service.trained.artifacts import Artifacts
from predictor_service.trained.manifest import MODELS
from predictor_service.trained.training import train

PRICES = Prices(replica=8000.0, start=5000.0, stop=5000.0, route=100.0)
"""Those of Figure 4."""
_REPLICAS = 10
_FORECASTS = "svr"
"""Whose forecasts the figures are made with: quick to train, and about as good as the networks; and those of one who knows what comes."""
_KNOWN = "what comes"
SREA, SPEA, CBA, OPTIMAL = "SREA", "SPEA", "CBA", "optimal"
FIRST = 2
"""Epochs 0 and 1, of which Figure 4's text says that SREA is cheapest."""
EARLY = 10
"""The last epoch of those in which Figure 5's text has SREA change later than the others, and after which more."""


# ---- Table 1


def _table(lab: Laboratory) -> Report:
    """Means over the seeds, as z-scores of the whole load: the printed errors above 1 cannot be of what is scaled to 0 to 1."""
    folder, cache = lab.data / "rates", lab.cache / "bgelasor"
    cache.mkdir(exist_ok=True)
    outcomes = list[Outcome]()
    for plan in plans(MODELS, lab.seeds, USUAL):
        for name in PAPER:
            _read(folder, name)
            outcomes.append(kept(cache, folder, (name, plan)))
            sys.stderr.write(f"        Table 1: {name}, {plan.model}, seed {plan.seed}\n")
    parts, verdicts = [], dict[str, Verdict]()
    for name, printed in PAPER.items():
        columns = errors_of(name, printed, outcomes)
        verdicts |= {f"BGElasor, Table 1, {name}, column {column.name}": column.verdict for column in columns}
        parts += [f"**The {name} load**", columns_table(columns, "model")]
    return Report("BGElasor, Table 1: errors of the forecasts", [*parts, verdict(outcomes)], verdicts)


def errors_of(load: str, printed: Mapping[str, tuple[float, float]], outcomes: Sequence[Outcome]) -> list[Column]:
    """RMSE and MAE."""
    found = []
    for place, name in enumerate(("rmse", "mae")):
        ours = {
            model: fmean(one.test[f"z_{name}"] * one.whole for one in outcomes if (one.load, one.model) == (load, model))
            for model in printed
        }
        found.append(Column(name.upper(), {model: values[place] for model, values in printed.items()}, ours))
    return found


def _read(folder: Path, name: str) -> Load:
    try:
        return read(folder, name)
    except LoadError as error:
        raise MissingError(str(error)) from error


# ---- Figures 4 and 5


@dataclass(frozen=True, slots=True)
class Played:
    """What a policy would have had in each epoch, and the fewest that would have done."""

    replicas: Sequence[int]
    base: Sequence[int]

    @property
    def cost(self) -> float:
        """Eq. 9."""
        return cost(self.replicas, self.base, PRICES)

    @property
    def costs(self) -> list[float]:
        """That of each epoch, with what it takes to come there from the one before."""
        ahead = (self.of(epoch - 1, epoch + 1).cost - self.of(epoch - 1, epoch).cost for epoch in range(1, len(self.replicas)))
        return [self.of(0, 1).cost, *ahead]

    @property
    def changes(self) -> int:
        """Epochs with another number than the one before."""
        return sum(before != after for before, after in pairwise(self.replicas))

    @property
    def moves(self) -> list[int]:
        """Replicas started and stopped in each epoch."""
        return [0, *(abs(after - before) for before, after in pairwise(self.replicas))]

    @property
    def first_change(self) -> float:
        """The first epoch, counted from 0, with another number than the one before; infinite where there is none."""
        pairs = enumerate(pairwise(self.replicas), 1)
        return next((epoch for epoch, (before, after) in pairs if before != after), math.inf)

    def of(self, first: int, end: int | None = None) -> Played:
        """These epochs alone."""
        return Played(self.replicas[first:end], self.base[first:end])

    @property
    def short(self) -> int:
        """Epochs with too few, in which events wait."""
        return len(short(self.replicas, self.base))


def played(inputs: Sequence[float], forecasts: Sequence[Sequence[float]], capacity: float) -> dict[str, Played]:
    """All policies, epoch by epoch. `inputs` begin with the epoch before the first forecast, which is of the epochs after it."""
    base = base_of(inputs[1:], capacity)
    found: dict[str, list[int]] = {SREA: base_of(inputs[:-1], capacity), SPEA: [], CBA: [], OPTIMAL: []}
    for forecast in forecasts:
        said = base_of(forecast, capacity)
        found[SPEA].append(said[0])
        for name, choose in ((CBA, balanced), (OPTIMAL, cheapest)):
            present = found[name][-1] if found[name] else said[0]
            found[name].append(choose(said, PRICES, present)[0])
    return {name: Played(replicas, base) for name, replicas in found.items()}


def cheapest_first(game: Mapping[str, Played], begin: int = 0) -> bool:
    """Whether SREA costs less than SPEA and CBA in the first two epochs from `begin` on."""
    costs = {name: game[name].of(begin, begin + FIRST).cost for name in (SREA, SPEA, CBA)}
    return all(costs[SREA] < costs[other] for other in (SPEA, CBA))


def changes_later(game: Mapping[str, Played], begin: int = 0) -> bool:
    """Whether SPEA and CBA both change something up to epoch 10 from `begin` on, and SREA's first change comes after theirs."""
    firsts = {name: game[name].of(begin, begin + EARLY + 1).first_change for name in (SREA, SPEA, CBA)}
    return all(firsts[other] < firsts[SREA] for other in (SPEA, CBA))


def moves_more(game: Mapping[str, Played]) -> bool:
    """Whether SREA starts and stops more replicas than SPEA and CBA after epoch 10."""
    moved = {name: sum(game[name].of(EARLY).moves) for name in (SREA, SPEA, CBA)}
    return all(moved[SREA] > moved[other] for other in (SPEA, CBA))


def known(inputs: Sequence[float], horizon: int) -> list[list[float]]:
    """What comes, for each epoch after the first."""
    return [list(inputs[at : at + horizon]) for at in range(1, len(inputs))]


def _forecasts(lab: Laboratory, load: Load) -> list[list[float]]:
    """Of a trained model, for each epoch of the test part: of it and those after it, from what was known before. Kept."""
    training, validation, test = load.parts
    plan = replace(USUAL, model=_FORECASTS, seed=1, shares=(float(training), float(validation), float(test)))
    of = hashlib.sha256(repr((plan, load.step_seconds, load.rows)).encode()).hexdigest()[:16]
    file = lab.cache / f"bgelasor-{load.name}-{_FORECASTS}-{of}.json"
    if not file.exists():
        trained = train(load.rows, load.step_seconds, load.name, plan, lambda text: None)
        root, name = lab.cache / "artifacts", f"{_FORECASTS}-{load.name}"
        write(trained.manifest, trained.weights, root / name, overwrite=True)
        artifact = load_artifact(root, name)
        scaler = artifact.manifest.scaler
        scaled = (np.asarray(load.rows, dtype=np.float64) - scaler.low) / (scaler.high - scaler.low)
        first = training + validation
        windows = np.lib.stride_tricks.sliding_window_view(scaled[first - plan.window : -1], plan.window).astype(np.float32)
        made = artifact.predictions(windows).astype(np.float64) * (scaler.high - scaler.low) + scaler.low
        file.write_text(json.dumps(made.tolist()))
    found: list[list[float]] = json.loads(file.read_text())
    return [[max(0.0, value) for value in each] for each in found]


_Games = Mapping[str, Mapping[str, Played]]
"""What the policies would have had, by load and by who forecasts."""


def _games(lab: Laboratory) -> _Games:
    found = {}
    for name in PAPER:
        load = _read(lab.data / "rates", name)
        training, validation, _ = load.parts
        begin = training + validation
        capacity = max(load.rows[:training]) / _REPLICAS
        inputs = load.rows[begin - 1 :]
        found[f"{name}, `{_FORECASTS}`"] = played(inputs, _forecasts(lab, load), capacity)
        found[f"{name}, {_KNOWN}"] = played(inputs, known(inputs, USUAL.horizon), capacity)
    return found


def _costs(lab: Laboratory) -> Report:
    """Absolute, since Eq. 9 pays for being short: who is short often may cost less than nothing, and then no ratio says anything."""
    lines, firsts, verdicts = [], [], dict[str, Verdict]()
    games = _games(lab)
    for name, game in games.items():
        lines.append([name, *(f"{each.cost / 1e6:,.2f} ({each.short} of {len(each.base)} short)" for each in game.values())])
        cheaper, first = game[CBA].cost < game[SPEA].cost, cheapest_first(game)
        verdicts[f"BGElasor, Figure 4, {name}: CBA costs less than SPEA"] = of_claim(order=cheaper, size=cheaper)
        verdicts[f"BGElasor, Figure 4, {name}: SREA costs least in epochs 0 and 1"] = verdict = of_claim(order=first, size=first)
        costs = [f"{game[policy].of(0, FIRST).cost:,.0f}" for policy in (SREA, SPEA, CBA)]
        begins = [*costs, _share(cheapest_first(game, begin) for begin in range(len(game[SREA].base) - FIRST + 1)), verdict]
        firsts.append([name, *begins])
    head = ["load, forecasts", *(f"{policy}: cost in millions" for policy in (SREA, SPEA, CBA, OPTIMAL))]
    first_head = ["epochs 0 and 1", *(f"{policy}: cost" for policy in (SREA, SPEA, CBA)), "SREA least, of any two in a row", "verdict"]
    parts = [markdown(head, lines), markdown(first_head, firsts)]
    drawings = _drawings(4, "cost so far, millions", games, lambda each: [cost / 1e6 for cost in each.costs])
    return Report("BGElasor, Figure 4: what the policies cost over ten days", parts, verdicts, drawings)


def _share(found: Iterable[bool]) -> str:
    return f"{fmean(found):.1%}"


def _drawings(number: int, ylabel: str, games: _Games, of: Callable[[Played], Iterable[float]]) -> list[Drawing]:
    """Ours alone, summed up epoch by epoch: the paper's curves are not public."""
    drawings = []
    for name, game in games.items():
        epochs = list(range(len(game[SREA].base)))
        ours = {policy: (epochs, list(accumulate(of(game[policy])))) for policy in (SREA, SPEA, CBA)}
        file = f"bgelasor-figure-{number}-{name.replace(', ', '-').replace(' ', '-').replace('`', '')}"
        title = f"BGElasor, Figure {number}: {name.replace('`', '')}"
        drawings.append(Drawing(file, title, ylabel, ours, xlabel="epoch", together=True))
    return drawings


def _changes(lab: Laboratory) -> Report:
    lines, times, verdicts = [], [], dict[str, Verdict]()
    games = _games(lab)
    for name, game in games.items():
        lines.append([name, *(f"{each.changes}, {each.short}" for each in game.values())])
        fewest = all(game[CBA].changes < game[other].changes for other in (SREA, SPEA))
        late = game[SREA].short > max(game[SPEA].short, game[CBA].short)
        verdicts[f"BGElasor, Figure 5, {name}: CBA changes least"] = of_claim(order=fewest, size=fewest)
        verdicts[f"BGElasor, Figure 5, {name}: SREA is short most often"] = of_claim(order=late, size=late)
        later, more = changes_later(game), moves_more(game)
        verdicts[f"BGElasor, Figure 5, {name}: SREA changes later up to epoch 10"] = at_first = of_claim(order=later, size=later)
        verdicts[f"BGElasor, Figure 5, {name}: SREA starts and stops more after epoch 10"] = then = of_claim(order=more, size=more)
        begins = _share(changes_later(game, begin) for begin in range(len(game[SREA].base) - EARLY))
        three = [game[policy] for policy in (SREA, SPEA, CBA)]
        found = [_epoch(each.first_change) for each in three], [f"{sum(each.of(EARLY).moves):,}" for each in three]
        times.append([name, ", ".join(found[0]), at_first, begins, ", ".join(found[1]), then])
    head = ["load, forecasts", *(f"{policy}: changes, epochs short" for policy in (SREA, SPEA, CBA, OPTIMAL))]
    three_head = f"{SREA}, {SPEA}, {CBA}"
    times_head = [three_head, "first change in epoch", "SREA later", "of any eleven in a row", "moved after epoch 10", "SREA more"]
    drawings = _drawings(5, "started and stopped so far", games, lambda each: each.moves)
    parts = [markdown(head, lines), markdown(times_head, times)]
    return Report("BGElasor, Figure 5: how often it changes, and is short of replicas", parts, verdicts, drawings)


def _epoch(first: float) -> str:
    return "never" if first == math.inf else f"{first:.0f}"


def load_artifact(root: Path, name: str) -> Artifact:
    """One that was written below that directory."""
    return load(Artifacts(root), name)


EXPERIMENTS = (
    Experiment("bgelasor-table-1", "errors of six predictors; trains for an hour", _table),
    Experiment("bgelasor-figure-4", "cost of SREA, SPEA and CBA", _costs),
    Experiment("bgelasor-figure-5", "how often they change, and are short", _changes),
)
