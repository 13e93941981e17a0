from __future__ import annotations

import pasps.errors
from pasps.worker.tracebacks import users_traceback, without_our_frames

OURS = pasps.errors.__file__
TEXT = f"""worker w0 could not start:
Traceback (most recent call last):
  File "{OURS}", line 3, in initialize
    executor.initialize()
    ~~~~~~~~~~~~~~~~~~~^^
  File "/home/user/wc.py", line 7, in initialize
    raise ValueError("no")
ValueError: no
"""


def test_frames_of_ours_are_left_out_of_a_text() -> None:
    assert without_our_frames(TEXT) == TEXT.replace(TEXT[TEXT.index(f'  File "{OURS}') : TEXT.index('  File "/home')], "").rstrip()


def test_an_error_of_ours_alone_stays_whole() -> None:
    ours = f'Traceback (most recent call last):\n  File "{OURS}", line 3, in x\n    x()\nKeyError: 1'
    assert without_our_frames(ours) == ours
    assert without_our_frames("no traceback at all\n") == "no traceback at all"


def test_frames_of_ours_are_left_out_of_an_exception_and_of_its_cause() -> None:
    code = compile("raise KeyError(1)", OURS, "exec")
    try:
        try:
            exec(code)
        except KeyError as error:
            raise ValueError("no") from error
    except ValueError as error:
        text = users_traceback(error)
    assert OURS not in text
    assert "KeyError: 1" in text
    assert text.endswith("ValueError: no")
    assert __file__ in text
