"""The routes of the service itself: predict, models, artifacts, health, metrics."""

from __future__ import annotations

import math
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel
from starlette.responses import Response

from predictor_service.body import read_json
from predictor_service.errors import ArtifactError
from predictor_service.schemas import (
    ArtifactReply,
    ForecastReply,
    ForecastRequest,
    ModelReply,
    PredictReply,
    PredictRequest,
    Problem,
    parsed,
)
from predictor_service.service import Service, Wanted

PROBLEMS: dict[int | str, dict[str, Any]] = {
    422: {"model": Problem, "description": "a field is missing, unknown or of no use to the model"},
    413: {"model": Problem, "description": "too many bytes"},
    415: {"model": Problem, "description": "not sent as application/json"},
    502: {"model": Problem, "description": "the model failed on this input"},
    503: {"model": Problem, "description": "too many fits wait, or the process that fitted ended; see Retry-After"},
    504: {"model": Problem, "description": "the fit was stopped at its deadline"},
}


def routes(service: Service) -> APIRouter:
    """`/v1/predict`, `/v2/forecast`, `/v1/models`, `/v1/artifacts`, `/healthz` and `/metrics` of this service."""
    router = APIRouter()
    _add_predict(router, service)
    _add_forecast(router, service)
    _add_what_is_told(router, service)
    return router


def _add_predict(router: APIRouter, service: Service) -> None:
    @router.post("/v1/predict", response_model=PredictReply, responses=PROBLEMS, openapi_extra=request_body(PredictRequest))
    async def predict(request: Request) -> Response:
        """Fit a model to the samples and predict the next `horizon` steps."""
        asked = parsed(PredictRequest, await read_json(request))
        forecast = await service.forecast(asked.model, asked.samples, asked.horizon, asked.step_seconds, request.is_disconnected)
        return JSONResponse(
            {
                "model": asked.model,
                "predictions": forecast.predictions,
                "total": math.fsum(forecast.predictions),
                "fit_seconds": forecast.fit_seconds,
                "warnings": forecast.warnings,
            }
        )


def _add_forecast(router: APIRouter, service: Service) -> None:
    @router.post("/v2/forecast", response_model=ForecastReply, responses=PROBLEMS, openapi_extra=request_body(ForecastRequest))
    async def forecast(request: Request) -> Response:
        """Predict the next `horizon` steps of each series, with quantiles of the running sum."""
        asked = parsed(ForecastRequest, await read_json(request))
        series = [Wanted(one.id, one.samples, one.step_seconds) for one in asked.series]
        model, made = await service.forecast_sums(
            asked.model, asked.artifact, series, asked.horizon, tuple(asked.quantiles), request.is_disconnected
        )
        return JSONResponse(
            {
                "quantiles": asked.quantiles,
                "series": [
                    {
                        "id": one.id,
                        "model": model,
                        "artifact": asked.artifact,
                        "step_seconds": one.step_seconds,
                        "end_time": one.end_time,
                        "mean": forecast.predictions,
                        "cumulative_quantiles": forecast.cumulative_quantiles,
                        "fit_seconds": forecast.fit_seconds,
                        "warnings": forecast.warnings,
                    }
                    for one, forecast in zip(asked.series, made, strict=True)
                ],
            }
        )


def _add_what_is_told(router: APIRouter, service: Service) -> None:
    @router.get("/v1/models")
    async def models() -> list[ModelReply]:
        """What each model is, its parameters and how many samples it takes."""
        return [
            ModelReply(
                name=model.name,
                about=model.about,
                parameters=dict(model.parameters),
                least_samples=model.least_samples,
                most_samples=model.most_samples,
            )
            for model in service.models.values()
        ]

    @router.get("/v1/artifacts")
    async def artifacts() -> list[ArtifactReply]:
        """What each trained model is, what it needs, and how good it was where it was tested; or what is wrong with it."""
        return [_told(service, name) for name in service.artifacts.names()]

    @router.get("/healthz")
    async def healthz() -> dict[str, Any]:
        """200 as soon as requests are answered; `status` is "ready" once every process has loaded its libraries."""
        lanes = service.fitting.statistics()
        return {
            "status": "ready" if all(lane.ready >= lane.size for lane in lanes) else "starting",
            "lanes": {lane.name: {"processes": lane.size, "ready": lane.ready, "waiting": lane.waiting} for lane in lanes},
        }

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> PlainTextResponse:
        """Counters in Prometheus' text format."""
        return PlainTextResponse(service.metrics.text(service.fitting.statistics()), media_type="text/plain; version=0.0.4")


def _told(service: Service, name: str) -> ArtifactReply:
    try:
        _, found = service.artifacts.find(name)
    except ArtifactError as error:
        return ArtifactReply(name=name, problem=error.detail)
    return ArtifactReply(
        name=name,
        model=found.model,
        window=found.window,
        horizon=found.horizon,
        step_seconds=found.step_seconds,
        trace=found.trace.name,
        metrics=found.metrics,
    )


def request_body(kind: type[BaseModel]) -> dict[str, Any]:
    """What OpenAPI is told of a body that the route reads itself, because FastAPI would read it without a limit."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": kind.model_json_schema()}}}}
