from __future__ import annotations

import json

import pytest

from pasps.cli.views.summary import summary_text
from pasps.cli.views.view import frame_object, plain_line, summary_object
from pasps.control.decision_log import Restarts
from pasps.metrics import Latency
from pasps.topology.summary import Reason
from tests.unit.cli.builders import frame, outcome, report

LATENCY = Latency(10, 0.004, 0.003, 0.02, 1.5)


def test_it_tells_how_it_ended_each_component_and_the_totals() -> None:
    text = summary_text(
        outcome(emitted_first=1000, acked=1000, complete_latency=LATENCY, doubled={"executed": 1000, "execute_seconds": 0.000_12})
    )
    lines = text.splitlines()
    assert lines[1] == "doubling: finished: every spout is at its end and everything is done after 2.0 s"
    assert lines[5].split() == ["doubled", "0", "1,000", "0", "0", "2/4", "120", "µs", "500"]
    assert "events in  1,000   acked 1,000   failed 0   replayed 0" in lines
    assert "rate       500 events/s   (whole run, as executed/s)" in lines
    assert "latency    p50 3.0 ms   p95 20.0 ms   p99 1.5 s   mean 4.0 ms   (until the last ack, whole run)" in lines
    assert "last 10 s  p50 -   p95 -   p99 -   mean -" in lines
    assert "lost" not in text
    assert "left" not in text


@pytest.mark.parametrize(
    ("ended", "left", "words"),
    [
        (Reason.INTERRUPTED, {}, "interrupted, drained after"),
        (Reason.TERMINATED, {"doubled": 1}, "terminated, not drained in time after"),
        (Reason.DURATION, {}, "the time is over, drained after"),
        (Reason.STOPPED, {}, "stopped by `pasps kill`, drained after"),
        (Reason.KILLED, {"doubled": 1}, "ended at once, without draining after"),
    ],
)
def test_the_first_line_says_whether_it_was_drained(ended: Reason, left: dict[str, int], words: str) -> None:
    assert words in summary_text(outcome(ended, left=left))


def test_it_says_where_the_run_is_kept() -> None:
    assert "run        /runs/a" in summary_text(outcome(run_dir="/runs/a")).splitlines()


def test_what_is_left_and_lost_is_named() -> None:
    text = summary_text(outcome(left={"doubled": 1200, "tracked tuples in flight": 3}, failed=5, replayed=1, workers_lost=2))
    assert "left       doubled: 1,200, tracked tuples in flight: 3" in text
    assert "lost       4 failed and were not emitted again" in text
    assert "workers    2 lost and started again" in text


def test_what_was_due_and_never_got_in_is_told_where_a_spout_knows_it() -> None:
    text = summary_text(outcome(Reason.DURATION, numbers={"backlog": 2268}))
    assert "backlog    2,268 events were due and not emitted when it ended" in text.splitlines()
    for none in ({}, {"numbers": {"backlog": 0}}):
        assert "backlog" not in summary_text(outcome(Reason.DURATION, **none))


def test_it_says_that_numbers_are_missing() -> None:
    missing = "incomplete a live worker did not answer in time, so its numbers are those that it told last"
    assert missing in summary_text(outcome(complete=False)).splitlines()
    assert missing not in summary_text(outcome())


def test_what_is_told_of_a_worker_is_not_the_last_of_no_errors() -> None:
    died = [report("worker w0 died", component="")]
    assert plain_line(frame(died)).endswith(" | last error worker w0 died")
    assert plain_line(frame([report("ValueError: no")], doubled={"errors": 3})).endswith(" | errors 3, the last doubled: ValueError: no")


def test_nobody_is_told_that_nothing_is_tracked_where_it_was() -> None:
    assert "nothing is tracked" in summary_text(outcome(workers_lost=1, emitted_first=9))
    for seen in ({"failed": 9}, {"pending": 9}, {"acked": 1}):
        assert "nothing is tracked" not in summary_text(outcome(workers_lost=3, emitted_first=9, **seen))


def test_latencies_of_the_last_seconds_come_first_in_a_line_and_have_one_of_their_own_in_a_summary() -> None:
    known = {"complete_latency": LATENCY, "recent_latency": Latency(3, 0.001, 0.002, 0.003, 0.004)}
    assert "p99 4.0 ms (run 1.5 s)" in plain_line(frame(**known))
    assert "last 10 s  p50 2.0 ms   p95 3.0 ms   p99 4.0 ms   mean 1.0 ms" in summary_text(outcome(**known)).splitlines()


