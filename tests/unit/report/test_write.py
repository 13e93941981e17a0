"""A whole report, from files to files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pasps.errors import BrokenError, InvalidError
from pasps.report.write import write_report
from tests.unit.report.builders import lines, made_up, sample, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", *made_up(60, 10))


def test_the_page_and_its_pictures_stand_in_the_run(run: Path) -> None:
    made = write_report(run)
    assert [path.name for path in made.paths] == [
        "report.html",
        "report-input.png",
        "report-replicas.png",
        "report-latency.png",
        "report-queues.png",
    ]
    assert all(path.parent == run and path.stat().st_size for path in made.paths)
    text = made.paths[0].read_text(encoding="utf-8")
    assert "<h1>wordcount</h1>" in text
    assert text.count("data:image/png;base64,") == 4
    assert (made.title, list(made.warnings), made.measures.interval_seconds) == ("wordcount", [], 10.0)


def test_a_second_report_replaces_the_first_elsewhere_too(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    before = sorted(run.iterdir())
    assert write_report(run, out).paths == write_report(run, out).paths
    assert sorted(run.iterdir()) == before
    assert (out / "report.html").is_file()


def test_a_killed_run_is_reported_until_its_end(run: Path) -> None:
    (run / "summary.json").unlink()
    whole = (run / "metrics.jsonl").read_bytes()
    (run / "metrics.jsonl").write_bytes(whole[:-30])
    made = write_report(run)
    assert made.measures.samples == 59
    assert made.warnings == ["There is no summary: the run was killed, or it is not over. The report shows it until its last sample."]


def test_samples_alone_are_enough(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(lines([sample(1, due=5, acked=5), sample(2, due=9, acked=9)])))
    made = write_report(tmp_path)
    assert made.title == tmp_path.name
    assert made.paths[0].is_file()


def test_without_one_whole_sample_it_says_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(b"rubbish\n" + b"".join(lines([sample(1, complete=False)])))
    with pytest.raises(InvalidError, match=r"found none \(1 lines that cannot be read, 1 incomplete samples\)"):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_what_cannot_be_written_is_named(run: Path) -> None:
    (run / "file").touch()
    with pytest.raises(BrokenError, match=r"file/out: Not a directory"):
        write_report(run, run / "file" / "out")


def test_without_matplotlib_it_says_how_to_get_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("figures", "canvas"):
        monkeypatch.delitem(sys.modules, f"pasps.report.{name}", raising=False)
    # None in the table of modules is how Python is told that there is no such module
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(InvalidError, match=r"pip install 'pasps\[report\]'"):
        write_report(run)
