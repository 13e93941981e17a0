from __future__ import annotations

import os
import subprocess
import sys

from pasps.topology.process_identity import started


def test_a_process_is_the_same_at_every_look() -> None:
    assert started(os.getpid()) == started(os.getpid()) is not None


def test_one_that_is_over_is_not_there_before_its_parent_has_asked_and_after() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert started(child.pid) is None
    assert started(child.pid) is None
