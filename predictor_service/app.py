"""The application: routes, errors as answers, and processes that live as long as it does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from predictor_service.errors import PredictorError
from predictor_service.fitting import Fitting
from predictor_service.guard import Guard
from predictor_service.legacy_routes import legacy_routes
from predictor_service.metrics import Metrics
from predictor_service.registry import all_models
from predictor_service.routes import routes
from predictor_service.service import Service
from predictor_service.settings import Settings
from predictor_service.trained.artifacts import Artifacts

_ABOUT = "Predicts the next steps of a series of counts. A request that is refused gets a `detail` that says what to do."


def create_app(settings: Settings, fitting: Fitting | None = None) -> FastAPI:
    """A service; its processes start and end with the application's lifespan, unless its caller ends them earlier."""
    fitting = fitting or Fitting(settings)
    service = Service(all_models(), fitting, Metrics(), Artifacts(settings.artifacts))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        fitting.start()
        try:
            yield
        finally:
            fitting.close()

    app = FastAPI(title="PA-SPS predictor", description=_ABOUT, version="1", lifespan=lifespan)
    app.include_router(routes(service))
    app.include_router(legacy_routes(service))
    app.add_exception_handler(PredictorError, _answer_problem)
    app.add_exception_handler(HTTPException, _answer_no_route)
    if settings.token is not None:
        app.add_middleware(Guard, token=settings.token)
    return app


async def _answer_problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, PredictorError)
    seconds = error.retry_after_seconds
    return JSONResponse({"detail": error.detail}, error.status, {"Retry-After": str(seconds)} if seconds is not None else None)


async def _answer_no_route(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        detail = f"no page {request.url.path[:60]!r}; POST /v1/predict and /v2/forecast predict, GET /docs lists everything"
    elif error.status_code == 405:
        detail = f"{request.url.path[:60]!r} does not take {request.method}; GET /docs says what each page takes"
    else:
        detail = str(error.detail)
    return JSONResponse({"detail": detail}, error.status_code, error.headers)
