from __future__ import annotations

from dataclasses import astuple

import msgspec
import pytest

from pasps.cluster.driver.options import DriverOptions, parsed, secrets_for, told_secrets
from pasps.errors import InvalidError

NEEDED = {"topology": "words", "epoch": "7", "zookeeper": "h1:2181/pasps", "spark": "spark://h1:7077", "package": "/p.zip", "home": "/h"}


def words(**options: str) -> list[str]:
    return [word for name, value in options.items() for word in (f"--{name}", value)]


def test_without_more_it_listens_for_this_machine_alone() -> None:
    options = parsed(words(**NEEDED))
    assert options == DriverOptions(
        "words", 7, "h1:2181/pasps", "spark://h1:7077", "/p.zip", "/h", bind="127.0.0.1", advertise="127.0.0.1", predictor=None
    )


def test_it_is_reached_where_it_listens_unless_it_is_told_otherwise() -> None:
    assert parsed(words(**NEEDED, bind="10.0.0.7")).advertise == "10.0.0.7"
    options = parsed(words(**NEEDED, bind="0.0.0.0", advertise="node7", predictor="http://h2:8000"))
    assert (options.bind, options.advertise, options.predictor) == ("0.0.0.0", "node7", "http://h2:8000")


@pytest.mark.parametrize("missing", NEEDED)
def test_what_is_missing_is_named(missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parsed(words(**{name: value for name, value in NEEDED.items() if name != missing}))
    assert caught.value.code == 2
    assert f"--{missing}" in capsys.readouterr().err


def test_an_epoch_is_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(words(**NEEDED | {"epoch": "new"}))
    assert "--epoch" in capsys.readouterr().err


def test_what_a_driver_is_told_opens_nothing_of_its_masters_or_of_another_topology() -> None:
    mine, other = (secrets_for(name, 1, "the-key", "pasps:the-password", "the-predictor's") for name in ("words", "other"))
    assert told_secrets(msgspec.json.encode(mine)) == mine
    for given in (mine, other):
        assert "the-key" not in str(astuple(given))
        assert "the-password" not in str(astuple(given))
        assert "word" not in repr(given)
    assert {mine.door, mine.submission, mine.zookeeper} & {other.door, other.submission, other.zookeeper} == set()
    assert (mine.owner, mine.predictor) == (other.owner, "the-predictor's")


def test_without_credentials_a_driver_gets_none() -> None:
    assert secrets_for("words", 1, "key", None, None).access is None


@pytest.mark.parametrize("said", [b"", b"[]", b'{"door": 3}', b"\xff", b'"secret"'])
def test_what_are_no_secrets_is_refused_and_not_repeated(said: bytes) -> None:
    with pytest.raises(InvalidError, match="expected its secrets as JSON on standard input") as caught:
        told_secrets(said)
    assert 'secret"' not in str(caught.value)
    assert caught.value.__cause__ is None
