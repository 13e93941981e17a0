"""Asks a predictor service over HTTP; the forecaster calls it. Asyncio streams: a request that is cancelled is gone at once.

The contract is JSON alone: POST /v1/predict and /v2/forecast, GET /v1/models, /v1/artifacts and /healthz. Pure but for `PredictorClient`.
Why not httpx: docs/decisions/0039.
"""

from __future__ import annotations

import asyncio
import http.client
import io
import logging
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self, TypeVar, cast
from urllib.parse import urlsplit

import msgspec

from pasps.control.forecaster import TRAINED, Prediction
from pasps.errors import InvalidError, PredictorError

_log = logging.getLogger(__name__)

MOST_ANSWER_BYTES = 1 << 20
LEARN_SECONDS = 2.0
_MOST_QUOTED = 200
_HEALTH = "/healthz"
"""Asked without the token: whoever listens there may be somebody else yet."""
_PORTS = {"http": 80, "https": 443}

T = TypeVar("T")


class _Predictions(msgspec.Struct):
    predictions: list[float]


class _OfSeries(msgspec.Struct):
    id: str
    mean: list[float]
    cumulative_quantiles: list[list[float]]


class _Forecast(msgspec.Struct):
    quantiles: list[float]
    series: list[_OfSeries]


class _Model(msgspec.Struct):
    name: str
    least_samples: int


class _Artifact(msgspec.Struct):
    name: str
    window: int | None


class _Health(msgspec.Struct):
    status: str


@dataclass(frozen=True, slots=True)
class ServiceUrl:
    """Where a predictor service is: `authority` as in the Host header, `path` without a slash at its end."""

    secure: bool
    host: str
    port: int
    authority: str
    path: str

    def __str__(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.authority}{self.path}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The parts of `http://HOST[:PORT][/PATH]`, or of the same with https.

        Raises:
            InvalidError: it is something else.
        """
        problem = f"predictor URL: expected http://HOST[:PORT][/PATH] or the same with https, got {text!r}"
        try:
            parts = urlsplit(text)
            port = parts.port
            (parts.hostname or "").encode("idna")  # as a lookup would
        except ValueError as error:
            raise InvalidError(f"{problem}: {error}") from error
        if "@" in parts.netloc:
            raise InvalidError(f"{problem.partition(', got')[0]}, got one with a user's name; give a token instead")
        odd = not text.isascii() or not text.isprintable() or " " in text
        if odd or parts.scheme not in _PORTS or not parts.hostname or parts.query or parts.fragment:
            raise InvalidError(problem)
        secure = parts.scheme == "https"
        return cls(secure, parts.hostname, port or _PORTS[parts.scheme], parts.netloc, parts.path.rstrip("/"))


def request_bytes(url: ServiceUrl, route: str, body: bytes | None, token: str | None) -> bytes:
    """One HTTP/1.1 request: a POST with a body, else a GET. The connection is for this request alone."""
    lines = [
        f"{'GET' if body is None else 'POST'} {url.path}{route} HTTP/1.1",
        f"Host: {url.authority}",
        "Connection: close",
        "Accept: application/json",
        "User-Agent: pasps",
    ]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + (body or b"")


class _Received:
    """What came over a connection, in the shape that the standard library's parser wants it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def read_answer(data: bytes, who: str) -> tuple[int, bytes]:
    """Status and body of a whole HTTP answer; `who` is named in errors.

    Raises:
        PredictorError: it is not HTTP, or not whole.
    """
    if not data:
        raise PredictorError(f"{who} closed the connection without an answer")
    response = http.client.HTTPResponse(cast(socket.socket, _Received(data)))
    try:
        response.begin()
        return response.status, response.read()
    except (http.client.IncompleteRead, http.client.RemoteDisconnected) as error:
        raise PredictorError(f"{who} closed the connection in the middle of its answer") from error
    except (http.client.HTTPException, ValueError) as error:
        raise PredictorError(f"{who} answered with what is not HTTP: {_quoted(data)}") from error


def read_body(status: int, body: bytes, kind: type[T], who: str) -> T:
    """The body of a good answer.

    Raises:
        PredictorError: the status is not 200, or the body is not the JSON that was agreed.
    """
    if status != http.client.OK:
        raise PredictorError(f"{who} answered {status} {http.client.responses.get(status, '')}".rstrip() + f": {_quoted(body)}")
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PredictorError(f"{who} answered with JSON that was not expected, or none ({error}): {_quoted(body)}") from error


