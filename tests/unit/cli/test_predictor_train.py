"""`pasps predictor train`: what it is told, what it says, and that nothing is written when something is wrong."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from pasps.cli.main import main
from pasps.topology import predictor_process
from predictor_service.trained.artifact import load
from predictor_service.trained.artifacts import Artifacts

SMALL = ("--window", "8", "--horizon", "3")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "toy.csv"
    rows = [f"2026-01-01T{step // 60:02}:{step % 60:02}:00,{100 + round(40 * math.sin(step / 5)) + step * 7 % 5}" for step in range(240)]
    path.write_text("\n".join(["time,count", *rows]) + "\n")
    return path


def test_an_artifact_is_made_and_judged(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predictor", "train", "--model", "arima", "--trace", str(trace), "--out", str(tmp_path / "made" / "mine"), *SMALL]) == 0
    told = capsys.readouterr()
    assert "artifact " in told.out
    assert "mine: arima, from 8 samples to 3 steps of 60 s" in told.out
    assert [line.split()[0] for line in told.out.splitlines()[4:7]] == ["validation", "test", "test,"]
    assert "80% interval: " in told.out
    assert "ARIMA(0, 0, 0): validation " in told.err
    assert load(Artifacts(tmp_path / "made"), "mine").manifest.trace.name == "toy.csv"


def test_json_has_the_same_and_quiet_says_nothing_else(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--step", "1", "--peak", "300", "--rows", "240", "--units", "4", "--epochs", "2", "--seed", "7", "--split", "2:1:1"]
    out = tmp_path / "mine"
    command = ["predictor", "train", "--model", "bilstm", "--trace", str(trace), "--out", str(out), *SMALL, *words]
    assert main([*command, "--quiet", "--json"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    found = json.loads(told.out)
    assert (found["artifact"], found["model"], found["step_seconds"]) == (str(out), "bilstm", 1.0)
    assert found["parameters"] == {"kind": "recurrent", "units": 4, "layers": 1}
    assert [found["learning"][name] for name in ("seed", "training_rows", "validation_rows", "test_rows")] == [7, 120, 60, 60]
    assert found["scaler"]["high"] == pytest.approx(300, rel=0.05)
    assert found["metrics"]["test"]["z_rmse"] > 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--model", "transformer"], "--model transformer: expected one of arima, svr, lstm, gru, bilstm, bigru"),
        (
            ["--rows", "60"],
            "the trace is too short: 10 of its 60 rows are the validation part, where a window of 8 and a horizon of 3 need",
        ),
        (["--first-row", "240"], "--first-row 240: trace file"),
        (["--first-row", "230", "--rows", "3"], "the trace is too short"),
        (["--window", "5000"], "--window 5000: expected 2 to 2000"),
        (["--learning-rate", "-1"], "--learning-rate -1: expected a number above 0"),
        (["--learning-rate", "nan"], "--learning-rate nan: expected a number above 0"),
        (["--split", "4:1:0"], "--split 4:1:0: expected three numbers above 0"),
        (["--seed", "-1"], "--seed -1: expected 0 to"),
        (["--trace", "nothing.csv"], "trace file 'nothing.csv' cannot be read: No such file"),
        (["--out", "v1.0"], "--out v1.0: its last part names the artifact"),
        (["--out", "/"], "--out /: its last part names the artifact"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_what_cannot_be_trained_is_refused(
    words: list[str], told: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made" / "mine"
    assert main(["predictor", "train", "--model", "arima", "--trace", str(trace), "--out", str(out), *SMALL, *words]) == 2
    assert told in capsys.readouterr().err
    assert not out.parent.exists()


@pytest.mark.parametrize("words", [["--split", "4:1"], ["--split", "a:b:c"], ["--epochs", "0"], ["--window", "many"], ["--step", "0"]])
def test_a_value_that_is_none_is_refused_by_its_option(
    words: list[str], trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["predictor", "train", "--model", "arima", "--trace", str(trace), "--out", str(tmp_path / "mine"), *words])
    assert ended.value.code == 2
    assert f"argument {words[0]}: expected " in capsys.readouterr().err


def test_what_is_there_is_kept_and_nothing_is_trained(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["predictor", "train", "--model", "arima", "--trace", str(trace), "--out", str(tmp_path / "mine"), *SMALL]
    assert main([*words, "--quiet"]) == 0
    before = (tmp_path / "mine" / "manifest.json").read_bytes()
    capsys.readouterr()
    assert main([*words, "--seed", "2"]) == 2
    told = capsys.readouterr().err
    assert "it is there already; give another name, or --overwrite to replace it" in told
    assert "ARIMA(" not in told
    assert (tmp_path / "mine" / "manifest.json").read_bytes() == before
    assert main([*words, "--seed", "2", "--overwrite"]) == 0
    assert load(Artifacts(tmp_path), "mine").manifest.learning.seed == 2


def test_a_trace_with_gaps_says_how_to_go_on(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = trace.read_text().splitlines()
    trace.write_text("\n".join([lines[0], *(line for number, line in enumerate(lines[1:]) if number % 3)]) + "\n")
    assert main(["predictor", "train", "--model", "arima", "--trace", str(trace), "--out", str(tmp_path / "mine"), *SMALL]) == 2
    assert "(here: --step S)" in capsys.readouterr().err


def test_without_the_extra_it_is_said_what_to_install(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictor_process, "NEEDED", ("numpy", "no_such_package"))
    assert main(["predictor", "train", "--model", "gru", "--trace", str(trace), "--out", str(tmp_path / "mine")]) == 2
    assert "no_such_package not installed; run: pip install 'pasps[predictor]'" in capsys.readouterr().err


def test_it_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["predictor", "train", "--help"])
    shown = capsys.readouterr().out
    assert "pasps predictor train --model bigru" in shown
    assert "exit codes:" in shown
