"""The topologies that come with the project: they load, they are what the demo needs, and their pure parts do what they say."""

from __future__ import annotations

import importlib.util
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest

from pasps.api.topology import blueprint_of
from pasps.topology.load_file import choose, topologies_in

TOPOLOGIES = Path(__file__).parents[3] / "topologies"
FILES = sorted(path for path in TOPOLOGIES.glob("*/*.py") if "(Topology):" in path.read_text())


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


def test_the_rate_of_the_tweets_is_the_same_for_the_same_seed_and_has_waves_and_bursts() -> None:
    tweets = module_of(TOPOLOGIES / "tweets" / "tweets.py")
    one, two, other = (list(islice(tweets.bursty(1000, 20, seed), 400)) for seed in (1, 1, 2))
    assert one == two != other
    # tweets in half a second
    assert min(one) == pytest.approx(250, rel=0.05)
    assert 1000 < max(one) <= 2250


def test_as_many_tweets_as_asked_for() -> None:
    tweets = module_of(TOPOLOGIES / "tweets" / "tweets.py")
    assert tweets.first(25, iter([10, 10, 10, 10])) == [10, 10, 5]
