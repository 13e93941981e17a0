"""How a predictor service starts and ends, and what it lets in; it never leaves a process behind."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.predictor_service_process import PATIENCE_SECONDS, Service, install_bad_models, wait_until

pytestmark = pytest.mark.integration

SAMPLES = [1.0, 2.0, 4.0, 3.0, 5.0]


@pytest.fixture
def start() -> Iterator[Callable[..., Service]]:
    started: list[Service] = []

    def starting(*options: str, **more: object) -> Service:
        started.append(Service("--workers", "1", *options, **more))  # type: ignore[arg-type]
        return started[-1]

    yield starting
    for service in started:
        service.clean_up()


@pytest.fixture
def stuck(start: Callable[..., Service], tmp_path: Path) -> Iterator[tuple[Service, list[int]]]:
    """A service in the middle of a fit that never ends, and where its answer will be: a status, 0 when there was none."""
    service = start(environment=install_bad_models(tmp_path))
    service.wait_ready()
    answers: list[int] = []

    def ask() -> None:
        try:
            answers.append(service.predict("stuck", SAMPLES)[0])
        except (http.client.HTTPException, OSError):
            answers.append(0)

    fit = threading.Thread(target=ask)
    fit.start()
    wait_until((tmp_path / "stuck.mark").exists, "fit under way")
    yield service, answers
    fit.join()


def test_a_signal_ends_it_in_the_middle_of_a_fit(stuck: tuple[Service, list[int]]) -> None:
    service, answers = stuck
    service.process.send_signal(signal.SIGTERM)
    assert service.wait_ended() == 0
    wait_until(lambda: answers == [503], "answer")


def test_killed_it_leaves_nothing(stuck: tuple[Service, list[int]]) -> None:
    service, answers = stuck
    service.process.kill()
    assert service.wait_ended() == -signal.SIGKILL
    wait_until(lambda: answers == [0], "end of the connection")


def test_ctrl_c_ends_it_while_it_still_loads(start: Callable[..., Service]) -> None:
    service = start()
    service.family = service.process.children(recursive=True)
    service.process.send_signal(signal.SIGINT)
    assert service.wait_ended() == 0


def test_it_ends_with_its_parents_pipe(start: Callable[..., Service]) -> None:
    service = start("--end-with-stdin")
    service.family = service.process.children(recursive=True)
    service.process.stdin.close()
    assert service.wait_ended() == 0


def test_the_command_of_pasps_becomes_the_service_which_answers_what_it_can_while_it_loads(start: Callable[..., Service]) -> None:
    service = start(command=("pasps", "predictor"))
    assert service.predict("lr", SAMPLES)[0] == 200
    assert service.call("GET", "/healthz")[1]["status"] == "starting"
    # it waits for its library, and 503 asks to try again where that takes too long
    wait_until(lambda: service.predict("fft", SAMPLES)[0] == 200, "forecast by a model with a library")
    assert "predictor_service" in service.process.cmdline()
    service.process.send_signal(signal.SIGTERM)
    assert service.wait_ended() == 0


def test_a_token_is_asked_for(start: Callable[..., Service]) -> None:
    service = start(environment={"PASPS_PREDICTOR_TOKEN": "s3cret"})
    assert service.call("GET", "/v1/models")[0] == 401
    assert service.predict("lr", SAMPLES)[0] == 401
    assert service.call("GET", "/v1/models", Authorization="Bearer s3cret")[0] == 200
    assert service.call("GET", "/healthz")[0] == 200


@pytest.mark.parametrize(
    ("options", "told"),
    [(["--host", "0.0.0.0"], "give a --token"), (["--host", "192.0.2.1", "--token", "x"], "cannot listen on 192.0.2.1")],
)
def test_it_does_not_start_where_it_must_not_or_cannot(options: list[str], told: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "predictor_service", *options], capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
    )
    assert run.returncode == 2
    assert told in run.stderr
    assert "Traceback" not in run.stderr
