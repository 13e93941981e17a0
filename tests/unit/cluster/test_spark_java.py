"""Spark's Java process, begun before its application is known; a shell script stands in for Java."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

pytest.importorskip("pyspark")

from pasps.cluster.launch.spark_daemons import SparkInstallation, find_spark
from pasps.cluster.launch.spark_java import ARCHIVE_VARIABLE, archive_of, begin_java, driver_words, fits, kept_archive
from pasps.errors import BrokenError


def environment(directory: Path, script: str, **more: str) -> Mapping[str, str]:
    """One in which `java` is that script."""
    java = directory / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return {"PATH": f"{directory}{os.pathsep}{os.environ['PATH']}", **more}


def test_nothing_of_an_application_is_in_its_command_line() -> None:
    words = driver_words("/java", SparkInstallation(Path("/spark"), "2.13"))
    assert words[0] == "/java"
    assert words[words.index("-cp") + 1] == "/spark/jars/*"
    assert not [word for word in words if word.startswith("-Dspark.")]


@pytest.mark.parametrize(
    ("conf", "suits"),
    [
        ({}, True),
        ({"spark.executor.memory": "2g", "spark.cores.max": "4", "spark.task.cpus": "2"}, True),
        ({"spark.authenticate": "true", "spark.authenticate.secret": "s", "spark.network.crypto.enabled": "true"}, True),
        ({"spark.executor.memory": "2g", "spark.driver.memory": "2g"}, False),
        ({"spark.jars.packages": "org.example:reader:1.0"}, False),
    ],
)
def test_it_fits_what_asks_for_nothing_of_the_process_itself(conf: Mapping[str, str], suits: bool) -> None:
    assert fits(conf) is suits


def test_one_that_is_not_needed_is_ended(tmp_path: Path) -> None:
    before = psutil.Process().children()  # of other tests: a process that keeps multiprocessing's resources, say
    java = begin_java(environment(tmp_path, "exec cat > /dev/null"))
    assert java is not None
    (process,) = set(psutil.Process().children()) - set(before)
    java.end()
    assert not process.is_running()


def test_one_that_ends_is_told(tmp_path: Path) -> None:
    java = begin_java(environment(tmp_path, "exit 3"))
    assert java is not None
    with pytest.raises(BrokenError, match=r"Spark's process \d+ ended with status 3"):
        java.gateway()


@pytest.mark.parametrize(("name", "text"), [("spark-env.sh", ""), ("spark-defaults.conf", "# ours\nspark.driver.memory 4g\n")])
def test_a_spark_with_settings_of_its_own_is_left_to_its_scripts(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / name).write_text(text)
    assert begin_java(environment(tmp_path, "exit 3", SPARK_CONF_DIR=str(tmp_path / "conf"))) is None


def test_settings_that_such_a_process_may_be_told_later_are_no_reason(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.authenticate=true\nspark.authenticate.secret=s\n")
    java = begin_java(environment(tmp_path, "exec cat > /dev/null", SPARK_CONF_DIR=str(tmp_path / "conf")))
    assert java is not None
    java.end()


def test_so_is_another_spark_and_what_only_they_understand(tmp_path: Path) -> None:
    assert begin_java(environment(tmp_path, "exit 3", SPARK_HOME=str(tmp_path))) is None
    assert begin_java(environment(tmp_path, "exit 3", HADOOP_CONF_DIR="/etc/hadoop")) is None


def test_spark_s_classes_are_taken_from_an_archive_once_it_is_there(tmp_path: Path) -> None:
    given = {ARCHIVE_VARIABLE: str(tmp_path / "kept.jsa")}
    assert (kept_archive({}), kept_archive(given)) == (None, None)
    (tmp_path / "kept.jsa").touch()
    assert kept_archive(given) == given[ARCHIVE_VARIABLE]


def test_another_java_has_another_archive(tmp_path: Path) -> None:
    given = environment(tmp_path, "exit 3", XDG_CACHE_HOME=str(tmp_path / "cache"))
    before = archive_of(str(tmp_path / "java"), find_spark(), given)
    os.utime(tmp_path / "java", (1, 1))
    assert archive_of(str(tmp_path / "java"), find_spark(), given) != before
