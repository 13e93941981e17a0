"""`pasps et` on a cluster: the code goes there, and is measured there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pasps.cli import exit_codes
from pasps.cluster.dev.cluster import DevCluster
from pasps.cluster.launch.java import QUICK_JAVA
from tests.integration.test_et_spark import written

pytestmark = pytest.mark.timeout(600)

COMMAND = "import sys; from pasps.cli.main import call, parsed; sys.exit(call(parsed(['et', *sys.argv[1:]])))"


def test_on_a_cluster_the_code_is_shipped_and_each_pass_is_a_process_that_was_started(session_cluster: DevCluster, tmp_path: Path) -> None:
    session_cluster.up()
    file, elsewhere = written(tmp_path, "et_shop_five"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    # executors that looked where this process finds it would find something else
    (tmp_path / "prices_of_et_shop_five.py").rename(elsewhere / "prices_of_et_shop_five.py")
    words = [str(file), "--py-files", str(elsewhere / "prices_of_et_shop_five.py"), "-o", "orders=12", "--repeat", "1", "--rate", "1000"]
    words += ["-o", f"command={tmp_path / 'command'}"]
    properties = {
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.driver.extraJavaOptions": " ".join(QUICK_JAVA),
        "spark.executor.extraJavaOptions": " ".join(QUICK_JAVA),
    }
    conf = [word for key, value in properties.items() for word in ("--conf", f"{key}={value}")]
    where = ["--master", session_cluster.state.spark, *conf]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words, *where, "--skip", "store", "--json"],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(session_cluster.home / "spark" / "conf")},
    )
    assert done.returncode == exit_codes.OK, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["operators"]["charge"]["selectivity"] == {"default": 2.0}
    assert told["operators"]["total"]["samples"] == 12
    assert "packed" in done.stderr
    command = (tmp_path / "command").read_text()
    assert "pyspark" in command
    assert "daemon" not in command, "what it forks has the same addresses each time, and so the same luck"
