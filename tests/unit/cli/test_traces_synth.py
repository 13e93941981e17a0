"""`pasps traces synth`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pasps.errors import InvalidError
from pasps.spouts.synth import Traffic, rates
from pasps.spouts.trace_file import read_trace
from tests.unit.cli.traces_command import run


def test_a_trace_of_the_traffic_that_is_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "spiky.csv"
    options = (
        "--kind spiky --steps 60 --step 5min --mean 200 --peak 800 --seed 3 --noise 0.1 --spikes 2 --down 0 --start 2024-02-29".split()
    )
    assert run("synth", *options, "--out", out) == 0
    found = read_trace(str(out))
    assert found.counts == rates(Traffic("spiky", 60, 200, 800, 3, 0.1, spikes=2, down=0))
    assert found.spacing_seconds() == 300
    assert out.read_text().splitlines()[1].startswith("2024-02-29T00:00:00Z,")


def test_without_a_file_it_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("synth", "--kind", "steady", "--steps", "2", "--noise", "0") == 0
    assert capsys.readouterr().out == "time,count\n2024-01-01T00:00:00Z,100\n2024-01-01T00:00:01Z,100\n"


def test_a_file_is_replaced_only_if_that_is_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "x.csv"
    out.write_text("old")
    with pytest.raises(InvalidError, match="is there already"):
        run("synth", "--kind", "steady", "--out", out)
    assert out.read_text() == "old"
    assert run("synth", "--kind", "steady", "--out", out, "--overwrite") == 0
    assert len(out.read_text().splitlines()) == 601


def test_a_peak_that_cannot_be_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="cannot have a peak of 1000 and a mean of 10"):
        run("synth", "--kind", "progressive", "--mean", "10", "--peak", "1000", "--out", tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["--kind", "flat"], [], ["--kind", "steady", "--steps", "0"], ["--kind", "steady", "--step", "5"]])
def test_wrong_options_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        run("synth", *words)
    assert left.value.code == 2
    assert "usage: pasps traces synth" in capsys.readouterr().err
