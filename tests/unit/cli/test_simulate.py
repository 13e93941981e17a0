"""`pasps simulate` and `pasps whatif`: what is printed, what is refused, and that a simulated run is a run for the other commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from pasps.cli import main as cli
from pasps.control.policies import BUILT_IN, Needs, Policy, static
from tests.unit.predictor_service.artifact_builder import toy_artifact

TOPOLOGY = """
from pasps import Bolt, Topology
from pasps.spouts import TraceSpout


class Slow(Bolt):
    outputs = ["id"]
    execution = "thread"

    def process(self, tup):
        raise NotImplementedError


class Shop(Topology):
    trace = TraceSpout.spec()
    parse = Slow.spec(inputs=[trace], par=2, pool=4)
    store = Slow.spec(inputs=[parse], par=2, pool=8)
"""
ETS = ("--et", "parse=0.005", "--et", "store=0.02")
SMALL = ("--workers", "2", "--cores", "2", "-o", "pasps.interval.secs=5")


def main(words: list[str]) -> int:
    """As in a new process: a file may not have the name of a module that is loaded."""
    for name in [name for name in sys.modules if name.startswith("shop_")]:
        del sys.modules[name]
    return cli.main(words)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / f"shop_{uuid4().hex}.py"
    path.write_text(TOPOLOGY)
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.csv"
    rows = [f"{second},{200 + 150 * (second % 20 > 9)}" for second in range(40)]
    path.write_text("\n".join(["time,count", *rows]) + "\n")
    return path


def test_policies_are_compared_in_a_table(shop: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL, "--compare", "static:8,pasps:none@0.7,pasps:none@1,pa-sps:lr"])
        == 0
    )
    shown = capsys.readouterr().out
    assert "shop: 11,000 events in 40 s, at most 350/s" in shown
    assert "the whole pools carry 400/s; 2 workers, 2 cores" in shown
    rows = [line.split() for line in shown.splitlines() if "100.0%" in line]
    assert [row[0] for row in rows] == ["static:8", "pasps:none@0.7", "pasps:none@1", "pa-sps:lr"]
    assert float(rows[1][2].rstrip("%")) < float(rows[2][2].rstrip("%")), "the higher target saves more"
    assert "simulated, not measured: each event for itself" in shown


def test_json_has_the_same(shop: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "simulate",
        str(shop),
        "--trace",
        str(trace),
        *ETS,
        *SMALL,
        "--predictor",
        "clairvoyant",
        "--peak",
        "70",
        "--rows",
        "30",
        "--json",
    ]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    (run,) = told["runs"]
    assert (told["topology"], told["events"], told["seconds"]) == ("shop", 1500, 30.0)
    assert (run["policy"], run["predictor"], run["processed"]) == ("pasps", "clairvoyant", 1500)
    assert 0.025 < run["latency_seconds"]["mean"] < 0.1


def test_what_was_trained_forecasts_in_a_simulation(shop: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toy_artifact(tmp_path)
    words = ["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL, "-o", f"pasps.predictor.artifacts={tmp_path}", "--json"]
    assert main([*words, "--compare", "pasps:gru@mine@0.9,pa-sps:gru@mine,pasps:lr@0.9"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [(run["name"], run["predictor"]) for run in runs] == [
        ("pasps:gru@mine@0.9", "gru@mine"),
        ("pa-sps:gru@mine", "gru@mine"),
        ("pasps:lr@0.9", "lr"),
    ]


def test_what_was_trained_forecasts_again_when_a_run_is_looked_back_at(
    shop: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy_artifact(tmp_path / "artifacts")
    words = ["-o", f"pasps.predictor.artifacts={tmp_path / 'artifacts'}", "-o", "pasps.predictor=gru@mine", "--policy", "pa-sps"]
    assert main(["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL, *words, "--run-dir", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert main(["whatif", str(tmp_path / "run"), "--target", "0.8", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {run["predictor"] for run in told["runs"]} == {"gru@mine"}


def test_what_was_trained_is_found_from_another_directory_and_missed_only_where_it_is_asked(
    shop: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    toy_artifact(tmp_path / "artifacts")
    run = str(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    words = ["-o", "pasps.predictor.artifacts=artifacts", "-o", "pasps.predictor=gru@mine", "--policy", "pa-sps", "--rows", "20"]
    assert main(["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL, *words, "--run-dir", run]) == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["whatif", run, "--target", "0.8"]) == 0
    assert capsys.readouterr().err == ""
    (tmp_path / "artifacts" / "mine" / "weights.npz").unlink()
    gone = "predictor 'gru@mine': artifact 'mine': weights.npz is missing; copy both files of it again"
    assert gone in refused(["whatif", run, "--target", "0.8"], capsys)
    for other in (["--policy", "static"], ["--compare", "pa-sps:lr"], ["--predictor", "basic"]):
        assert main(["whatif", run, *other, "--json"]) == 0
        told = capsys.readouterr()
        assert told.err.startswith(f"pasps whatif: as it was, but for its forecasts, which are those of 'basic': {gone}")
        assert json.loads(told.out)["as_it_was"]["predictor"] == "basic"


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "nothing says what one event takes in 'parse', 'store' ("),
        (["--et", "parse=0.1"], "in 'store' ("),
        (["--et", "parse=fast"], "--et parse=fast: expected BOLT=SECONDS"),
        ([*ETS, "--et", "shelf=1"], "--et shelf: topology 'shop' has no such bolt"),
        ([*ETS, "--policy", "paps"], "did you mean 'pasps'"),
        ([*ETS, "--compare", "pasps,paps"], "did you mean 'pasps'"),
        ([*ETS, "--compare", ","], "--compare ',': expected names"),
        ([*ETS, "--compare", "pasps:gru@mine"], "'gru@mine': where is what was trained? Say so with -o pasps.predictor.artifacts=DIR"),
        ([*ETS, "--predictor", "gru@mine", "-o", "pasps.predictor.artifacts=no"], "artifacts cannot be read: No such file"),
        ([*ETS, "--compare", "pasps@high"], "pasps.target.utilisation"),
        ([*ETS, "--compare", "static:few"], "static:N is static with N replicas"),
        ([*ETS, "--compare", "pasps@much"], "pasps.target.utilisation"),
        ([*ETS, "--compare", "pasps,static", "--run-dir", "x"], "--run-dir holds one run"),
        ([*ETS, "--peak", "1e308"], "too many to be simulated"),
        ([*ETS, "--peak", "0.001"], "nothing to simulate; give a higher --peak"),
        ([*ETS, "--compare", "static@0.5"], "--compare static@0.5: policy 'static' has no target; leave '@0.5' out"),
        ([*ETS, "--compare", "pasps,static,pasps:oracle"], "predictor: there is no 'oracle'"),
        ([*ETS, "--predictor", "oracle"], "predictor: there is no 'oracle'"),
        ([*ETS, "--policy", "static", "-o", "pasps.policy.options.target=1"], "is no option of policy 'static'; it has replicas"),
        ([*ETS, "-o", "pasps.interval.sec=5"], "the nearest known name is 'pasps.interval.secs'"),
        ([*ETS, "-o", "pasps.policy.options.targt=1"], "the nearest known name is 'pasps.policy.options.target'"),
        ([*ETS, "--compare", "pasps,presps", "-o", "pasps.policy.options.change_seconds=1"], "is no option of policy 'presps'"),
        ([*ETS, "--first-row", "40"], "has 40 rows"),
        ([*ETS, "--compare", "pa-sps+reboot"], "--compare pa-sps+reboot: expected pool or restart behind the '+', got 'reboot'"),
        ([*ETS, "--compare", "pasps:lr+reboot"], "predictor: there is no 'lr+reboot'"),
        ([*ETS, "--compare", "rlearning:no+table.json"], "no+table.json"),
        ([*ETS, "--compare", "rlearning:no+table.json+restart"], "no+table.json"),
        ([*ETS, "-o", "pasps.reconfigure=reboot"], "must be 'pool' or 'restart', or null"),
        ([*ETS, "-o", "pasps.restart.wait.secs=-1"], "must be a number of at least 0"),
    ],
)
def test_what_is_wrong_is_named(shop: Path, trace: Path, more: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in refused(["simulate", str(shop), "--trace", str(trace), *more], capsys)


def test_what_a_name_says_itself_lies_over_the_option_for_all(shop: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL, "--json"]
    for names, option in (("pasps:none@0.4,pasps:none@1.2", "target=0.9"), ("static:2,static:4", "replicas=3")):
        assert main([*words, "--compare", names, "-o", f"pasps.policy.options.{option}"]) == 0
        first, second = (run["saved"] for run in json.loads(capsys.readouterr().out)["runs"])
        assert abs(first - second) > 0.1, option


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that is made for intervals of ten seconds."""
    made_for_ten = Needs(warm_up=1.0, interval_seconds=10.0)
    monkeypatch.setitem(BUILT_IN, "brisk", Policy("brisk", "a test's own", static.plan, static.Options, made_for_ten))


