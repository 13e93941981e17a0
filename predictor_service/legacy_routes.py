"""The routes that existing PA-SPS controllers speak, as they are: a model's own path, `{"avg_prediction", "predictions"}`."""

from __future__ import annotations

import math

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from starlette.responses import Response

from predictor_service.body import read_json
from predictor_service.routes import PROBLEMS, request_body
from predictor_service.schemas import LegacyReply, LegacyRequest, parsed
from predictor_service.service import Service

PATHS = {
    "linear_regression": "lr",
    "fft": "fft",
    "ann": "ann",
    "random_forest": "rf",
    "basic": "basic",
    "ridge": "ridge",
    "svm": "svm",
    "bayesian": "bayesian",
    "gaussian": "gaussian",
    "sgd": "sgd",
}
"""Each path and its model."""


def legacy_routes(service: Service) -> APIRouter:
    """A route for each of PATHS."""
    router = APIRouter(tags=["PA-SPS controllers"])
    for path, model in PATHS.items():
        _add(router, service, path, model)
    return router


def _add(router: APIRouter, service: Service, path: str, model: str) -> None:
    @router.post(
        f"/{path}",
        name=path,
        summary=f"The model {model!r}",
        response_model=LegacyReply,
        responses=PROBLEMS,
        openapi_extra=request_body(LegacyRequest),
    )
    async def predict(request: Request) -> Response:
        asked = parsed(LegacyRequest, await read_json(request))
        forecast = await service.forecast(model, asked.samples, asked.prediction_number, 1.0, request.is_disconnected)
        average = math.fsum(forecast.predictions) / len(forecast.predictions)
        return JSONResponse({"avg_prediction": average, "predictions": forecast.predictions})
