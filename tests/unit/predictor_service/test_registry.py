"""Which models there are, and what is done with those of other packages that are of no use."""

from __future__ import annotations

import difflib
import logging
import subprocess
import sys
from importlib.metadata import EntryPoint
from importlib.util import find_spec

import pytest

from predictor_service.errors import InvalidRequestError
from predictor_service.model import Model
from predictor_service.registry import all_models, builtin_models, find, with_offered

OFFERED = Model(name="mine", about="", predict=lambda samples, horizon, step_seconds: [0.0] * horizon)
TAKEN = Model(name="lr", about="", predict=OFFERED.predict)
NOT_A_MODEL = object()


def point(attribute: str) -> EntryPoint:
    return EntryPoint("theirs", f"{__name__}:{attribute}", "predictor_service.models")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


def test_an_entry_point_adds_its_model() -> None:
    assert with_offered({}, [point("OFFERED")]) == {"mine": OFFERED}


@pytest.mark.parametrize(
    ("attribute", "told"),
    [("TAKEN", "the name 'lr' is taken"), ("NOT_A_MODEL", "expected a predictor_service.model.Model"), ("NOTHING", "AttributeError")],
)
def test_what_is_of_no_use_is_left_out_and_said(attribute: str, told: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert with_offered(builtin_models(), [point(attribute)]) == builtin_models()
    assert told in caplog.text
    assert "entry point 'theirs'" in caplog.text


def test_the_built_in_models_are_always_among_all() -> None:
    assert builtin_models().items() <= all_models().items()


@pytest.mark.skipif(find_spec("statsforecast") is not None, reason="statsforecast is installed here")
def test_a_model_whose_library_is_not_installed_is_not_there_and_says_why() -> None:
    assert "autoets" not in builtin_models()
    with pytest.raises(InvalidRequestError, match=r"'autoets' needs statsforecast, .*: pip install 'pasps\[statsforecast\]'"):
        find(builtin_models(), "autoets")


def test_a_name_that_is_nearly_right_gets_the_right_one() -> None:
    with pytest.raises(InvalidRequestError, match="no 'linear'; there are ann, ann-published, ar, auto, basic"):
        find(builtin_models(), "linear")
    with pytest.raises(InvalidRequestError, match="no 'RIGDE'; did you mean 'ridge'"):
        find(builtin_models(), "RIGDE")


def test_a_name_that_is_too_long_is_compared_with_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(difflib, "get_close_matches", lambda *given, n: pytest.fail("compared"))
    with pytest.raises(InvalidRequestError, match=r"no 'r{60}'; there are ann, ann-published, ar, auto, basic"):
        find(builtin_models(), "r" * 65)


@pytest.mark.parametrize(
    ("fields", "told"),
    [({"name": "A b"}, "name of small letters"), ({"cost": "cheap"}, "cost"), ({"least_samples": 0}, "least_samples")],
)
def test_a_model_that_says_nonsense_of_itself_is_refused(fields: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Model(**{"name": "fine", "about": "", "predict": OFFERED.predict, **fields})  # type: ignore[arg-type]


def test_the_server_knows_its_models_without_their_libraries() -> None:
    code = (
        "import sys, predictor_service.app, predictor_service.registry as r; r.all_models(); "
        "sys.exit(' '.join({'numpy', 'sklearn', 'darts', 'pandas', 'pasps'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert run.stderr == "\n"
