"""A predictor service answers its signals whatever its parent did with them: a mask of blocked signals is inherited."""

from __future__ import annotations

import signal

import pytest

from tests.integration.predictor_service_process import Service

pytestmark = pytest.mark.integration

ENDING = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize("number", ENDING)
def test_a_parent_that_blocks_signals_can_end_it_with_one(number: signal.Signals) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        service = Service("--workers", "1")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        service.family = service.process.children(recursive=True)
        service.process.send_signal(number)
        assert service.wait_ended() == 0
    finally:
        service.clean_up()
