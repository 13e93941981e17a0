"""The service without a socket and without processes: requests go straight to the application, fits run where they are asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message

from predictor_service.app import create_app
from predictor_service.errors import PredictorError
from predictor_service.fit_loop import answered
from predictor_service.fitting import Fitting
from predictor_service.forecast import Forecast, forecast
from predictor_service.job import Job
from predictor_service.lane import ClientGone
from predictor_service.model import Model
from predictor_service.settings import Settings
from predictor_service.sums import forecast_sums
from predictor_service.trained.artifacts import Place

STALLS = b"stalls"


class FittingHere(Fitting):
    """Fits in the caller; `error` is raised instead when there is one."""

    error: Exception | None = None

    async def forecast(
        self,
        model: Model,
        samples: Sequence[float],
        horizon: int,
        step_seconds: float,
        client_gone: ClientGone,
        levels: tuple[float, ...] | None = None,
    ) -> Forecast:
        if self.error is not None:
            raise self.error
        if levels is not None:
            return forecast_sums(model, samples, horizon, step_seconds, levels)
        return forecast(model, samples, horizon, step_seconds)

    async def trained_forecast(
        self,
        artifact: Place,
        model: str,
        samples: Sequence[float],
        horizon: int,
        step_seconds: float,
        client_gone: ClientGone,
        levels: tuple[float, ...],
    ) -> Forecast:
        if self.error is not None:
            raise self.error
        answer = answered(Job(model, samples, horizon, step_seconds, 60.0, levels, artifact))
        if isinstance(answer, PredictorError):
            raise answer
        return answer


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """Calls an application; its parts of a body arrive one by one."""

    app: ASGIApp
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, [b""], headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.call("POST", path, [body if isinstance(body, bytes) else json.dumps(body).encode()], headers)

    def call(self, method: str, path: str, parts: Sequence[bytes | None], headers: Mapping[str, str] | None = None) -> Answer:
        """None among the parts: the client leaves. STALLS: it sends no more."""
        return asyncio.run(
            self._call(
                method, path, list(parts), {**self.headers, **{name.replace("_", "-"): value for name, value in (headers or {}).items()}}
            )
        )

    async def _call(self, method: str, path: str, parts: list[bytes | None], headers: Mapping[str, str]) -> Answer:
        sent: list[Message] = []

        async def receive() -> Message:
            if not parts or parts[0] is None:
                return {"type": "http.disconnect"}
            if parts[0] is STALLS:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "scheme": "http",
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
        }
        await self.app(scope, receive, send)
        got = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], got, b"".join(message.get("body", b"") for message in sent[1:]))


def client(*, error: Exception | None = None, token: str | None = None, artifacts: Path | None = None) -> Client:
    settings = Settings(workers=1, token=token, artifacts=artifacts)
    fitting = FittingHere(settings)
    fitting.error = error
    return Client(create_app(settings, fitting))
