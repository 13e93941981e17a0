"""For all tests: the integration mark, and runs that repeat: what is drawn depends on the test alone.

`make fuzz` draws anew, under Hypothesis' profile `fuzz`; a failure it finds becomes an `@example`.
"""

from __future__ import annotations

import atexit
import os
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.constants_ast import Constants

INTEGRATION = Path(__file__).parent / "integration"

# runs of the tests are kept apart from those of whoever starts them; a short path, for the sockets in it
for _name in ("PASPS_MASTER", "PASPS_TOKEN"):
    os.environ.pop(_name, None)  # no test may reach a cluster of whoever starts them
os.environ["PASPS_HOME"] = tempfile.mkdtemp(prefix="pasps-home-")
atexit.register(shutil.rmtree, os.environ["PASPS_HOME"], ignore_errors=True)

settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("fuzz", deadline=None, max_examples=500, print_blob=True)
settings.load_profile("repeatable")


@pytest.hookimpl(trylast=True)  # once the option of the profile is read
def pytest_configure() -> None:
    if settings.get_current_profile_name() == "repeatable":
        # Hypothesis also draws the constants of whatever modules this process has loaded so far: others with other tests before this one
        pytest.MonkeyPatch().setattr("hypothesis.internal.conjecture.providers._get_local_constants", Constants)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if settings.get_current_profile_name() == "repeatable":
        random.seed(item.name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(INTEGRATION):
            item.add_marker(pytest.mark.integration)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(300))  # for what hangs: servers may start slowly where others are busy too
