from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from pasps.cli import master, predictor
from pasps.cluster.master.settings import DEFAULT_PORT
from predictor_service.settings import DEFAULT_PORT as PREDICTOR_PORT

GCP = Path(__file__).parents[3] / "deploy" / "gcp"
SCRIPT = (GCP / "install-pasps.sh").read_text()
VALUES = {"address": "10.10.0.5", "port": "1", "predictor_port": "2", "zookeeper": "m-0:2181/pasps", "packages": "gs://b/p", "home": "/opt"}


@pytest.mark.parametrize(("name", "command"), [("master", master), ("predictor", predictor)])
def test_the_unit_starts_the_command_with_options_that_it_has(name: str, command: object) -> None:
    found = re.search(rf"^ExecStart=\S+/pasps {name} (.+)$", SCRIPT, re.MULTILINE)
    assert found is not None
    parser = argparse.ArgumentParser(exit_on_error=False)
    command.add(parser)  # type: ignore[attr-defined]
    options = parser.parse_args(shlex.split(re.sub(r"\$(\w+)", lambda made: VALUES[made[1]], found[1])))
    assert options.host == "10.10.0.5"
    if name == "master":
        chosen = master.settings_of(options, {"PASPS_TOKEN": "secret", "PASPS_ZOOKEEPER_AUTH": "pasps:secret", "PASPS_HOME": "/tmp/none"})
        assert (chosen.spark, chosen.packages, chosen.bind) == ("yarn", "gs://b/p", "10.10.0.5")
        assert (chosen.predictor, chosen.token, chosen.zookeeper_auth) == ("http://10.10.0.5:2", "secret", "pasps:secret")


def test_the_ports_are_those_that_the_commands_take_by_themselves() -> None:
    variables = (GCP / "variables.tf").read_text()
    for variable, port in (("master_port", DEFAULT_PORT), ("predictor_port", PREDICTOR_PORT)):
        found = re.search(rf'variable "{variable}" {{[^}}]*default\s+= (\d+)', variables)
        assert found is not None
        assert int(found[1]) == port


def test_secrets_are_in_no_command_line() -> None:
    assert not re.search(r"^ExecStart=.*(token|auth|secret)", SCRIPT, re.MULTILINE | re.IGNORECASE)


def test_drivers_outlive_their_master() -> None:
    unit = SCRIPT.partition('pasps-master.service" <<EOF')[2].partition("\nEOF\n")[0]
    assert {"KillMode=process", "OOMPolicy=continue"} <= set(unit.splitlines())
    assert "PrivateTmp" not in unit