@pytest.mark.usefixtures("brisk", "monkeypatched_home")
def test_each_policy_has_its_own_interval_unless_one_is_set(
    shop: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", str(shop), "--trace", str(trace), *ETS, "--workers", "2", "--cores", "2", "--peak", "50"]

    def decisions(words: list[str]) -> list[int]:
        assert main([*words, "--json"]) == 0
        return [run["decisions"] for run in json.loads(capsys.readouterr().out)["runs"]]

    assert decisions([*words, "--compare", "static,brisk"]) == [2, 5], "at 1 and 31 s, and each ten seconds"
    assert decisions([*words, "--compare", "static,brisk", "-o", "pasps.interval.secs=5"]) == [9, 9]
    free, bound = tmp_path / "free", tmp_path / "bound"
    decisions([*words, "--policy", "static", "--run-dir", str(free)])
    decisions([*words, "--policy", "static", "--run-dir", str(bound), "-o", "pasps.interval.secs=5"])
    assert decisions(["whatif", str(free), "--compare", "static,brisk"]) == [2, 5]
    assert decisions(["whatif", str(bound), "--compare", "static,brisk"]) == [9, 9], "what was set then holds"
    assert decisions(["whatif", str(bound), "--compare", "static,brisk", "-o", "pasps.interval.secs=30"]) == [2, 2]
    assert decisions(["whatif", str(bound), "--compare", "static,brisk", "-o", "pasps.interval.secs=null"]) == [2, 5]


@pytest.mark.parametrize(("interval", "late"), [("40", True), ("39", False)])
def test_a_trace_that_ends_before_the_first_decision_is_told(
    shop: Path, trace: Path, interval: str, late: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", str(shop), "--trace", str(trace), *ETS, "--compare", "pasps:none,pa-sps:basic,presps"]
    assert main([*words, "-o", f"pasps.interval.secs={interval}"]) == 0
    told = "pa-sps:basic, presps: first decision after 40 s, when the trace is over; take a longer trace, or -o pasps.interval.secs=S"
    assert (told in capsys.readouterr().out.splitlines()) is late


def test_what_rlearning_is_to_do_is_learned_and_tried(shop: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "shop.table.json"
    words = ["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL]
    assert main([*words, "--train", str(table), "--passes", "2", "--json"]) == 0
    told = capsys.readouterr()
    assert f"learned in 2 passes, written to {table}" in told.err
    learned = json.loads(told.out)["runs"][0]
    assert learned["name"] == learned["policy"] == "rlearning"
    assert main([*words, "--compare", f"rlearning:{table},static:8", "--json"]) == 0
    again, _ = json.loads(capsys.readouterr().out)["runs"]
    assert {**again, "name": "rlearning"} == learned
    assert main([*words, "--policy", "rlearning", "-o", f"pasps.policy.options.table={table}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0] == learned
    anew = ["--train", str(table), "--passes", "1", "-o", "pasps.policy.options.table=not.there.yet"]
    assert "it is there already; give another name, or --overwrite to replace it" in refused([*words, *anew], capsys)
    assert main([*words, *anew, "--overwrite"]) == 0


def test_a_table_is_never_written_over_what_is_none(shop: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL, "--passes", "1"]
    for file in (trace, shop):
        before = file.read_text()
        assert "it is there already" in refused([*words, "--train", str(file)], capsys)
        told = refused([*words, "--train", str(file), "--overwrite"], capsys)
        assert "what is there is no table of rlearning, and is not replaced; give another name" in told
        assert file.read_text() == before


def test_a_training_that_learned_nothing_leaves_no_table(
    shop: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "shop.table.json"
    words = ["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL, "--train", str(table), "--passes", "2"]
    assert "nothing was learned: a trace of 8 s has no two decisions, one each 5 s" in refused([*words, "--rows", "8"], capsys)
    assert not table.exists()


def test_a_table_that_was_trained_for_another_pace_is_told(
    shop: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "shop.table.json"
    words = ["simulate", str(shop), "--trace", str(trace), *ETS, "--workers", "2", "--cores", "2"]
    assert main([*words, "-o", "pasps.interval.secs=5", "--train", str(table), "--passes", "1"]) == 0
    told = "pasps simulate: the table of policy 'rlearning' was trained to decide each 5 s, and is asked each 10 s here"
    assert told not in capsys.readouterr().err
    assert main([*words, "--compare", f"rlearning:{table}"]) == 0
    assert told in capsys.readouterr().err.splitlines()


PRICES = ("-o", "pasps.policy.options.late_cost=1", "-o", "pasps.policy.options.replica_cost=0.1")


def test_what_says_nothing_to_a_policy_is_told_as_in_a_run(
    shop: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL, "--rows", "12", "--predictor", "none"]
    run = tmp_path / "run"
    assert main([*words, "--policy", "pasps", *PRICES, "--run-dir", str(run)]) == 0
    assert capsys.readouterr().err == ""
    assert main([*words, "--compare", "static,static:8", "-o", "pasps.target.utilisation=0.5"]) == 0
    told = "configuration key 'pasps.target.utilisation' says nothing to policy 'static'"
    assert capsys.readouterr().err.splitlines() == [f"pasps simulate: {told}"]
    assert main(["whatif", str(run), "--policy", "static", "--target", "0.5"]) == 0
    assert capsys.readouterr().err.splitlines() == [f"pasps whatif: {told}"]
    nothing = "configuration key 'pasps.target.utilisation' says nothing: late_cost and replica_cost say what is wanted"
    assert nothing in refused([*words, "--compare", "pasps@0.9", *PRICES], capsys)
    assert nothing in refused([*words, *PRICES, "-o", "pasps.target.utilisation=0.5"], capsys)
    assert nothing in refused(["whatif", str(run), "--target", "0.9"], capsys)
    assert nothing in refused(["whatif", str(run), "--compare", "pasps@0.5"], capsys)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--policy", "rlearning"], "'pasps.policy.options.table' is not set: policy 'rlearning' does what it has learned"),
        (["--compare", "static,rlearning"], "'pasps.policy.options.table' is not set"),
        (["--compare", "rlearning:nowhere.json"], "names a file that cannot be read"),
        (["--compare", "rlearning:"], "--compare rlearning:: policy 'rlearning' asks nobody for forecasts"),
        (["--train", "no/such/directory/table.json"], "--train no/such/directory/table.json: expected a file to write"),
        (["--train", "."], "--train .: expected a file to write"),
        (["--overwrite"], "--overwrite is for the table of --train"),
        (["--passes", "3"], "--passes says how often --train goes through the trace"),
        (["--policy", "static", "-o", "pasps.policy.options.table=x"], "is no option of policy 'static'"),
    ],
)
def test_a_table_that_is_not_there_or_cannot_be_is_told(
    shop: Path, trace: Path, more: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL, *more], capsys)


@pytest.mark.usefixtures("monkeypatched_home")
def test_a_table_holds_for_the_pools_that_it_was_learned_with(
    shop: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, run = tmp_path / "shop.table.json", tmp_path / "learned"
    words = ["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL]
    assert main([*words, "--train", str(table), "--passes", "1", "--run-dir", str(run)]) == 0
    table.unlink()
    assert main(["explain", str(run), "--replay"]) == 0, "its records have the table"
    assert main(["whatif", str(run), "--json"]) == 0
    capsys.readouterr()
    assert "trained for a pool of 8 of bolt 'store', which has 4 here" in refused(["whatif", str(run), "--pool", "store=4"], capsys)


@pytest.mark.parametrize("rate", ["0", "-1", "fast", "nan"])
def test_a_peak_is_a_rate(shop: Path, trace: Path, rate: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["simulate", str(shop), "--trace", str(trace), f"--peak={rate}"])
    assert f"argument --peak: expected events a second, above 0, got '{rate}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("time,count\n0,x\n", "line 2"),
        ("time,count\n0,0\n1,0\n", "nothing happens"),
        ("time,count\n0,0.1\n1,0.1\n", "less than one event in all (0.2)"),
        ("time,count\n0,5\n", "--step S"),
    ],
)
def test_a_trace_that_is_none_is_named(shop: Path, text: str | None, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = shop.with_name("other.csv")
    if text is not None:
        path.write_text(text)
    assert words in refused(["simulate", str(shop), "--trace", str(path), *ETS], capsys)


@pytest.fixture
def run(shop: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    directory = shop.with_name("run")
    assert (
        main(
            [
                "simulate",
                str(shop),
                "--trace",
                str(trace),
                *ETS,
                *SMALL,
                "--policy",
                "pa-sps",
                "--predictor",
                "basic",
                "--run-dir",
                str(directory),
            ]
        )
        == 0
    )
    capsys.readouterr()
    return directory


@pytest.mark.usefixtures("monkeypatched_home")
def test_a_simulated_run_is_one_for_the_other_commands(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(run), "store"]) == 0
    assert "store has" in capsys.readouterr().out
    assert main(["explain", str(run), "--replay"]) == 0
    capsys.readouterr()
    assert main(["whatif", str(run), "--policy", "pasps", "--predictor", "none", "--target", "0.9"]) == 0
    shown = capsys.readouterr().out
    first, second, third = (line for line in shown.splitlines() if "100.0%" in line)
    assert first.split()[0] == "recorded"
    assert second.startswith("as it was: pa-sps")
    assert third.split()[:2] == ["pasps", "none"]
    assert first.split()[2] == second.split()[5], "saved: the run was simulated itself"
    assert "where they differ" in shown


@pytest.mark.usefixtures("monkeypatched_home", "run")
def test_what_never_ran_is_not_among_the_runs_and_never_the_newest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["explain"]) == 2


@pytest.mark.usefixtures("monkeypatched_home")
def test_times_come_from_a_run_where_that_is_said(shop: Path, trace: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", str(shop), "--trace", str(trace), *SMALL, "--policy", "pa-sps", "--predictor", "basic", "--json"]
    assert main([*words, "--from-run", str(run)]) == 0
    again = json.loads(capsys.readouterr().out)["runs"][0]
    assert main([*words, *ETS]) == 0
    said = json.loads(capsys.readouterr().out)["runs"][0]
    assert again["saved"] == pytest.approx(said["saved"], abs=0.03)
    assert "there is no run" in refused([*words, "--from-run", "nothing"], capsys)


@pytest.mark.usefixtures("monkeypatched_home")
def test_what_if_nothing_were_different(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(run), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["runs"][0]["differences"] == []
    assert told["runs"][0]["saved"] == pytest.approx(told["recorded"]["saved"], abs=0.02)
    assert told["runs"][0]["latency_seconds"]["mean"] == pytest.approx(told["recorded"]["latency_seconds"]["mean"], rel=0.1)


@pytest.mark.usefixtures("monkeypatched_home")
def test_what_if_the_pool_were_smaller(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(run), "--pool", "store=4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (run_now,) = told["runs"]
    assert run_now["latency_seconds"]["mean"] > 2 * told["as_it_was"]["latency_seconds"]["mean"]
    assert run_now["mean_active"]["store"] <= 4


@pytest.mark.usefixtures("monkeypatched_home")
def test_what_would_have_been_is_kept_as_a_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instead = run.with_name("instead")
    assert main(["whatif", str(run), "--policy", "pasps", "--predictor", "none", "--run-dir", str(instead)]) == 0
    capsys.readouterr()
    assert main(["explain", str(instead), "store", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["policy"] == "pasps"
    assert "never replaced" in refused(["whatif", str(run), "--run-dir", str(instead)], capsys)
    assert "holds one run" in refused(["whatif", str(run), "--compare", "pasps,static", "--run-dir", "x"], capsys)


@pytest.mark.usefixtures("monkeypatched_home")
def test_a_run_keeps_the_options_of_its_policy_until_others_are_given(
    shop: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A target of a tenth takes ten times the replicas."""
    run = tmp_path / "eager"
    words = ["simulate", str(shop), "--trace", str(trace), *SMALL, *ETS, "--policy", "pasps", "--run-dir", str(run)]
    assert main([*words, "-o", "pasps.policy.options.target=0.1"]) == 0
    capsys.readouterr()
    saved = {}
    for more in ((), ("--policy", "pasps"), ("--target", "1.2"), ("-o", "pasps.policy.options.target=1.2"), ("--compare", "pasps@1.2")):
        assert main(["whatif", str(run), *more, "--json"]) == 0
        saved[more] = json.loads(capsys.readouterr().out)["runs"][0]["saved"]
    asked_before, named, target, option, at = saved.values()
    assert asked_before == named
    assert target == option == at
    assert target > asked_before + 0.1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--pool", "store"], "expected BOLT=N"),
        (["--pool", "shelf=2"], "has no such bolt"),
        (["-o", "pasps.drain=1"], "pasps.drain"),
        (["--policy", "paps"], "did you mean"),
    ],
)
@pytest.mark.usefixtures("monkeypatched_home")
def test_a_wrong_question_is_refused(run: Path, more: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in refused(["whatif", str(run), *more], capsys)


@pytest.mark.usefixtures("monkeypatched_home")
def test_a_run_whose_policy_is_not_here_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decisions = run / "decisions.jsonl"
    decisions.write_text(decisions.read_text().replace('"policy":"pa-sps"', '"policy":"stepwise"'))
    said = refused(["whatif", str(run)], capsys)
    assert f"{run}: policy 'stepwise' decided in this run, which cannot be had here: " in said
    assert "names no policy: 'stepwise'" in said


@pytest.mark.usefixtures("monkeypatched_home")
def test_a_run_that_is_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no run in" in refused(["whatif", "shopp"], capsys)


@pytest.fixture
def monkeypatched_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run of this machine, and no cluster, is looked at."""
    monkeypatch.setenv("PASPS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PASPS_MASTER", raising=False)


# ---- restarts


BOTH = ("--compare", "presps,presps+restart", "-o", "pasps.restart.wait.secs=0", "-o", "pasps.restart.silence.secs=9")


def test_the_pool_and_a_restart_are_compared_in_one_table(shop: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL]
    assert main([*words, *BOTH]) == 0
    head, pool, restart = (line.split() for line in capsys.readouterr().out.splitlines() if line.startswith(("policy", "presps")))
    assert head[-2:] == ["restarts", "replayed"]
    assert pool[-2:] == ["0", "0"]
    assert int(restart[-2]) > 0
    assert int(restart[-1].replace(",", "")) > 0
    assert main([*words, *BOTH, "-o", "topology.acker.executors=0", "--json"]) == 0
    pool, restart = json.loads(capsys.readouterr().out)["runs"]
    assert (pool["restarts"], pool["replayed"], pool["lost"]) == (0, 0, 0)
    assert (restart["replayed"], restart["processed"]) == (0, restart["events"] - restart["lost"])
    assert restart["lost"] > 0
    assert restart["latency_seconds"]["mean"] > pool["latency_seconds"]["mean"]


def test_without_a_restart_the_table_has_no_columns_for_them(shop: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL, "--policy", "presps"]) == 0
    assert "restarts" not in capsys.readouterr().out


def test_the_wait_is_storm_s_unless_it_is_said(shop: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    means = []
    for wait in ((), ("-o", "topology.message.timeout.secs=2"), ("-o", "pasps.restart.wait.secs=2"), ("-o", "pasps.restart.wait.secs=0")):
        words = [
            "simulate",
            str(shop),
            "--trace",
            str(trace),
            *ETS,
            *SMALL,
            "--policy",
            "presps",
            "-o",
            "pasps.reconfigure=restart",
            "--json",
        ]
        assert main([*words, *wait]) == 0
        means.append(json.loads(capsys.readouterr().out)["runs"][0]["latency_seconds"]["mean"])
    usual, by_time_out, by_wait, none = means
    assert by_time_out == by_wait
    assert usual > by_wait > none


@pytest.mark.usefixtures("monkeypatched_home")
def test_what_if_it_had_restarted_and_what_if_it_had_not(
    shop: Path, trace: Path, tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_restart = tmp_path / "by-restart"
    words = ["simulate", str(shop), "--trace", str(trace), *ETS, *SMALL, "--policy", "presps", "--run-dir", str(by_restart)]
    assert main([*words, "-o", "pasps.reconfigure=restart", "-o", "pasps.restart.wait.secs=1", "-o", "pasps.restart.silence.secs=4"]) == 0
    assert main(["explain", str(by_restart), "--replay"]) == 0
    capsys.readouterr()
    assert main(["whatif", str(by_restart), "--compare", "presps,presps+pool", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["as_it_was"]["restarts"] > 0, "the record says that it was carried out so, and the run's configuration how long it took"
    same, pool = told["runs"]
    assert (same["restarts"], same["latency_seconds"]) == (told["as_it_was"]["restarts"], told["as_it_was"]["latency_seconds"])
    assert pool["restarts"] == 0
    assert main(["whatif", str(run), "-o", "pasps.reconfigure=restart", "-o", "pasps.restart.wait.secs=0"]) == 0
    head, *rows = (
        line.split() for line in capsys.readouterr().out.splitlines() if line.startswith(("policy", "recorded", "as it was:", "pa-sps"))
    )
    assert head[-2:] == ["restarts", "replayed"]
    assert [row[-1] for row in rows[:2]] == ["-", "0"]
    assert int(rows[2][-2]) > 0
