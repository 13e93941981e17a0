"""A library that is missing is named, with how to get it."""

from __future__ import annotations

import importlib
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from pasps.cluster.package.imports import sources_of
from pasps.errors import InvalidError
from topologies import needed

ROOT = Path(__file__).parents[3] / "topologies"


@pytest.mark.parametrize(
    ("application", "module", "package"),
    [
        ("logs", "drain3", "drain3"),
        ("dns", "dns", "dnspython"),
        ("dns", "numpy", "numpy"),
        ("twitter", "vaderSentiment", "vaderSentiment"),
        ("twitter", "numpy", "numpy"),
    ],
)
def test_an_application_without_a_library_says_what_to_install(
    application: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(name: str, *rest: Any) -> ModuleSpec | None:
        return None if name == module else ModuleSpec(name, None)

    loaded = importlib.import_module(f"topologies.{application}")
    # the libraries are installed where tests run
    monkeypatch.setattr(needed, "find_spec", found)
    with pytest.raises(InvalidError, match=rf"application '{application}' needs {package}, which .*pip install 'pasps\[apps\]'"):
        importlib.reload(loaded)


@pytest.mark.parametrize("file", ["logs/log_events.py", "dns/dns_traffic.py", "twitter/twitter.py", "twitter_complex/twitter_complex.py"])
def test_a_package_for_the_cluster_has_the_check_too(file: str) -> None:
    assert "topologies/needed.py" in sources_of(ROOT / file)
