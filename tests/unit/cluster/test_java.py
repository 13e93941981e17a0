from __future__ import annotations

from pathlib import Path

import pytest

from pasps.cluster.launch.java import MissingJavaError, MissingSparkError, find_java, java_version, spark_home, spark_jars


def fake_java(directory: Path, text: str) -> Path:
    """An executable that says what `java -version` would."""
    directory.mkdir(parents=True)
    java = directory / "java"
    java.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
    ],
)
def test_the_version_is_read(text: str, version: int | None) -> None:
    assert java_version(text) == version


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    fake_java(tmp_path / "path", 'openjdk version "17.0.1"')
    home = fake_java(tmp_path / "home" / "bin", 'openjdk version "21.0.1"')
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path")}) == home
    assert find_java({"PATH": str(tmp_path / "path")}) == tmp_path / "path" / "java"


def test_no_java_is_told_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(MissingJavaError, match=r"Java 17 or later is needed, and PATH has none; .*apt-get install openjdk-17-jre-headless"):
        find_java({"PATH": str(tmp_path)})
    with pytest.raises(MissingJavaError, match=r"JAVA_HOME='.*' has none; set JAVA_HOME to a Java 17 or later, or unset it"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_an_old_java_is_told_with_the_cure(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "path", 'openjdk version "11.0.2"')
    with pytest.raises(MissingJavaError, match=rf"expected Java 17 or later, got Java 11 \({java}, from PATH\); .*apt-get"):
        find_java({"PATH": str(java.parent)})


def test_a_java_that_does_not_run_is_told(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "path", "no runtime")
    with pytest.raises(MissingJavaError, match="does not say its version, got 'no runtime"):
        find_java({"PATH": str(java.parent)})
    java.write_bytes(b"\x7fELF")
    with pytest.raises(MissingJavaError, match=r"-version failed: .*; install it with"):
        find_java({"PATH": str(java.parent)})


def test_spark_home_comes_before_the_installed_pyspark(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    assert spark_home({"SPARK_HOME": str(tmp_path)}) == tmp_path
    assert spark_jars({"SPARK_HOME": str(tmp_path)}) == tmp_path / "jars"


def test_a_spark_home_without_jars_is_told_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(MissingSparkError, match=r"is no Spark, expected a directory `jars` in it; .*pip install 'pasps\[spark\]'"):
        spark_home({"SPARK_HOME": str(tmp_path)})


def test_no_pyspark_is_told_with_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.delitem(__import__("sys").modules, "pyspark", raising=False)
    with pytest.raises(MissingSparkError, match=r"there is no pyspark; install it with `pip install 'pasps\[spark\]'`"):
        spark_home({})
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").touch()
    with pytest.raises(MissingSparkError, match="has no jars; set SPARK_HOME"):
        spark_home({})
    (tmp_path / "pyspark" / "jars").mkdir()
    assert spark_home({}) == tmp_path / "pyspark"
