from __future__ import annotations

import pytest

from pasps.cluster.store.zookeeper_address import ZooKeeperAddress, checked_session_seconds, parse_connect, parse_credentials
from pasps.errors import InvalidError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("h1:2181", ZooKeeperAddress("h1:2181", 1, "")),
        ("h1:2181/", ZooKeeperAddress("h1:2181", 1, "")),
        (" h1, h2:2182/pasps/test ", ZooKeeperAddress("h1:2181,h2:2182", 2, "/pasps/test")),
        ("zk-0.zk_svc.example:2181,[::1]:2181,10.0.0.1/a", ZooKeeperAddress("zk-0.zk_svc.example:2181,[::1]:2181,10.0.0.1:2181", 3, "/a")),
    ],
)
def test_a_connect_string_is_read(text: str, address: ZooKeeperAddress) -> None:
    assert parse_connect(text) == address


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'' is no host:port"),
        ("/pasps", "'' is no host:port"),
        ("h1:2181,", "'' is no host:port"),
        ("zk://h1:2181", "'zk:' is no host:port"),
        ("h1:port", "'h1:port' is no host:port"),
        ("h1:0", "0 is no port"),
        ("h1:70000", "70000 is no port"),
        ("h 1", "'h 1' is no host:port"),
        ("h1,h1:2181", "has a host twice"),
        ("h1/pasps/", "'/pasps/' is no path"),
        ("h1/pasps,h2/pasps", "there is one path for all hosts, at the end"),
        ("h1/a/../b", "'/a/../b' is no path"),
    ],
)
def test_a_wrong_connect_string_is_refused_with_what_is_expected(text: str, problem: str) -> None:
    with pytest.raises(InvalidError) as caught:
        parse_connect(text)
    assert problem in str(caught.value)
    assert "expected host:port,host:port/path, for example" in str(caught.value)


def test_a_password_may_have_colons() -> None:
    assert parse_credentials("pasps:a:b") == ("pasps", "a:b")


@pytest.mark.parametrize("text", ["", "secret", ":secret", "secret:"])
def test_wrong_credentials_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InvalidError, match="expected user:password") as caught:
        parse_credentials(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("seconds", [3, 41, -1])
def test_a_session_is_as_long_as_servers_allow(seconds: float) -> None:
    assert checked_session_seconds(4.5) == 4.5
    with pytest.raises(InvalidError, match="expected 4 to 40 seconds"):
        checked_session_seconds(seconds)
