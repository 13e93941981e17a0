"""Where Java and Spark are on this machine; Spark's jars have a ZooKeeper server too. Nothing of either is loaded here."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pasps.errors import BrokenError

MINIMUM_JAVA = 17
"""What Spark 4 and its jars need."""

QUICK_JAVA = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)
"""For Java processes through which no data pass: soon there, at the cost of speed later. What they load are jars that somebody
installed, and no code is made while they run; to verify all of it takes a fifth of their start."""

_ANSWER_SECONDS = 20.0
_INSTALL_JAVA = f"install it with `apt-get install openjdk-{MINIMUM_JAVA}-jre-headless`"
_INSTALL_SPARK = "install it with `pip install 'pasps[spark]'`"


class MissingJavaError(BrokenError):
    """There is no Java on this machine that Spark and ZooKeeper can run on."""


class MissingSparkError(BrokenError):
    """There is no Spark on this machine."""


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """The `java` to use: that of JAVA_HOME, else the first on PATH, as Spark's own scripts choose. Runs it once to see its version.

    Raises:
        MissingJavaError: there is none, or it is too old.
    """
    home, found = environment.get("JAVA_HOME"), java_path(environment)
    if home:
        where, cure = f"JAVA_HOME={home!r}", f"set JAVA_HOME to a Java {MINIMUM_JAVA} or later, or unset it"
    else:
        where, cure = "PATH", _INSTALL_JAVA
    if found is None:
        raise MissingJavaError(f"Java {MINIMUM_JAVA} or later is needed, and {where} has none; {cure}")
    answer = _version_text(found)
    version = java_version(answer)
    if version is None:
        raise MissingJavaError(f"{found} does not say its version, got {answer[:200]!r}; {cure}")
    if version < MINIMUM_JAVA:
        raise MissingJavaError(f"expected Java {MINIMUM_JAVA} or later, got Java {version} ({found}, from {where}); {cure}")
    return Path(found)


def java_path(environment: Mapping[str, str] = os.environ) -> str | None:
    """The same, of whatever version; None when there is none. Runs nothing."""
    home = environment.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin") if home else environment.get("PATH", os.defpath))


def archive_options(archive: str) -> list[str]:
    """For a Java process that takes classes from there as they are once loaded. One that does not fit is not used, without a word."""
    return [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off"]


def java_version(text: str) -> int | None:
    """The major version in what `java -version` prints: 8 for "1.8.0_402", 17 for "17.0.15"; None when there is none. Pure."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return None if match is None else int(match[1])


def spark_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Where Spark is: SPARK_HOME, else the installed pyspark.

    Raises:
        MissingSparkError: there is none.
    """
    given = environment.get("SPARK_HOME")
    if given:
        if not (Path(given) / "jars").is_dir():
            raise MissingSparkError(f"SPARK_HOME={given!r} is no Spark, expected a directory `jars` in it; unset it or {_INSTALL_SPARK}")
        return Path(given)
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise MissingSparkError(f"Spark is needed, and there is no pyspark; {_INSTALL_SPARK}")
    home = Path(found.origin).parent
    if not (home / "jars").is_dir():
        raise MissingSparkError(f"pyspark at {home} has no jars; set SPARK_HOME to a whole Spark, or {_INSTALL_SPARK}")
    return home


def spark_jars(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory of Spark's jars.

    Raises:
        MissingSparkError: there is no Spark.
    """
    return spark_home(environment) / "jars"


def _version_text(java: str) -> str:
    command = [java, "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_ANSWER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingJavaError(f"{java} -version failed: {error}; {_INSTALL_JAVA}") from error
    return answer.stderr + answer.stdout
