"""The topologies that come with the project: they load, they are what the demo needs, and their pure parts do what they say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from pasps.api.topology import blueprint_of
from pasps.cli.load_file import choose, topologies_in

TOPOLOGIES = Path(__file__).parents[3] / "topologies"
FILES = sorted(TOPOLOGIES.glob("*/*.py"))


def module_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_file_has_one_topology_with_room_to_scale(path: Path) -> None:
    blueprint = blueprint_of(choose(str(path), topologies_in(module_of(path)), None))
    assert any(plan.pool > plan.par for plan in blueprint.components.values())


def test_the_schedule_of_the_tweets_is_the_same_for_the_same_seed_and_only_grows() -> None:
    schedule = module_of(TOPOLOGIES / "tweets" / "tweets.py").Schedule
    one, two, other = schedule(1000, 20, 1), schedule(1000, 20, 1), schedule(1000, 20, 2)
    moments = [tenth / 30 for tenth in range(1200)]
    due = [one.due(moment) for moment in moments]
    assert due == sorted(due)
    # a new one that is asked late, as after the death of a worker, comes to the same
    assert abs(two.due(moments[-1]) - due[-1]) <= 1
    assert other.due(moments[-1]) != due[-1]


def test_the_rate_of_the_tweets_has_waves_and_bursts() -> None:
    schedule = module_of(TOPOLOGIES / "tweets" / "tweets.py").Schedule(1000, 20, 1)
    rates = [schedule.rate_in(slot) for slot in range(1800)]
    assert min(rates) == pytest.approx(500, rel=0.01)
    assert 2500 < max(rates) <= 4500
