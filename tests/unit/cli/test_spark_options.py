from __future__ import annotations

import argparse

import pytest

from pasps.cli.jobs.spark_options import add_spark_options, conf_of


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_spark_options(parser)
    return parser.parse_args(words)


def test_without_options_it_is_this_machine() -> None:
    options = parsed()
    assert options.master == "local[*]"
    assert conf_of(options) == {}


def test_properties_add_up_and_win_over_the_memory() -> None:
    options = parsed("--master", "yarn", "--driver-memory", "4G", "--conf", "spark.a=b=c", "--conf", "spark.d=")
    assert conf_of(options) == {"spark.driver.memory": "4g", "spark.a": "b=c", "spark.d": ""}
    assert conf_of(parsed("--driver-memory", "4g", "--conf", "spark.driver.memory=5g")) == {"spark.driver.memory": "5g"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--master", "host:7077"), "expected local[*], local[N], spark://HOST:PORT or yarn, got 'host:7077'"),
        (("--conf", "spark.a"), "expected spark.KEY=VALUE, got 'spark.a'"),
        (("--conf", "a=b"), "expected spark.KEY=VALUE, got 'a=b'"),
        (("--driver-memory", "4"), "expected a size such as 512m or 4g, got '4'"),
    ],
)
def test_a_wrong_option_is_refused(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(*words)
    assert said in capsys.readouterr().err
