"""The machine's counters, as the control loop reads them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import psutil
import pytest

from pasps.control.monitor import Machine
from pasps.cores import usable_cores
from pasps.topology import elastic


def test_times_of_all_cores_are_split_into_busy_and_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    counters = [str(seconds * ticks) for seconds in (100, 1, 50, 800, 40, 5, 4, 0, 7, 7)]
    (tmp_path / "stat").write_text(f"cpu  {' '.join(counters)}\ncpu0 1 2 3\n")
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    assert elastic.machine_now(3) == Machine(3, usable_cores(), 160.0, 1000.0)


@pytest.mark.parametrize("text", [None, "", "cpu words"])
def test_a_machine_without_such_counters_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    if text is not None:
        (tmp_path / "stat").write_text(text)
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    assert elastic.machine_now(2) == Machine(2, usable_cores())


def test_workers_on_other_machines_have_the_cores_of_all_of_them() -> None:
    assert elastic.machine_of(4, {"a": 8, "b": 4}) == Machine(4, 12)


def test_workers_of_this_machine_alone_know_how_busy_it_is() -> None:
    assert elastic.machine_of(4, {socket.gethostname(): 2}).all_seconds is not None
