"""When Python looks for garbage as usual again."""

from __future__ import annotations

import gc

from pasps.garbage import collected_seldom


def test_of_several_that_overlap_the_last_puts_things_back_in_whatever_order_they_end() -> None:
    usual = gc.get_threshold()
    first, second = collected_seldom(), collected_seldom()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() != usual
    second.__exit__(None, None, None)
    assert gc.get_threshold() == usual
