"""No test leaves a worker process behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.running import no_children


@pytest.fixture(autouse=True)
def _no_orphans() -> Iterator[None]:
    yield
    no_children()
