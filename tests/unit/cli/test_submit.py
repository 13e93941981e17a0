"""What `pasps submit` checks here before it ships anything."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from pasps.cli.submit import checked_here, timed
from pasps.cluster.package.make import PackageRequest
from pasps.errors import ConfigError
from pasps.testing.clock import FakeClock
from pasps.topology.load_file import FileError

PLAIN = "import no_module_of_this_name\n"
IN_OTHER_WORDS = """
from pasps.errors import InvalidError
try:
    import no_module_of_this_name
except ImportError as error:
    raise InvalidError("this needs no_module_of_this_name") from error
"""


NUMBERS = count()


def request_for(folder: Path, text: str) -> PackageRequest:
    # a name of its own, since a module of one name is imported once
    file = folder / f"needs_more_{next(NUMBERS)}.py"
    file.write_text(text)
    return PackageRequest(file, name="told")


@pytest.mark.parametrize("text", [PLAIN, IN_OTHER_WORDS])
def test_a_module_that_only_the_cluster_will_have_is_left_to_the_master(text: str, tmp_path: Path) -> None:
    said: list[str] = []
    request = replace(request_for(tmp_path, text), requirements=Path("requirements.txt"))
    assert checked_here(request, said.append) == ("told", {})
    assert said == ["module 'no_module_of_this_name' is not here, so the master alone checks it, with what requirements.txt asks for"]


@pytest.mark.parametrize("text", [PLAIN, IN_OTHER_WORDS])
def test_without_requirements_a_missing_module_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no_module_of_this_name"):
        checked_here(request_for(tmp_path, text), print)


def test_another_fault_of_the_file_is_refused_with_requirements_too(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="ZeroDivisionError"):
        checked_here(replace(request_for(tmp_path, "1 / 0\n"), requirements=Path("requirements.txt")), print)


LINES = """
from pasps import Bolt, Topology
from pasps.connectors.lines import LineSpout

class Sink(Bolt):
    def process(self, tup):
        pass

class Follows(Topology):
    lines = LineSpout.spec()
    sink = Sink.spec(inputs=[lines])
"""


def test_a_relative_path_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    request = request_for(tmp_path, LINES)
    with pytest.raises(ConfigError, match=r"component 'lines': .* 'lines.path' is the relative path 'app.log'; give an absolute path"):
        checked_here(replace(request, options={"lines.path": "app.log"}), print)
    assert checked_here(replace(request_for(tmp_path, LINES), options={"lines.path": "/var/log/app.log"}), print) == ("told", {})


def test_a_file_of_the_policy_s_goes_along_as_what_is_in_it(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    table.write_text('{"schema": "of no matter here"}')
    learned = {"pasps.policy": "rlearning", "pasps.policy.options.table": str(table)}
    request = replace(request_for(tmp_path, LINES), options={"lines.path": "/var/log/app.log", **learned})
    assert checked_here(request, print) == ("told", {"pasps.policy.options.table": table.read_text()})
    absent = replace(request_for(tmp_path, PLAIN), options=learned, requirements=Path("requirements.txt"))
    assert checked_here(absent, print) == ("told", {"pasps.policy.options.table": table.read_text()})
    table.unlink()
    with pytest.raises(ConfigError, match=r"'pasps\.policy\.options\.table' names a file that cannot be read"):
        checked_here(replace(request_for(tmp_path, LINES), options=request.options), print)


def test_what_is_said_begins_with_the_seconds_since_the_command_began() -> None:
    clock, said = FakeClock(start=50.0), list[str]()
    say = timed(said.append, clock)
    for seconds, text in ((0.04, "packed"), (11.5, "submitted counting")):
        clock.advance(seconds)
        say(text)
    assert said == ["  0.0 s  packed", " 11.5 s  submitted counting"]
