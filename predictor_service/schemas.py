"""The JSON of the service: what is asked, what is answered, and what is said of a field that is wrong."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection
from itertools import islice
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError

from predictor_service.errors import InvalidRequestError
from predictor_service.model import MOST_NAME_CHARACTERS, MOST_SAMPLES

MOST_HORIZON = 10_000
LARGEST = 1e15

_MOST_MARKS = {b":": 1_000, b"[": 1_000, b",": MOST_SAMPLES + 1_000}
"""Each field, list and item has one: to read a million of them takes so long that all other requests would wait."""

_MOST_PROBLEMS = 3
_SHOWN_ITEMS = 5
_SHOWN_CHARACTERS = 60

Asked = TypeVar("Asked", bound=BaseModel)

Sample = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-LARGEST, le=LARGEST)]
Samples = Annotated[list[Sample], FailFast(), Field(strict=True, min_length=1, max_length=MOST_SAMPLES)]

_SAMPLE_WORDS = f"a finite number from {-LARGEST:g} to {LARGEST:g}"
_SAMPLES = Field(
    description=f"a list of 1 to {MOST_SAMPLES:,} finite numbers, oldest first: how many events each step brought",
    examples=[[12, 15, 11, 18, 21]],
)
_HORIZON = Annotated[int, Field(strict=True, ge=1, le=MOST_HORIZON)]
_MODEL_WORDS = f"the name of a model, as GET /v1/models lists them, at most {MOST_NAME_CHARACTERS} characters"
_HORIZON_WORDS = f"a whole number of steps from 1 to {MOST_HORIZON:,}"


class PredictRequest(BaseModel):
    """What `POST /v1/predict` takes."""

    # "forbid" would make an error of each unknown field: `parsed` refuses them all at once
    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False}, protected_namespaces=())

    model: Annotated[str, Field(strict=True, max_length=MOST_NAME_CHARACTERS)] = Field(description=_MODEL_WORDS, examples=["lr"])
    samples: Samples = _SAMPLES
    horizon: _HORIZON = Field(description=_HORIZON_WORDS, examples=[3])
    step_seconds: Annotated[float, Field(strict=True, gt=0, le=1e9, allow_inf_nan=False)] = Field(
        default=1.0, description="a number of seconds above 0: how long each step is"
    )


class LegacyRequest(BaseModel):
    """What existing PA-SPS controllers send to `POST /<model>`."""

    samples: Samples = _SAMPLES
    prediction_number: _HORIZON = Field(description=_HORIZON_WORDS, examples=[3])


class PredictReply(BaseModel):
    """`predictions` has one number a step, finite and at least 0; `total` is their sum."""

    model_config = ConfigDict(protected_namespaces=())

    model: str
    predictions: list[float]
    total: float
    fit_seconds: float = Field(description="what the fit took, without waiting for a process")
    warnings: list[str] = Field(description="what to know before trusting the predictions; mostly empty")


class LegacyReply(BaseModel):
    """`avg_prediction` is the mean of `predictions`."""

    avg_prediction: float
    predictions: list[float]


class ModelReply(BaseModel):
    """One model of `GET /v1/models`."""

    name: str
    about: str
    parameters: dict[str, Any]
    least_samples: int
    most_samples: int


class Problem(BaseModel):
    """Every answer that is no forecast."""

    detail: str = Field(description="what was expected, what was got, and what to do")


def parsed(kind: type[Asked], body: bytes) -> Asked:
    """The request in this body.

    Raises:
        InvalidRequestError: it is no JSON, or a field is wrong; says which and what was expected.
    """
    _check_marks(kind, body)
    try:
        asked = kind.model_validate_json(body)
    except ValidationError as error:
        raise InvalidRequestError(_explained(kind, error)) from None
    if asked.model_extra:
        raise InvalidRequestError(_unknown(kind, asked.model_extra))
    return asked


def _check_marks(kind: type[BaseModel], body: bytes) -> None:
    for mark, most in _MOST_MARKS.items():
        if (count := body.count(mark)) > most:
            got = f"got {count:,} times {mark.decode()!r}, at most {most:,} are read"
            raise InvalidRequestError(f"{_expected_body(kind)}; {got}; send at most {MOST_SAMPLES:,} samples and no other fields")


def _explained(kind: type[BaseModel], error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False)
    texts = [_problem(kind, one["type"], one["loc"], one["msg"], one["input"]) for one in found[:_MOST_PROBLEMS]]
    if left_out := len(found) - len(texts):
        texts.append(f"and {left_out} more")
    # who misspells a field misses it
    whole: dict[str, Any] = next((one["input"] for one in found if one["type"] == "missing"), {})
    if kind.model_config.get("extra") == "allow" and (unknown := whole.keys() - kind.model_fields.keys()):
        texts.append(_unknown(kind, [name for name in whole if name in unknown]))
    return "; ".join(texts)


def _unknown(kind: type[BaseModel], names: Collection[str]) -> str:
    """Of the fields that this request does not have, the first."""
    name = next(iter(names))
    near = difflib.get_close_matches(name, kind.model_fields, n=1) if len(name) <= MOST_NAME_CHARACTERS else []
    cure = f"did you mean {near[0]!r}?" if near else "leave it out"
    more = f"; and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f"{name[:_SHOWN_CHARACTERS]!r}: no such field; {cure}{more}"


def _problem(kind: type[BaseModel], what: str, place: tuple[int | str, ...], words: str, got: Any) -> str:
    if not place:
        return f"{_expected_body(kind)}; " + (words if what == "json_invalid" else f"got {_shown(got)}")
    name = str(place[0])
    where = name + "".join(f"[{step}]" for step in place[1:])
    expected = kind.model_fields[name].description if len(place) == 1 else _SAMPLE_WORDS
    if what == "missing":
        return f"{where}: missing; expected {expected}"
    length = f" of {len(got):,}" if what in {"too_long", "string_too_long"} else ""
    return f"{where}: expected {expected}; got {_shown(got)}{length}"


def _expected_body(kind: type[BaseModel]) -> str:
    fields = ", ".join(repr(name) for name, field in kind.model_fields.items() if field.is_required())
    return f"body: expected a JSON object with {fields}"


def _shown(value: Any) -> str:
    """A value as JSON writes it, so far as one wants to read it."""
    if isinstance(value, list) and len(value) > _SHOWN_ITEMS:
        return "a list"
    if isinstance(value, int) and abs(value) >= LARGEST:
        return "a number of far too many digits"
    # piece by piece, each of a character or more: the whole may have millions
    text = "".join(islice(json.JSONEncoder(default=str).iterencode(value), _SHOWN_CHARACTERS + 1))
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