def _quoted(data: bytes) -> str:
    text = data[:_MOST_QUOTED].decode(errors="replace")
    return repr(text) + ("..." if len(data) > _MOST_QUOTED else "")


class PredictorClient:
    """A `Predictor` over HTTP. All on one event loop; proxies of the environment are not used.

    One connection for a request, closed when the request ends or is cancelled, so that nothing can pile up at a service that
    hangs. It has no deadline of its own: who calls it cancels it.
    """

    def __init__(self, address: Callable[[], str], model: str, *, token: str | None = None) -> None:
        """`address` gives the service's URL at the time of each request, or raises PredictorError saying why there is none.

        `model` may be `MODEL@ARTIFACT`, which only /v2/forecast knows.

        Raises:
            InvalidError: a token that does not fit into a header.
        """
        if token and not (token.isascii() and token.isprintable() and " " not in token):
            raise InvalidError("predictor token: expected printable ASCII without spaces, got something else")
        self._address = address
        self._model, _, artifact = model.partition(TRAINED)
        self._artifact = artifact or None
        self._token = token
        self._least_samples: int | None = None
        self._learned = False
        self._learning: asyncio.Task[None] | None = None
        self._lookup: tuple[str, asyncio.Future[list[str]]] | None = None
        self._tls: ssl.SSLContext | None = None

    @property
    def least_samples(self) -> int | None:
        """What /v1/models, or /v1/artifacts, says of it; asked for once, after the first answer to `predict`, or when it refuses."""
        return self._least_samples

    async def predict(self, samples: Sequence[float], horizon: int) -> tuple[float, ...]:
        """What the service predicts, as it says it: length and values are not judged here.

        Raises:
            PredictorError: there is no answer, or it is not one.
        """
        url = ServiceUrl.parse(self._address())
        if self._artifact is not None:
            found = await self.predict_series({"": samples}, horizon, ())
            if not found:
                raise PredictorError(f"{_who(url)} says nothing of the series that it was asked for")
            return found[""].mean
        question = {"model": self._model, "samples": list(samples), "horizon": horizon, "step_seconds": 1}
        status, body = await self._exchange(url, "/v1/predict", msgspec.json.encode(question))
        if 400 <= status < 500:
            await self._learn(url)  # perhaps the model needs more samples
        else:
            self._learn_meanwhile(url)
        return tuple(read_body(status, body, _Predictions, _who(url)).predictions)

    async def predict_series(
        self, series: Mapping[str, Sequence[float]], horizon: int, quantiles: Sequence[float]
    ) -> Mapping[str, Prediction]:
        """The same of several series, each with quantiles of the running sum, as the service says it.

        A service without /v2/forecast is asked for one after the other, and says no quantiles.

        Raises:
            PredictorError: as `predict`.
        """
        url = ServiceUrl.parse(self._address())
        names = list(series)  # they may be empty, or anything: the service is given their places
        asked = [{"id": str(place), "samples": list(series[name]), "step_seconds": 1} for place, name in enumerate(names)]
        question = {"model": self._model, "series": asked, "horizon": horizon, "quantiles": list(quantiles)}
        if self._artifact is not None:
            question["artifact"] = self._artifact
        status, body = await self._exchange(url, "/v2/forecast", msgspec.json.encode(question))
        if status == http.client.NOT_FOUND:
            if self._artifact is not None:
                raise PredictorError(f"{_who(url)} knows no trained models: it has no /v2/forecast")
            return await self._one_by_one(series, horizon)
        if 400 <= status < 500:
            await self._learn(url)
        elif self._artifact is not None:
            self._learn_meanwhile(url)
        answer = read_body(status, body, _Forecast, _who(url))
        return {
            names[int(one.id)]: Prediction(tuple(one.mean), dict(zip(answer.quantiles, map(tuple, one.cumulative_quantiles), strict=False)))
            for one in answer.series
            if one.id in {each["id"] for each in asked}
        }

    async def _one_by_one(self, series: Mapping[str, Sequence[float]], horizon: int) -> Mapping[str, Prediction]:
        found: dict[str, Prediction] = {}
        problem: PredictorError | None = None
        for name, samples in series.items():
            try:
                found[name] = Prediction(await self.predict(samples, horizon))
            except PredictorError as error:
                problem = error
        if problem is not None and not found:
            raise problem
        return found

    async def ready(self) -> bool:
        """Whether the service says that every model can be asked; until then some may have to wait for their libraries.

        Raises:
            PredictorError: as `predict`.
        """
        url = ServiceUrl.parse(self._address())
        return read_body(*await self._exchange(url, _HEALTH, None), _Health, _who(url)).status == "ready"

    async def close(self) -> None:
        """Drop what is under way beside `predict`."""
        if self._learning is not None:
            self._learning.cancel()
            await asyncio.wait([self._learning])

    def _learn_meanwhile(self, url: ServiceUrl) -> None:
        if not self._learned and (self._learning is None or self._learning.done()):
            self._learning = asyncio.ensure_future(self._learn(url))

    async def _learn(self, url: ServiceUrl) -> None:
        if self._learned:
            return
        try:
            async with asyncio.timeout(LEARN_SECONDS):
                self._least_samples = await self._told(url)
        except (PredictorError, TimeoutError) as error:
            _log.debug("what %s needs: %s; asked again with the next prediction", url, error)
            return
        self._learned = True

    async def _told(self, url: ServiceUrl) -> int | None:
        if self._artifact is None:
            models = read_body(*await self._exchange(url, "/v1/models", None), list[_Model], _who(url))
            return {model.name: model.least_samples for model in models}.get(self._model)
        artifacts = read_body(*await self._exchange(url, "/v1/artifacts", None), list[_Artifact], _who(url))
        return {artifact.name: artifact.window for artifact in artifacts}.get(self._artifact)

    async def _exchange(self, url: ServiceUrl, route: str, body: bytes | None) -> tuple[int, bytes]:
        try:
            return read_answer(
                await self._received(url, request_bytes(url, route, body, None if route == _HEALTH else self._token)), _who(url)
            )
        except ConnectionRefusedError as error:
            raise PredictorError(f"{_who(url)} refused the connection; does it run?") from error
        except (ConnectionResetError, BrokenPipeError) as error:
            raise PredictorError(f"{_who(url)} closed the connection in the middle of its answer") from error
        except socket.gaierror as error:
            raise PredictorError(f"{_who(url)}: no host is named {url.host!r} ({error.strerror})") from error
        except ssl.SSLError as error:
            raise PredictorError(f"{_who(url)}: no secure connection ({error})") from error
        except OSError as error:
            raise PredictorError(f"{_who(url)} cannot be reached ({error})") from error

    async def _received(self, url: ServiceUrl, request: bytes) -> bytes:
        reader, writer = await self._connection(url)
        try:
            writer.write(request)
            await writer.drain()
            data = bytearray()
            while piece := await reader.read(1 << 16):
                data += piece
                if len(data) > MOST_ANSWER_BYTES:
                    raise PredictorError(f"{_who(url)} answered with more than {MOST_ANSWER_BYTES} bytes")
            return bytes(data)
        finally:
            writer.transport.abort()

    async def _connection(self, url: ServiceUrl) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if url.secure and self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)  # it reads all certificates of the system
        *others, last = await self._hosts(url)
        tls, name = (self._tls, url.host) if url.secure else (None, None)
        for host in others:
            try:
                return await asyncio.open_connection(host, url.port, ssl=tls, server_hostname=name)
            except OSError as error:
                _log.debug("%s at %s: %s", url, host, error)
        return await asyncio.open_connection(last, url.port, ssl=tls, server_hostname=name)

    async def _hosts(self, url: ServiceUrl) -> list[str]:
        """Its addresses. A lookup cannot be cancelled, so there is never more than one: the next call waits for it too."""
        try:
            return [str(ip_address(url.host))]
        except ValueError:
            pass
        if self._lookup is None or self._lookup[0] != url.host or self._lookup[1].done():
            self._lookup = url.host, asyncio.get_running_loop().run_in_executor(None, _look_up, url.host)
        return await asyncio.shield(self._lookup[1])


def _look_up(host: str) -> list[str]:
    return list(dict.fromkeys(str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)))


def _who(url: ServiceUrl) -> str:
    return f"the predictor at {url}"
