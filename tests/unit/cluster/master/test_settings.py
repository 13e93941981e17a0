from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from pasps.cli import master
from pasps.cluster.master.settings import Settings
from pasps.errors import InvalidError


def settings(**more: Any) -> Settings:
    return Settings(**{"spark": "spark://h:7077", "zookeeper": "h:2181/pasps", "home": Path("/home"), **more})


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"spark": "http://h"}, "--spark: expected spark://HOST:PORT or yarn, got 'http://h'"),
        ({"zookeeper": " "}, "--zookeeper: expected HOST:PORT"),
        ({"port": 70000}, "--port: expected 0 to 65535, got 70000"),
        ({"token": " a"}, "PASPS_TOKEN: expected printable ASCII"),
        ({"host": "0.0.0.0"}, "--host 0.0.0.0: others can reach this address; set PASPS_TOKEN"),
        ({"bind": "node-1"}, "--bind node-1: others can reach this address; set PASPS_TOKEN"),
        ({"host": "0.0.0.0", "token": "t"}, "--host 0.0.0.0: who can write to its ZooKeeper rules a cluster"),
        ({"bind": "10.0.0.1", "token": "t"}, "--bind 10.0.0.1: who can write to its ZooKeeper rules a cluster"),
        ({"predictor": "node-1:8888"}, "--predictor: expected http://HOST:PORT"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidError) as caught:
        settings(**wrong)
    assert str(caught.value).startswith(text)


SECRETS = {"token": "secret", "zookeeper_auth": "pasps:secret"}


@pytest.mark.parametrize("fine", [{}, {"spark": "yarn"}, {"host": "::1"}, {"host": "0.0.0.0", "bind": "10.0.0.1", **SECRETS}])
def test_what_can_be_is_taken_and_hides_its_secrets(fine: dict[str, Any]) -> None:
    assert "secret" not in repr(settings(**fine))


@pytest.mark.parametrize(
    ("about", "url"),
    [
        ({}, "http://127.0.0.1:1"),
        ({"advertise": "node-1"}, "http://127.0.0.1:1"),
        ({"host": "::1"}, "http://[::1]:1"),
        ({"host": "10.0.0.1", **SECRETS}, "http://10.0.0.1:1"),
        ({"host": "0.0.0.0", "advertise": "node-1", **SECRETS}, "http://node-1:1"),
    ],
)
def test_its_address_is_the_one_that_others_reach(about: dict[str, Any], url: str) -> None:
    assert settings(**about).url(1) == url


def test_the_command_line_and_the_environment_make_settings() -> None:
    parser = argparse.ArgumentParser()
    master.add(parser)
    options = parser.parse_args(["--spark", "yarn", "--zookeeper", "h:1", "--home", "/h", "--port", "0", "--packages", "/p"])
    made = master.settings_of(options, {"PASPS_TOKEN": "t", "PASPS_SIGNING_KEY": "k", "PASPS_ZOOKEEPER_AUTH": "u:p"})
    assert made == Settings("yarn", "h:1", Path("/h"), port=0, packages="/p", token="t", signing_key="k", zookeeper_auth="u:p")
    assert master.settings_of(options, {"PASPS_TOKEN": ""}).token is None
