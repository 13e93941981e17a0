"""For all tests: the integration mark, and Hypothesis runs that repeat.

`pytest --hypothesis-profile explore` tries new examples; a failure it finds becomes an `@example`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

INTEGRATION = Path(__file__).parent / "integration"

# runs of the tests are kept apart from those of whoever starts them; a short path, for the sockets in it
for _name in ("PASPS_MASTER", "PASPS_TOKEN"):
    os.environ.pop(_name, None)  # no test may reach a cluster of whoever starts them
os.environ["PASPS_HOME"] = tempfile.mkdtemp(prefix="pasps-home-")
atexit.register(shutil.rmtree, os.environ["PASPS_HOME"], ignore_errors=True)

settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(INTEGRATION):
            item.add_marker(pytest.mark.integration)
