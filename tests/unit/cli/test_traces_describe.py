"""`pasps traces describe` of files that are read without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pasps.errors import InvalidError
from tests.unit.cli.traces_command import run


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "spiky.csv"
    run("synth", "--kind", "spiky", "--steps", "300", "--seed", "2", "--out", path)
    return path


def test_a_table_and_a_picture(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("describe", trace, "--out", tmp_path) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{trace}\n\nrows        300 of 1 s, 2024-01-01T00:00:00Z to 2024-01-01T00:04:59Z\n")
    assert out.endswith(f"{tmp_path / 'spiky.png'}\n")
    assert (tmp_path / "spiky.png").read_bytes().startswith(b"\x89PNG")


def test_json_of_several(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "flat.csv"
    run("synth", "--kind", "steady", "--steps", "9", "--noise", "0", "--out", other)
    assert run("describe", trace, other, "--no-picture", "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert [found["name"] for found in made["traces"]] == [str(trace), str(other)]
    assert made["traces"][1]["deviation"] == 0
    assert made["paths"] == []


def test_a_picture_is_not_replaced_unasked(trace: Path, tmp_path: Path) -> None:
    picture = tmp_path / "mine.png"
    assert run("describe", trace, "--out", picture) == 0
    with pytest.raises(InvalidError, match=r"mine.png is there already"):
        run("describe", trace, "--out", picture)
    assert run("describe", trace, "--out", picture, "--overwrite") == 0


def test_pictures_of_several_need_a_directory(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="expected a directory for the pictures of 2 traces"):
        run("describe", trace, trace, "--out", tmp_path / "x.png")
    with pytest.raises(InvalidError, match="there is no directory"):
        run("describe", trace, "--out", tmp_path / "no")


def test_a_wrong_line_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("time,count\n2024-01-01T00:00:00Z,5\n2024-01-01T00:00:01Z,five\n")
    with pytest.raises(InvalidError, match=r"bad.csv', line 3, column 2: expected a count of at least 0, got 'five'"):
        run("describe", bad, "--no-picture")
