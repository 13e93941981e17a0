from __future__ import annotations

import pytest

from pasps.daemons.driver.options import DriverOptions, parsed

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
