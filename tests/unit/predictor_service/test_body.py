"""How much of a request is read, and from whom."""

from __future__ import annotations

import pytest

from predictor_service import body
from predictor_service.body import MOST_BYTES
from tests.unit.predictor_service.asgi import STALLS, client


def test_a_body_may_come_in_parts() -> None:
    answer = client().call("POST", "/v1/predict", [b'{"model": "lr", "samples"', b": [1, 2, 3], ", b'"horizon": 1}'])
    assert (answer.status, answer.json["predictions"]) == (200, [4.0])


def test_a_body_that_says_it_is_too_large_is_not_read() -> None:
    answer = client().call("POST", "/v1/predict", [b"{}"], {"content-length": "5000000000"})
    assert answer.status == 413
    assert answer.json["detail"] == "body: expected at most 4,194,304 bytes, got 5,000,000,000; send fewer samples, the newest"


def test_a_body_that_does_not_say_so_is_read_to_the_limit() -> None:
    answer = client().call("POST", "/v1/predict", [b" " * (MOST_BYTES // 2)] * 3)
    assert answer.status == 413


def test_a_client_that_leaves_in_the_middle_is_no_fault_of_the_service() -> None:
    assert client().call("POST", "/v1/predict", [b'{"model": ', None]).status == 499


def test_a_body_that_stops_arriving_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "_MOST_SECONDS", 0.0)
    answer = client().call("POST", "/v1/predict", [b'{"model": ', STALLS])
    assert (answer.status, answer.json) == (408, {"detail": "body: did not arrive within 0 s; send it again"})
