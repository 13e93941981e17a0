from __future__ import annotations

import contextlib
import re

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pasps.control.predictor_client import PredictorClient, ServiceUrl, read_answer, read_body, request_bytes
from pasps.errors import InvalidError, PredictorError

WHO = "the predictor at X"


class Body(msgspec.Struct):
    predictions: list[float]


def refused(data: bytes) -> str:
    with pytest.raises(PredictorError) as raised:
        read_answer(data, WHO)
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://127.0.0.1:8000", ServiceUrl(False, "127.0.0.1", 8000, "127.0.0.1:8000", "")),
        ("http://predictor/", ServiceUrl(False, "predictor", 80, "predictor", "")),
        ("https://predictor.example", ServiceUrl(True, "predictor.example", 443, "predictor.example", "")),
        ("HTTPS://[::1]:9/a/b/", ServiceUrl(True, "::1", 9, "[::1]:9", "/a/b")),
    ],
)
def test_a_url_is_taken_apart(text: str, expected: ServiceUrl) -> None:
    assert ServiceUrl.parse(text) == expected


def test_a_url_is_written_as_it_was_given() -> None:
    assert str(ServiceUrl.parse("https://a:7/b")) == "https://a:7/b"


BAD_URLS = ["", "predictor:8000", "127.0.0.1:8000", "ftp://a", "http://", "http://a:x", "http://a:99999", "http://a?b=c", "http://a#b"]
BAD_URLS += ["http://a b", "http://a/\r\nX: y", "http://ä", "http://a/é", "http://[::1", "/v1", "http:///v1", "http://" + "a" * 64]


@pytest.mark.parametrize("text", BAD_URLS)
def test_what_is_no_url_of_a_service_is_refused(text: str) -> None:
    with pytest.raises(InvalidError, match=re.escape("expected http://HOST[:PORT][/PATH]")):
        ServiceUrl.parse(text)


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidError, match="give a token instead") as raised:
        ServiceUrl.parse("http://me:secret@host")
    assert "secret" not in str(raised.value)


def test_a_token_that_would_break_out_of_its_header_is_refused() -> None:
    for token in ("a\r\nX: y", "a b", "é"):
        with pytest.raises(InvalidError, match="printable ASCII"):
            PredictorClient(lambda: "http://x", "ann", token=token)


def test_a_question_with_and_without_a_token() -> None:
    url = ServiceUrl.parse("http://host:8000/base")
    head = b"Host: host:8000\r\nConnection: close\r\nAccept: application/json\r\nUser-Agent: pasps\r\n"
    assert request_bytes(url, "/v1/models", None, None) == b"GET /base/v1/models HTTP/1.1\r\n" + head + b"\r\n"
    expected = b"POST /base/v1/predict HTTP/1.1\r\n" + head
    expected += b"Authorization: Bearer s3\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    assert request_bytes(url, "/v1/predict", b"{}", "s3") == expected


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody and more than was said",
        b"HTTP/1.0 200 OK\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2;x=y\r\ndy\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
    ],
)
def test_an_answer_is_read_however_its_length_is_told(data: bytes) -> None:
    assert read_answer(data, WHO) == (200, b"body")


def test_an_answer_that_is_cut_off_is_refused_wherever_that_happens() -> None:
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
    assert refused(b"") == f"{WHO} closed the connection without an answer"
    for length in range(len(whole) - 5, len(whole)):
        assert refused(whole[:length]) == f"{WHO} closed the connection in the middle of its answer"
    assert "in the middle" in refused(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nbo")


@pytest.mark.parametrize("data", [b"hello", b"\x16\x03\x01", b"SSH-2.0-x\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n"])
def test_what_is_not_http_is_refused_and_shown(data: bytes) -> None:
    assert refused(data).startswith(f"{WHO} answered with what is not HTTP: {data.decode()!r}")


@given(st.binary() | st.binary().map(b"HTTP/1.1 200 OK\r\n".__add__))
@example(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n")
@example(b"HTTP/1.1 200 OK\r\na: " + b"b" * 70000)
@example(b"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nbody")
@example(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-4\r\nbody")
def test_any_bytes_are_an_answer_or_refused(data: bytes) -> None:
    with contextlib.suppress(PredictorError):
        read_answer(data, WHO)


def test_a_good_body_is_read_and_what_it_has_besides_does_not_matter() -> None:
    body = b'{"model": "ann", "predictions": [1, 2.5], "total": 3.5, "warnings": []}'
    assert read_body(200, body, Body, WHO) == Body([1.0, 2.5])


BAD_BODIES = {
    b"": "truncated",
    b"<html>": "malformed",
    b"\xff\xfe": "malformed",
    b"[1, 2]": "Expected `object`",
    b"{}": "missing required field `predictions`",
    b'{"predictions": 3}': "Expected `array`",
    b'{"predictions": [NaN]}': "invalid character",
    b'{"predictions": [Infinity]}': "invalid character",
    b'{"predictions": [1e999]}': "out of range",
    b'{"predictions": [null]}': "got `null`",
    b'{"predictions": ["1"]}': "got `str`",
    b'{"predictions": [true]}': "got `bool`",
    b'{"predictions": [1], "x": ' + b"[" * 100_000: "recursion",
}


@pytest.mark.parametrize(("body", "reason"), BAD_BODIES.items(), ids=[body[:30].decode(errors="replace") for body in BAD_BODIES])
def test_a_body_that_was_not_agreed_is_refused_with_what_is_wrong_in_it(body: bytes, reason: str) -> None:
    with pytest.raises(PredictorError, match=reason) as raised:
        read_body(200, body, Body, WHO)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    ("status", "words"),
    [(500, "500 Internal Server Error"), (404, "404 Not Found"), (422, "422"), (307, "307 Temporary Redirect"), (204, "204"), (799, "799")],
)
def test_any_other_status_is_refused_with_the_words_of_the_service(status: int, words: str) -> None:
    body = b'{"detail": "unknown model"}\n' + b"x" * 5000
    with pytest.raises(PredictorError, match=re.escape(f"{WHO} answered {words}")) as raised:
        read_body(status, body, Body, WHO)
    assert r"""'{"detail": "unknown model"}\n""" in str(raised.value)
    assert str(raised.value).endswith("...")
    assert "\n" not in str(raised.value)
