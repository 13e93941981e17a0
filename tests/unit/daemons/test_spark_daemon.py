"""Where Spark's daemon for Python processes loads PySpark from."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pasps.daemons.spark_daemon import without_archives


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A pyspark as pip installs it."""
    home = tmp_path / "pyspark"
    home.mkdir()
    (home / "__init__.py").touch()
    return home


def archives(home: Path) -> list[str]:
    return [f"{home}/python/lib/pyspark.zip", f"{home}/python/lib/py4j-0.10.9.9-src.zip"]


def test_an_installed_pyspark_is_not_loaded_from_its_own_zip(home: Path) -> None:
    rest = [f"{home}/jars/spark-core.jar", "/mine/shared.zip", "/usr/lib/python3.11", str(home.parent)]
    assert without_archives([*archives(home), *rest]) == rest


def test_a_spark_that_is_not_installed_unpacked_keeps_its_zips(home: Path) -> None:
    elsewhere = [*archives(Path("/opt/spark")), str(home.parent)]
    assert without_archives(elsewhere) == elsewhere
    hidden = [*archives(home), "/usr/lib/python3.11"]
    assert without_archives(hidden) == hidden
