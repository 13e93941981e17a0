"""What is said where the server's package is not installed."""

from __future__ import annotations

import importlib
import sys

import pytest

from pasps.errors import InvalidError


def test_without_uvicorn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for module in ("transport.http_server", "connectors.http_intake", "connectors.http_in"):
        monkeypatch.delitem(sys.modules, f"pasps.{module}", raising=False)
    with pytest.raises(InvalidError, match=r"^HttpSpout needs uvicorn, which cannot be imported \(.*\); pip install 'pasps\[http\]'$"):
        importlib.import_module("pasps.connectors.http_in")
