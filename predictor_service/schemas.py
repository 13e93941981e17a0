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
from predictor_service.trained.manifest import Judged

MOST_HORIZON = 10_000
LARGEST = 1e15

MOST_SERIES = 100
MOST_SUMMED = 3_600
MOST_LEVELS = 19
MOST_ID_CHARACTERS = 200
MOST_ANSWERED = 1_000_000
"""Numbers in one answer."""

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


_STEP = Annotated[float, Field(strict=True, gt=0, le=1e9, allow_inf_nan=False)]
_STEP_WORDS = "a number of seconds above 0: how long each step is"

Level = Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)]

_ITEM_WORDS = {"samples": _SAMPLE_WORDS, "quantiles": "a number between 0 and 1", "series": "an object with 'id' and 'samples'"}


class PredictRequest(BaseModel):
    """What `POST /v1/predict` takes."""

    # "forbid" would make an error of each unknown field: `parsed` refuses them all at once
    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False}, protected_namespaces=())

    model: Annotated[str, Field(strict=True, max_length=MOST_NAME_CHARACTERS)] = Field(description=_MODEL_WORDS, examples=["lr"])
    samples: Samples = _SAMPLES
    horizon: _HORIZON = Field(description=_HORIZON_WORDS, examples=[3])
    step_seconds: _STEP = Field(default=1.0, description=_STEP_WORDS)


class Series(BaseModel):
    """One series of `POST /v2/forecast`."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False})

    id: Annotated[str, Field(strict=True, min_length=1, max_length=MOST_ID_CHARACTERS)] = Field(
        description=f"what you call the series, 1 to {MOST_ID_CHARACTERS} characters; it comes back with the answer", examples=["input"]
    )
    samples: Samples = _SAMPLES
    end_time: Annotated[float, Field(strict=True, ge=0, le=LARGEST, allow_inf_nan=False)] | None = Field(
        default=None, description="when the last step ended, in seconds since 1970, or null; it comes back with the answer"
    )
    step_seconds: _STEP = Field(default=1.0, description=_STEP_WORDS)


class ForecastRequest(BaseModel):
    """What `POST /v2/forecast` takes."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False}, protected_namespaces=())

    series: Annotated[list[Series], FailFast(), Field(strict=True, min_length=1, max_length=MOST_SERIES)] = Field(
        description=f"a list of 1 to {MOST_SERIES} objects, each with 'id' and 'samples'"
    )
    horizon: Annotated[int, Field(strict=True, ge=1, le=MOST_SUMMED)] = Field(
        description=f"a whole number of steps from 1 to {MOST_SUMMED:,}", examples=[30]
    )
    model: Annotated[str, Field(strict=True, max_length=MOST_NAME_CHARACTERS)] | None = Field(
        default=None, description=_MODEL_WORDS + "; not needed with 'artifact'", examples=["auto"]
    )
    quantiles: Annotated[list[Level], FailFast(), Field(strict=True, max_length=MOST_LEVELS)] = Field(
        default=[0.1, 0.5, 0.9], description=f"a list of up to {MOST_LEVELS} numbers between 0 and 1: the quantiles of the running sum"
    )
    artifact: Annotated[str, Field(strict=True, min_length=1, max_length=MOST_ID_CHARACTERS)] | None = Field(
        default=None, description="the name of a trained model, as GET /v1/artifacts lists them, or null"
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


class SeriesReply(BaseModel):
    """One series of the answer: `mean` has one number a step; `cumulative_quantiles`, for each level, one for the sum up to each step."""

    model_config = ConfigDict(protected_namespaces=())

    id: str
    model: str
    artifact: str | None
    step_seconds: float
    end_time: float | None
    mean: list[float]
    cumulative_quantiles: list[list[float]] = Field(description="in the order of `quantiles`; of sums, since quantiles do not add")
    fit_seconds: float
    warnings: list[str]


class ForecastReply(BaseModel):
    """What `POST /v2/forecast` answers: the series in the order in which they were sent."""

    quantiles: list[float]
    series: list[SeriesReply]


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


class ArtifactReply(BaseModel):
    """One trained model of `GET /v1/artifacts`; with a `problem` nothing else is known of it."""

    name: str
    problem: str | None = None
    model: str | None = None
    window: int | None = None
    horizon: int | None = None
    step_seconds: float | None = None
    trace: str | None = None
    metrics: Judged | None = None


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
    if isinstance(asked, ForecastRequest):
        _check_series(asked)
    return asked


def _check_series(asked: ForecastRequest) -> None:
    """What no single field tells.

    Raises:
        InvalidRequestError: says which series or field.
    """
    seen: dict[str, int] = {}
    for place, one in enumerate(asked.series):
        if one.model_extra:
            raise InvalidRequestError(f"series[{place}]: {_unknown(Series, one.model_extra)}")
        if seen.setdefault(one.id, place) != place:
            raise InvalidRequestError(
                f"series[{place}].id: {_shown(one.id)} is the id of series[{seen[one.id]}] too; give each series an id of its own"
            )
    numbers = len(asked.series) * asked.horizon * (1 + len(asked.quantiles))
    if numbers > MOST_ANSWERED:
        got = f"{len(asked.series)} series of {asked.horizon:,} steps with {len(asked.quantiles)} quantiles make {numbers:,}"
        raise InvalidRequestError(f"body: an answer has at most {MOST_ANSWERED:,} numbers; {got}; ask for less at once")
    if asked.model is None and asked.artifact is None:
        raise InvalidRequestError(f"model: missing; expected {_MODEL_WORDS}, or an 'artifact'")


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
    where = "".join(f".{step}" if isinstance(step, str) else f"[{step}]" for step in place).removeprefix(".")
    expected = _expected(kind, place)
    if what == "missing":
        return f"{where}: missing; expected {expected}"
    length = f" of {len(got):,}" if what in {"too_long", "string_too_long"} else ""
    return f"{where}: expected {expected}; got {_shown(got)}{length}"


def _expected(kind: type[BaseModel], place: tuple[int | str, ...]) -> str | None:
    """The words for a field, one of its items, or a field of one of its items."""
    names = [step for step in place if isinstance(step, str)]
    if isinstance(place[-1], int):
        return _ITEM_WORDS[names[-1]]
    owner = Series if len(names) > 1 else kind
    return owner.model_fields[names[-1]].description


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
