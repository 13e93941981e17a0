from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pasps.cluster.master.driver_process import driver_command, environment
from pasps.cluster.master.home import KEPT_OUTPUTS, Home
from pasps.cluster.master.settings import Settings
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


def test_nobody_else_enters_its_directories_even_if_they_could_before(tmp_path: Path) -> None:
    for name in ("packages", "topologies"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o777)
    with Home(tmp_path) as home:
        home.make_driver("counting")
        inside = (home.packages, home.incoming, home.driver("counting").parent, home.driver("counting"))
        assert {stat.S_IMODE(path.stat().st_mode) for path in inside} == {0o700}


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


def test_a_driver_gets_none_of_the_masters_secrets_by_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PASPS_TOKEN", "PASPS_SIGNING_KEY", "PASPS_ZOOKEEPER_AUTH", "PASPS_PREDICTOR_TOKEN"):
        monkeypatch.setenv(name, "user:s3cret")
    monkeypatch.setenv("PASPS_LOG", "DEBUG")
    given = environment()
    assert "s3cret" not in str(given)
    assert given["PASPS_LOG"] == "DEBUG"


def test_what_killed_drivers_have_unpacked_is_set_aside_and_what_they_wrote_stays(tmp_path: Path) -> None:
    with Home(tmp_path) as home:
        (home.make_driver("a") / "package-3").mkdir()
        home.driver_output("a", 3).write_text("words")
        assert [path.name for path in home.set_packages_aside("a").iterdir()] == ["package-3"]
        assert [path.name for path in home.driver("a").iterdir()] == ["driver-3.log"]
        assert not [*home.set_packages_aside("of no driver").iterdir()]


def test_a_driver_is_told_everything_but_secrets_on_its_command_line() -> None:
    settings = Settings(
        "yarn", "h:1/c", Path("/h"), bind="10.0.0.1", token="s3cret", zookeeper_auth="a:s3cret", advertise="n1", predictor="http://p"
    )
    words = driver_command(settings, "counting", 3, "/p.zip", Path("/h/topologies/counting"))
    assert words == [
        *["--topology", "counting", "--epoch", "3", "--zookeeper", "h:1/c", "--spark", "yarn", "--package", "/p.zip"],
        *["--home", "/h/topologies/counting", "--bind", "10.0.0.1", "--advertise", "n1", "--predictor", "http://p"],
    ]
    assert "--advertise" not in driver_command(Settings("yarn", "h:1", Path("/h")), "a", 1, "/p", Path("/d"))
