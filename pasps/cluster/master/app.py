"""The master's HTTP API. Everything but `/healthz` needs the token, and is done by the leader."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from pasps.cluster.master.answers import answer_http, answer_pasps, answer_rest
from pasps.cluster.master.body import read_json, save
from pasps.cluster.master.endings import Endings
from pasps.cluster.master.guard import LeaderGuard, TokenGuard
from pasps.cluster.master.leadership import Leadership
from pasps.cluster.master.rebalance import Rebalances
from pasps.cluster.master.records import Rebalance
from pasps.cluster.master.submissions import Submissions
from pasps.cluster.master.topologies import Topologies
from pasps.cluster.store.contract import Store
from pasps.errors import PaspsError


@dataclass(frozen=True, slots=True)
class Parts:
    """What answers requests. `incoming` is a directory for packages on their way in."""

    store: Store
    leadership: Leadership
    submissions: Submissions
    topologies: Topologies
    rebalances: Rebalances
    endings: Endings
    incoming: Path


def create_app(parts: Parts, token: str) -> FastAPI:
    """The application; a request passes the token's guard, then the leader's, then its route."""
    # no page for people: those load scripts from elsewhere
    app = FastAPI(title="pasps master", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.include_router(_Routes(parts).router())
    app.add_exception_handler(PaspsError, answer_pasps)
    app.add_exception_handler(HTTPException, answer_http)
    app.add_exception_handler(Exception, answer_rest)
    # the last one added is the first one passed
    app.add_middleware(LeaderGuard, leadership=parts.leadership)
    app.add_middleware(TokenGuard, token=token)
    return app


class _Routes:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def router(self) -> APIRouter:
        router = APIRouter(redirect_slashes=False)
        routes: list[tuple[str, str, Callable[..., Any]]] = [
            ("GET", "/healthz", self.health),
            ("POST", "/v1/topologies", self.submit),
            ("GET", "/v1/topologies", self.all),
            ("GET", "/v1/topologies/{name}", self.one),
            ("POST", "/v1/topologies/{name}/verbs/{verb}", self.verb),
            ("POST", "/v1/topologies/{name}/rebalance", self.rebalance),
            ("GET", "/v1/ended", self.ended),
        ]
        for method, path, function in routes:
            router.add_api_route(path, function, methods=[method], response_model=None)
        return router

    async def health(self) -> Response:
        leader = None
        if self._parts.store.connected:
            try:
                leader = await self._parts.leadership.leader()
            except PaspsError:
                leader = None
        ok = self._parts.store.connected
        told = {"ok": ok, "leads": self._parts.leadership.leads, "leader": leader.url if leader else None}
        return _json(told, 200 if ok else 503)

    async def submit(self, request: Request) -> Response:
        package = self._parts.incoming / f"{secrets.token_hex(16)}.zip"
        try:
            sha256 = await save(request, package)
            submitted = await self._parts.submissions.accept(package, sha256)
        finally:
            package.unlink(missing_ok=True)
        return _json(submitted, 201)

    async def all(self) -> Response:
        return _json({"topologies": await self._parts.topologies.all()})

    async def one(self, name: str) -> Response:
        return _json(await self._parts.topologies.one(name))

    async def verb(self, name: str, verb: str, request: Request) -> Response:
        arguments: Mapping[str, Any] = await read_json(request, dict[str, Any])
        return _json({"result": await self._parts.topologies.verb(name, verb, arguments)})

    async def rebalance(self, name: str, request: Request) -> Response:
        await self._parts.rebalances.rebalance(name, await read_json(request, Rebalance))
        return _json({"name": name}, 202)

    async def ended(self) -> Response:
        return _json({"ended": await self._parts.endings.ended()})


def _json(told: Any, status: int = 200) -> Response:
    # it may be megabytes: status, or a part of a file
    return Response(msgspec.json.encode(told), status, media_type="application/json")