def test_errors_of_one_kind_are_shown_once_the_last_of_them() -> None:
    errors = [report(f"Traceback:\n  at x\nValueError: {n}") for n in range(5)] + [report("plain")]
    text = summary_text(outcome(errors=errors, doubled={"errors": 70}))
    assert "errors     70; the last:" in text
    assert "ValueError: 4" in text
    assert "ValueError: 3" not in text
    assert "    plain" in text


def test_the_json_summary_has_the_documented_fields() -> None:
    written = json.loads(
        json.dumps(summary_object(outcome(errors=[report("no")], run_dir="/runs/a", emitted_first=3, acked=3, complete_latency=LATENCY)))
    )
    assert (written["type"], written["run_dir"], written["elastic"]) == ("summary", "/runs/a", None)
    assert (written["topology"], written["ended"], written["exit_code"], written["signal"]) == ("doubling", "finished", 0, None)
    assert (written["emitted"], written["acked"], written["latency_p99"], written["backlog"]) == (3, 3, 1.5, None)
    assert (written["left"], written["unreplayed"], written["workers_lost"]) == ({}, 0, 0)
    assert written["reports"] == [{"component": "doubled", "task": 2, "time": 0.0, "text": "no"}]
    assert written["components"]["doubled"]["pool"] == 4


def test_a_plain_line_has_totals_and_bolts() -> None:
    line = plain_line(frame([report("E: x")], emitted_first=24690, doubled={"queued": 12, "errors": 2}))
    assert line.startswith("0:00:02  in 12,345/s  acked 0/s  pending 0  backlog -  p99 -  failed 0  workers 2/2 | doubled 2/4 0% queued 12")
    assert line.endswith("| errors 2, the last doubled: E: x")


def test_who_blocks_its_workers_is_told_with_the_cure() -> None:
    blocking = outcome(doubled={"blocks": True}, numbers={"blocks": True})
    lines = summary_text(blocking).splitlines()
    assert next(line for line in lines if line.startswith("blocks     doubled: ")).endswith(
        'give it execution = "thread", or make it async'
    )
    assert any(line.startswith("blocks     numbers: ") and "next_tuple" in line for line in lines)
    assert plain_line(frame(doubled={"blocks": True})).count("blocks its workers") == 1
    assert summary_object(blocking)["components"]["doubled"]["blocks"] is True
    assert "blocks" not in summary_text(outcome())


def test_what_keeps_it_from_working_is_in_the_line_and_in_the_summary() -> None:
    trouble = "worker w0 cannot live: its process ended with status 7"
    assert f"trouble: {trouble}" in plain_line(frame(troubles=[trouble]))
    assert f"trouble    {trouble}" in summary_text(outcome(troubles=[trouble])).splitlines()


def test_what_happened_to_a_worker_is_no_components() -> None:
    told = report("worker w0 died: its process ended with status 7\nmore", component="")
    text = summary_text(outcome(errors=[told]))
    assert "errors     1:" in text
    assert "  a worker:\n    worker w0 died: its process ended with status 7\n" in text
    assert frame([told]).last_error == "worker w0 died: its process ended with status 7"


ANEW = "all workers are being started anew (doubled 1 -> 2)"


def test_that_all_workers_are_started_anew_is_in_the_line_and_at_the_end_how_often_they_were() -> None:
    assert plain_line(frame(restarting=ANEW)).endswith(f" | {ANEW}")
    assert frame_object(frame(restarting=ANEW))["restarting"] == ANEW
    text = summary_text(outcome(restarts=Restarts(2, 60.0, 1.25, 17, 40), acked=9)).splitlines()
    assert "restarts   2 by plans; the spouts were silent for 61.2 s, 17 events came again" in text
    assert not any(line.startswith(("lost", "workers")) for line in text)
    once = summary_text(outcome(restarts=Restarts(1, 0.0, 0.5, 0, 12, 12), emitted_first=9)).splitlines()
    assert "restarts   1 by a plan; the spouts were silent for 500 ms" in once
    assert "lost       12 untracked tuples went with workers that were started anew" in once
    assert "restarts" not in summary_text(outcome())
    none = {"count": 0, "waited": 0.0, "silent": 0.0, "replayed": 0, "dropped": 0, "lost": 0, "called_off": 0}
    assert summary_object(outcome())["restarts"] == none


def test_a_restart_that_was_called_off_is_told_at_the_end() -> None:
    text = summary_text(outcome(restarts=Restarts(called_off=1))).splitlines()
    assert "restarts   1 called off: the spouts were silent already, and no worker had ended yet" in text
    assert sum(line.startswith("restarts") for line in text) == 1
