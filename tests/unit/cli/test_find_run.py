from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pasps.cli.find_run import NotRunningError, choose_run, find_run, how_it_ended
from pasps.errors import BusyError, InvalidError
from pasps.topology.run_record import RunState, write_json
from tests.unit.cli.builders import known_run

ONE = known_run("word-count", number=1)
TWO = known_run("tweets", number=2)
SECOND = known_run("tweets", number=3)
ENDED = known_run("old", RunState.ENDED, 4, ended=5000.0)
LOST = known_run("crashed", RunState.LOST, 5)


def test_the_only_one_need_not_be_named() -> None:
    assert choose_run([ENDED, ONE, LOST], None) is ONE


def test_a_name_means_the_one_that_lives() -> None:
    before = known_run("word-count", RunState.ENDED, 9)
    assert choose_run([before, ONE, TWO], "word-count") is ONE


@pytest.mark.parametrize("run", [TWO, ENDED])
def test_the_last_part_of_a_run_directory_names_it(run: object) -> None:
    assert choose_run([TWO, SECOND, ENDED], getattr(run, "directory").name) is run  # noqa: B009 - typed for the parameters


def test_several_are_listed_with_their_directories() -> None:
    with pytest.raises(InvalidError, match="several runs are named 'tweets'; say which by its run directory") as caught:
        choose_run([ONE, TWO, SECOND], "tweets")
    assert str(caught.value).splitlines()[1:] == [f"  tweets  {TWO.directory}", f"  tweets  {SECOND.directory}"]
    with pytest.raises(InvalidError, match="several topologies run"):
        choose_run([ONE, TWO], None)


@pytest.mark.parametrize(
    ("runs", "wanted", "words"),
    [
        ([], None, "no topology runs; start one with `pasps run FILE`"),
        ([ENDED, LOST], None, "no topology runs"),
        ([], "tweets", "no topology named 'tweets' runs, nor does any other"),
        ([ONE, TWO], "tweet", "no topology named 'tweet' runs; did you mean 'tweets'? there is\n  word-count  "),
        ([ONE], "zzz", "no topology named 'zzz' runs; there is\n  word-count"),
        ([ENDED], "old", "no topology named 'old' runs; of the last one: it broke off at "),
        ([LOST], "crashed", "its process 5 is gone without a word"),
    ],
)
def test_what_does_not_run_is_told_with_what_does(runs: list[object], wanted: str | None, words: str) -> None:
    with pytest.raises(NotRunningError) as caught:
        choose_run(runs, wanted)  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_how_it_ended_says_where_to_look(tmp_path: Path) -> None:
    assert how_it_ended(ENDED).endswith(f"what it left is in {ENDED.directory}")
    (tmp_path / "summary.json").touch()
    assert how_it_ended(replace(ENDED, directory=tmp_path)).endswith(f"see {tmp_path}/summary.json")
    assert str(LOST.directory) in how_it_ended(LOST)


def test_a_directory_is_a_name_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_json(tmp_path / "run.json", ONE.record)
    monkeypatch.chdir(tmp_path.parent)
    assert find_run(str(tmp_path)).record == find_run(tmp_path.name).record == ONE.record


def test_a_directory_of_a_run_that_is_over_does_not_run(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", ENDED.record)
    with pytest.raises(NotRunningError, match="topology 'old' does not run any more; it broke off at "):
        find_run(str(tmp_path))


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="not a run directory"):
        find_run(f"{tmp_path}/nothing")


def test_one_that_starts_does_not_answer_yet(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", known_run(state=RunState.STARTING, socket=str(tmp_path / "control.sock")).record)
    with pytest.raises(BusyError, match=r"topology 'doubling' \(process 1\) is still starting; try again"):
        find_run(str(tmp_path))


def test_one_of_another_host_has_to_be_asked_there(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", known_run(host="far-away").record)
    with pytest.raises(InvalidError, match="runs on host 'far-away'; ask there"):
        find_run(str(tmp_path))
