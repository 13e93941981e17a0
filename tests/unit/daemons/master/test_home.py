from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pasps.daemons.master.driver_process import driver_command, environment
from pasps.daemons.master.home import KEPT_OUTPUTS, Home
from pasps.daemons.master.settings import Settings
from pasps.errors import BusyError, InvalidError


def test_only_one_master_uses_it(tmp_path: Path) -> None:
    with Home(tmp_path / "home"), pytest.raises(BusyError, match="another master uses it"), Home(tmp_path / "home"):
        pass
    with Home(tmp_path / "home"):
        pass


def test_what_cannot_be_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidError, match=r"--home .*: cannot be used"), Home(tmp_path / "file"):
        pass


def test_its_token_is_made_once_and_for_its_user_alone(tmp_path: Path) -> None:
    with Home(tmp_path) as home:
        token = home.token()
        assert len(token) > 30
        assert stat.S_IMODE(home.token_path.stat().st_mode) == 0o600
    with Home(tmp_path) as home:
        assert home.token() == token
        home.token_path.write_text("")
        with pytest.raises(InvalidError, match="the file is empty; remove it"):
            home.token()


def test_what_came_in_before_a_restart_is_removed(tmp_path: Path) -> None:
    with Home(tmp_path) as home:
        (home.incoming / "half.zip").write_text("half")
    with Home(tmp_path) as home:
        assert list(home.incoming.iterdir()) == []


def test_of_what_drivers_wrote_the_newest_is_kept(tmp_path: Path) -> None:
    with Home(tmp_path) as home:
        for epoch in range(1, KEPT_OUTPUTS + 6):
            home.make_driver("counting")
            output = home.driver_output("counting", epoch)
            output.write_text("")
            os.utime(output, (epoch, epoch))
        kept = {path.name for path in home.driver("counting").iterdir()}
        assert kept == {f"driver-{epoch}.log" for epoch in range(6, KEPT_OUTPUTS + 6)}


def test_topologies_that_nobody_knows_are_set_aside(tmp_path: Path) -> None:
    with Home(tmp_path) as home:
        for name in ("a", "b"):
            home.make_driver(name)
        aside = home.set_aside({"a", "c"})
        assert [path.name for path in aside.iterdir()] == ["b"]
        assert (home.driver("a").exists(), home.driver("b").exists()) == (True, False)


def test_a_driver_is_told_everything_but_secrets_on_its_command_line() -> None:
    settings = Settings("yarn", "h:1/c", Path("/h"), bind="10.0.0.1", token="s3cret", advertise="n1", predictor="http://p")
    words = driver_command(settings, "counting", 3, "/p.zip", Path("/h/topologies/counting"))
    assert words == [
        *["--topology", "counting", "--epoch", "3", "--zookeeper", "h:1/c", "--spark", "yarn", "--package", "/p.zip"],
        *["--home", "/h/topologies/counting", "--bind", "10.0.0.1", "--advertise", "n1", "--predictor", "http://p"],
    ]
    assert environment("s3cret")["PASPS_TOKEN"] == "s3cret"
    assert "--advertise" not in driver_command(Settings("yarn", "h:1", Path("/h")), "a", 1, "/p", Path("/d"))
