"""With a token nothing but /healthz answers without it."""

from __future__ import annotations

import pytest

from tests.unit.predictor_service.asgi import client

TOKEN = "s3cret"
GOOD = {"model": "lr", "samples": [1, 2, 3], "horizon": 1}


def test_who_sends_the_token_is_served() -> None:
    assert client(token=TOKEN).post("/v1/predict", GOOD, authorization=f"Bearer {TOKEN}").status == 200


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer wrong", f"bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer \xe9"])
def test_who_does_not_is_told_what_is_expected(header: str) -> None:
    answer = client(token=TOKEN).post("/v1/predict", GOOD, authorization=header)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "Authorization: Bearer" in answer.json["detail"]
    assert TOKEN not in answer.body.decode()


@pytest.mark.parametrize("path", ["/v1/models", "/metrics", "/docs", "/openapi.json", "/nothing"])
def test_no_page_answers_without_it(path: str) -> None:
    assert client(token=TOKEN).get(path).status == 401


def test_probes_need_none() -> None:
    assert client(token=TOKEN).get("/healthz").status == 200
