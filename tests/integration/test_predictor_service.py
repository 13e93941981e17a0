"""The predictor service as a real process: forecasts, models of other packages that hang or kill, and a loop that goes on answering."""

from __future__ import annotations

import math
import signal
import socket
import threading
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.integration.predictor_service_process import Service, install_bad_models, wait_until

pytestmark = pytest.mark.integration

FIT_TIMEOUT_SECONDS = 10.0
WAITING = 6
SAMPLES = [100.0 + 50.0 * math.sin(step / 8) + step * 7919 % 13 for step in range(100)]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One for all: what one test breaks must be whole again for the next."""
    bad_models = install_bad_models(tmp_path_factory.mktemp("site"))
    options = ("--workers", "2", "--fit-timeout", str(FIT_TIMEOUT_SECONDS), "--most-waiting", str(WAITING))
    running = Service(*options, environment=bad_models)
    running.wait_ready()
    yield running
    running.clean_up()


def is_whole(service: Service) -> bool:
    return bool(service.call("GET", "/healthz")[1]["status"] == "ready")


def test_every_model_predicts(service: Service) -> None:
    names = [model["name"] for model in service.call("GET", "/v1/models")[1] if model["about"]]
    assert len(names) == 21 + 2 * (find_spec("statsforecast") is not None)
    for name in names:
        status, answer = service.predict(name, SAMPLES, 30)
        assert (status, len(answer["predictions"])) == (200, 30)
        # the published ones do what their authors' do, which goes below nothing where little comes
        assert answer["warnings"] == [] or name.endswith("-published")
        assert answer["total"] == pytest.approx(sum(answer["predictions"]))
        assert service.predict(name, SAMPLES, 30)[1]["predictions"] == answer["predictions"]


@pytest.mark.parametrize("model", ["auto", "ses", "fft"])
def test_several_series_are_forecast_with_quantiles_of_their_sums(service: Service, model: str) -> None:
    series = [{"id": name, "samples": SAMPLES, "end_time": 1_763_500_000} for name in ("input", "parse", "store")]
    asked = {"series": series, "horizon": 10, "model": model, "quantiles": [0.1, 0.9]}
    status, answer = service.call("POST", "/v2/forecast", asked)
    assert (status, [one["id"] for one in answer["series"]]) == (200, ["input", "parse", "store"])
    for one in answer["series"]:
        low, high = one["cumulative_quantiles"]
        assert 0 < low[-1] < high[-1]
        assert low[-1] - 1000 < sum(one["mean"]) < high[-1] + 1000
    asked["series"] = [*series, {"id": "short", "samples": [1]}]
    status, answer = service.call("POST", "/v2/forecast", {**asked, "model": "ar"})
    assert (status, "series[3].samples: model 'ar' needs at least 8" in answer["detail"]) == (422, True)


def test_what_forks_and_what_fits_has_one_thread(service: Service) -> None:
    (fork_server,) = service.process.children()
    assert [process.num_threads() for process in [fork_server, *service.fitting()]] == [1] * 5


def test_old_controllers_are_served(service: Service) -> None:
    status, answer = service.call("POST", "/random_forest", {"samples": SAMPLES, "prediction_number": 5})
    assert (status, answer.keys(), len(answer["predictions"])) == (200, {"avg_prediction", "predictions"}, 5)


def test_the_longest_series_is_predicted_and_the_worst_body_refused(service: Service) -> None:
    longest = [float(step % 977) for step in range(100_000)]
    for model in ("basic", "lr", "fft", "ridge"):
        assert service.predict(model, longest, 10_000)[0] == 200
    assert service.call("POST", "/v1/predict", b"[" * (5 * 2**20))[0] == 413
    assert service.call("POST", "/v1/predict", b'{"model": "lr", "samples": [NaN, 1], "horizon": 1}')[0] == 422


def test_what_is_no_http_harms_nobody(service: Service) -> None:
    for words in (b"\x00\xff\r\n\r\n", b"POST /v1/predict HTTP/1.1\r\nContent-Length: 50\r\nContent-Type: application/json\r\n\r\n{"):
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(words)
    assert service.predict("lr", SAMPLES)[0] == 200


def test_cheap_models_are_answered_while_clients_train_forests(service: Service) -> None:
    stop = threading.Event()
    trained: list[int] = []

    def train() -> None:
        while not stop.is_set():
            trained.append(service.predict("rf", SAMPLES, 30)[0])

    clients = [threading.Thread(target=train) for _ in range(6)]
    for client in clients:
        client.start()
    try:
        wait_until(lambda: len(trained) >= 4, "trained forest")
        before = len(trained)
        answered = [service.predict(model, SAMPLES, 30)[0] for model in ("basic", "lr", "fft") * 20]
        meanwhile = len(trained) - before
    finally:
        stop.set()
        for client in clients:
            client.join()
    assert {*answered, *trained} == {200}
    # who waits behind forests waits for one at least: six clients train, and two processes
    assert meanwhile < len(answered)


def test_a_model_of_another_package_is_listed_and_its_failure_is_told(service: Service) -> None:
    status, answer = service.predict("loud", SAMPLES)
    assert (status, answer["detail"]) == (502, "model 'loud' failed on this input: ZeroDivisionError: of no use; use another")


def test_a_fit_that_hangs_is_stopped_and_its_process_replaced(service: Service) -> None:
    status, answer = service.predict("stuck", SAMPLES)
    assert status == 504
    assert f"was stopped after {FIT_TIMEOUT_SECONDS:g} s" in answer["detail"]
    assert service.predict("rf", SAMPLES)[0] == 200
    wait_until(lambda: is_whole(service), "process in place of the stuck one")


def test_a_fit_whose_process_dies_is_tried_once_more(service: Service) -> None:
    assert service.predict("fragile", SAMPLES)[0] == 200


def test_a_fit_that_kills_every_process_is_given_up_and_others_work(service: Service) -> None:
    status, answer = service.predict("deadly", SAMPLES)
    assert status == 503
    assert "ended 2 times" in answer["detail"]
    assert service.predict("ann", SAMPLES)[0] == 200


def test_killed_processes_are_replaced(service: Service) -> None:
    wait_until(lambda: is_whole(service), "whole service")
    before = service.fitting()
    for process in before:
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not set(before) & set(service.fitting()) and is_whole(service), "processes in place of the killed ones")
    for model in ("fft", "rf"):
        assert service.predict(model, SAMPLES)[0] == 200


def test_no_more_than_a_few_fits_wait(service: Service) -> None:
    wait_until(lambda: is_whole(service), "whole service")
    statuses: list[tuple[int, str]] = []

    def ask() -> None:
        status, answer = service.predict("sleepy", [1.5, 0.2])  # so long that all have asked meanwhile
        statuses.append((status, answer.get("detail", "")))

    clients = [threading.Thread(target=ask) for _ in range(WAITING + 6)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    refused = [detail for status, detail in statuses if status == 503]
    assert len(refused) == 4
    assert all("fits wait" in detail for detail in refused)
    assert sum(status == 200 for status, _ in statuses) == WAITING + 2


def test_a_killed_fork_server_is_started_again(service: Service) -> None:
    (fork_server,) = service.process.children()
    fork_server.send_signal(signal.SIGKILL)
    wait_until(lambda: service.process.children() not in ([], [fork_server]) and is_whole(service), "new fork server")
    assert service.predict("fft", SAMPLES)[0] == 200
    assert service.predict("ann", SAMPLES)[0] == 200
