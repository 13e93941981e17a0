from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pasps.cluster.dev.bring_up import BringUp, ClusterStartError
from pasps.cluster.dev.parts import Part
from pasps.cluster.dev.processes import ProcessRef
from pasps.testing import FakeClock
from pasps.topology.process_identity import started

ALIVE = ProcessRef(os.getpid(), started(os.getpid()) or "")
DEAD = ProcessRef(os.getpid(), "another one")


class Stage:
    """Parts whose answers a test sets; keeps in which order they were started."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.missing: dict[str, str | None] = {}
        self.started: list[str] = []
        self.processes: dict[str, ProcessRef] = {}

    def part(self, name: str, *needs: str) -> Part:
        self.missing[name] = "it is slow"
        return Part(name, f"at-{name}", (), needs, command=lambda _: [], probe=lambda: self.missing[name])

    def start(self, part: Part) -> ProcessRef:
        self.started.append(part.name)
        return self.processes.get(part.name, ALIVE)

    def log(self, name: str) -> Path:
        return self.directory / f"{name}.log"

    def bring_up(
        self, *parts: Part, living: dict[str, ProcessRef] | None = None, code: Callable[[int], int | None] = lambda _: 1
    ) -> BringUp:
        return BringUp(parts, living or {}, self.start, code, self.log)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_what_needs_nothing_starts_at_once_and_the_others_when_what_they_need_is_up(stage: Stage) -> None:
    bring_up = stage.bring_up(stage.part("a"), stage.part("b", "a"), stage.part("c"))
    assert bring_up.step() == []
    assert stage.started == ["a", "c"]
    stage.missing["a"] = None
    assert [part.name for part in bring_up.step()] == ["a"]
    assert stage.started == ["a", "c", "b"]
    stage.missing["b"] = stage.missing["c"] = None
    assert [part.name for part in bring_up.step()] == ["b", "c"]
    assert bring_up.done


def test_what_lives_is_not_started_but_must_answer(stage: Stage) -> None:
    bring_up = stage.bring_up(stage.part("a"), living={"a": ALIVE})
    bring_up.step()
    assert not bring_up.done
    stage.missing["a"] = None
    bring_up.step()
    assert bring_up.done
    assert stage.started == []


def test_of_those_that_lived_nothing_is_told(stage: Stage) -> None:
    told: list[str] = []
    bring_up = stage.bring_up(stage.part("a"), stage.part("b"), living={"a": ALIVE})
    stage.missing = {"a": None, "b": None}
    bring_up.run(FakeClock(), 60.0, told.append)
    assert told == ["b is up at at-b after 0.0 s"]


def test_one_that_ends_is_named_with_the_end_of_its_log(stage: Stage) -> None:
    stage.processes["b"] = DEAD
    stage.log("b").write_text("first\n" * 30 + "last words\n")
    bring_up = stage.bring_up(stage.part("a"), stage.part("b"))
    with pytest.raises(ClusterStartError, match=r"b did not come up: process \d+ ended with exit code 1; see its log") as error:
        bring_up.step()
    assert str(error.value).endswith("first\nlast words")
    assert str(error.value).count("first") == 14
    assert error.value.part == "b"


def test_one_whose_port_was_taken_meanwhile_has_its_own_cure(stage: Stage) -> None:
    stage.processes["a"] = DEAD
    stage.log("a").write_text("java.net.BindException: Address already in use\n")
    with pytest.raises(ClusterStartError, match="taken its port meanwhile, so `pasps cluster down`"):
        stage.bring_up(stage.part("a")).step()


def test_one_that_is_late_is_named_with_what_is_missing(stage: Stage) -> None:
    bring_up = stage.bring_up(stage.part("a"), stage.part("b", "a"))
    with pytest.raises(ClusterStartError, match=r"a is not up after 0 s: process \d+ lives, but it is slow; .*--timeout.*a.log is empty"):
        bring_up.run(FakeClock(), 0.0, lambda _: None)
    assert stage.started == ["a"]
