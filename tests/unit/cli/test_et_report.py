"""What `pasps et` writes and tells of what was measured, and of what was not."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pasps.api import Bolt, Spout, Topology, bolt
from pasps.cli import exit_codes
from pasps.cli.jobs.et import bolts_to_skip, entries_to_keep
from pasps.cli.jobs.et_report import Progress, Result, SampleFacts
from pasps.control.et_file import EtFile, OperatorTimes, load_execution_times, parse, write_execution_times
from pasps.data.et_benchmark import Measured
from pasps.data.et_events import EventFile, Rows
from pasps.data.et_sample import Sample
from pasps.data.et_statistics import summary
from pasps.errors import BrokenError, InvalidError


class Tweets(Spout):
    outputs = ["text"]

    def next_tuple(self) -> None: ...


@bolt(outputs=["score"])
def sentiment(text: str) -> tuple[int]:
    return (len(text),)


class Store(Bolt):
    execution = "thread"

    def process(self, tup: Any) -> None: ...


class Application(Topology):
    tweets = Tweets.spec()
    sentiment = sentiment.spec(inputs=[tweets])
    store = Store.spec(inputs=[sentiment])


FLOW = Application.blueprint()
COSTS = [[0.001, 0.003] * 50, [0.001, 0.003] * 50]
SENTIMENT = Measured("sentiment", 100, summary(COSTS), costs=(0.001, 0.003), selectivity={"default": 1.0, "odd": 0.5})
STORE = Measured("store", 100, summary([[0.01] * 100] * 2), costs=(0.01,) * 4, selectivity={})
FAILED = Measured("store", 100, reason="it failed on all 100 tuples", failed=100, error='Traceback:\n  File "a.py"\nOSError: no database')
SKIPPED = Measured("store", 100, reason="it was left out (--skip)", skipped=True)
KEPT = OperatorTimes(0.5, "thread", None)


def result(*found: Measured, **changes: Any) -> Result:
    return replace(Result(FLOW, found, SampleFacts(100, {"tweets": 100}), {}, {"cores": 2}), **changes)


def test_the_file_holds_for_the_topology_and_the_picture_is_beside_it(tmp_path: Path) -> None:
    out = tmp_path / "app.py.et.json"
    done = result(SENTIMENT, STORE)
    picture = done.write(out, 1741097000.9)
    assert picture == tmp_path / "app.py.et.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert load_execution_times(out, FLOW).warnings == ()
    read = parse(out.read_text(), "it")
    assert (read.topology, read.made_at, read.made_with) == ("application", "2025-03-04T14:03:20Z", {"cores": 2})
    assert done.exit_code == exit_codes.OK


def test_without_matplotlib_there_is_no_picture_and_the_cure_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "pasps.data.et_picture", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    out = tmp_path / "out.json"
    assert result(SENTIMENT, STORE).write(out, 0.0) is None
    assert out.is_file()
    assert "pip install 'pasps[report]'" in capsys.readouterr().err


def test_what_was_measured_is_not_lost_for_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def draw(topology: str, strips: Any) -> bytes:
        raise RuntimeError("no font")

    monkeypatch.setattr("pasps.data.et_picture.draw", draw)
    (tmp_path / "out.png").write_text("older")
    assert result(SENTIMENT, STORE).write(tmp_path / "out.json", 0.0) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "out.png"]
    assert capsys.readouterr().err == "no picture: no font\n"


def test_a_file_that_cannot_be_written_is_an_error_of_the_outside(tmp_path: Path) -> None:
    with pytest.raises(BrokenError, match="cannot be written: No such file or directory; give another with --out"):
        result(SENTIMENT, STORE).write(tmp_path / "gone" / "out.json", 0.0)


def test_a_bolt_without_an_entry_is_not_in_the_file_and_makes_another_exit_code(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = result(SENTIMENT, FAILED)
    done.write(out, 0.0)
    assert set(parse(out.read_text(), "it").operators) == {"sentiment"}
    assert done.exit_code == exit_codes.FAILED


def test_a_bolt_that_was_left_out_keeps_the_entry_it_had(tmp_path: Path) -> None:
    assert result(SENTIMENT, SKIPPED).exit_code == exit_codes.OK
    assert set(result(SENTIMENT, SKIPPED).entries()) == {"sentiment"}
    done = result(SENTIMENT, SKIPPED, kept={"store": KEPT})
    assert done.entries()["store"] == KEPT
    assert done.told(tmp_path / "out.json", None)["operators"]["store"]["et_seconds"] == 0.5


def test_when_nothing_was_measured_nothing_is_written(tmp_path: Path) -> None:
    done = result(replace(FAILED, bolt="sentiment"), SKIPPED, kept={"store": KEPT})
    out = tmp_path / "out.json"
    assert done.write(out, 0.0) is None
    assert not out.exists()
    assert done.text(out, None).endswith("nothing could be measured, so nothing is written")
    assert done.told(out, None)["file"] is None


def test_people_get_a_table_and_what_is_to_be_known_of_each_bolt() -> None:
    noted = replace(SENTIMENT, failed=2, error="ValueError: 7", notes=("only 90 of 100 tuples in the 30 s of a pass",))
    lines = result(noted, FAILED).text(Path("app.py.et.json"), Path("app.py.et.png")).splitlines()
    assert lines[1].split() == [
        *("sentiment", "inline", "100", "2.0", "ms", "2.0", "ms", "1.0", "ms", "1.0", "ms", "3.0", "ms", "3.0", "ms"),
        *("50%", "1,", "odd", "0.5"),
    ]  # fmt: skip
    assert lines[2].split() == ["store", "thread", "100", *"--------"]
    assert lines[3:] == [
        "sentiment: only 90 of 100 tuples in the 30 s of a pass",
        "sentiment: what it takes depends on the event: it varies by 50%",
        "sentiment: it failed on 2 of 100 tuples",
        "sentiment: the first error:",
        "    ValueError: 7",
        "store: no entry: it failed on all 100 tuples",
        "store: the first error:",
        "    Traceback:",
        '      File "a.py"',
        "    OSError: no database",
        "written to app.py.et.json, picture app.py.et.png",
    ]


def test_programs_get_all_of_it() -> None:
    told = json.loads(json.dumps(result(SENTIMENT, FAILED).told(Path("app.py.et.json"), Path("app.py.et.png"))))
    assert (told["topology"], told["file"], told["picture"]) == ("application", "app.py.et.json", "app.py.et.png")
    assert told["operators"]["sentiment"]["selectivity"] == {"default": 1.0, "odd": 0.5}
    store = told["operators"]["store"]
    assert (store["reason"], store["failed"], "et_seconds" in store) == ("it failed on all 100 tuples", 100, False)


def test_progress_and_the_sample_are_told_beside_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    file, rows = EventFile("tweets", "default", "t.csv"), Rows([("a",)], 3, ("line 2: expected 1 cells, got 2",))
    SampleFacts().with_file(file, rows).of(Sample({}, 100, {"tweets": 100})).tell()
    progress = Progress(3, 200.0)
    progress.begins(FLOW.components["sentiment"], 1000)
    progress.passed(FLOW.components["sentiment"], 1)
    progress.done(FLOW.components["sentiment"], SENTIMENT)
    progress.done(FLOW.components["store"], FAILED)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "sample: 100 events of tweets; 3 bad rows were left out",
        "  t.csv: line 2: expected 1 cells, got 2",
        "sentiment: 1,000 tuples 3 times, at least 15 s",
        "sentiment: pass 1 of 3",
        "sentiment: et 2.0 ms",
        "store: it failed on all 100 tuples",
    ]


# ---- what was asked for


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["stroe"], "--skip stroe: the topology has no bolt 'stroe'; did you mean 'store'"),
        (["tweets"], "no bolt 'tweets'; its bolts are sentiment, store"),
        (["sentiment", "store"], "topology 'application' has no bolt to measure but those of --skip"),
    ],
)
def test_a_skip_that_makes_no_sense_is_refused(names: list[str], words: str) -> None:
    with pytest.raises(InvalidError, match=words):
        bolts_to_skip(names, FLOW)


def test_entries_stay_of_what_is_left_out_alone(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert entries_to_keep(out, frozenset({"store"})) == {}
    write_execution_times(out, EtFile("application", {"store": KEPT, "sentiment": KEPT}))
    assert entries_to_keep(out, frozenset({"store"})) == {"store": KEPT}
    out.write_text("not a file of ours")
    assert entries_to_keep(out, frozenset()) == {}, "it will be written anew"
    with pytest.raises(InvalidError, match="correct it by hand, or remove it"):
        entries_to_keep(out, frozenset({"store"}))


def test_where_nothing_can_be_written_nothing_is_begun(tmp_path: Path) -> None:
    for out in (tmp_path / "gone" / "out.json", tmp_path):
        with pytest.raises(InvalidError, match="expected a file in a folder that exists"):
            entries_to_keep(out, frozenset())


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder in which nobody may make files")
def test_a_folder_in_which_nothing_can_be_made_is_found_before_anything_is_measured() -> None:
    with pytest.raises(InvalidError, match=r"^/proc/self/out\.json cannot be written: .*; give another with --out"):
        entries_to_keep(Path("/proc/self/out.json"), frozenset())
