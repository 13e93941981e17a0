"""What an artifact says of itself: its manifest, checked word by word, since it may come from a stranger. No numpy: the server reads it."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from predictor_service.errors import ArtifactError

VERSION = 1
ModelName = Literal["arima", "svr", "lstm", "gru", "bilstm", "bigru"]
MODELS: tuple[ModelName, ...] = get_args(ModelName)

MOST_WINDOW = 2_000
MOST_STEPS = 1_000
MOST_UNITS = 512
MOST_LAYERS = 4
MOST_VECTORS = 10_000
MOST_NUMBERS = 16 * 2**20
"""Of all its arrays together."""
MOST_MANIFEST_BYTES = 2**18
MOST_NAME_CHARACTERS = 64
LARGEST = 1e30

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_MOST_PROBLEMS = 3
_SHOWN_CHARACTERS = 60


def check_name(name: str) -> None:
    """Whether an artifact may be called so: a name is a directory's, and nothing else is reached by it.

    Raises:
        ArtifactError: it may not.
    """
    if len(name) > MOST_NAME_CHARACTERS or not _NAME.fullmatch(name):
        raise ArtifactError(
            f"artifact: expected a name that begins with a letter, of at most {MOST_NAME_CHARACTERS} letters, digits, '-' and '_'; "
            f"got {name[:_SHOWN_CHARACTERS]!r}"
        )


Count = Annotated[int, Field(ge=0, le=10**9)]
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
Error = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, Field(max_length=255)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, protected_namespaces=())


class Scaler(_Part):
    """Min-max, by the training part alone; `mean` and `deviation`, of the same rows, are for errors as z-scores."""

    low: Number
    high: Number
    mean: Number
    deviation: Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]

    @model_validator(mode="after")
    def _check_order(self) -> Scaler:
        if not self.low < self.high:
            raise ValueError(f"expected low below high, got {self.low:g} and {self.high:g}")
        return self


class Recurrent(_Part):
    """Of `lstm`, `gru`, `bilstm` and `bigru`."""

    kind: Literal["recurrent"] = "recurrent"
    units: Annotated[int, Field(ge=1, le=MOST_UNITS)]
    layers: Annotated[int, Field(ge=1, le=MOST_LAYERS)]


class Autoregressive(_Part):
    """Of `arima`: its order."""

    kind: Literal["autoregressive"] = "autoregressive"
    p: Annotated[int, Field(ge=0, le=100)]
    d: Annotated[int, Field(ge=0, le=1)]
    q: Annotated[int, Field(ge=0, le=100)]


class Vectors(_Part):
    """Of `svr`: how many windows stand for what was learned, and how far each reaches."""

    kind: Literal["vectors"] = "vectors"
    vectors: Annotated[int, Field(ge=1, le=MOST_VECTORS)]
    gamma: Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]


class Learning(_Part):
    """How it came to be; what a model does not have is null."""

    seed: Annotated[int, Field(ge=0, le=2**63)]
    training_rows: Count
    validation_rows: Count
    test_rows: Count
    epochs: Count | None = None
    learning_rate: Error | None = None
    batch: Count | None = None


class Trace(_Part):
    """The rows it was trained on: the file's name, and the hash of the rows as they were used."""

    name: Text
    sha256: Hash


class Metrics(_Part):
    """Root mean square and mean absolute error of all steps up to the horizon, on the min-max scale and as z-scores.

    `covered` is the share of sums over the horizon that lay within the 80% interval.
    """

    rmse: Error
    mae: Error
    z_rmse: Error
    z_mae: Error
    covered: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None


class Judged(_Part):
    """The model on the validation part, which it was chosen by, and on the test part, which it never saw; and "as now" on the latter."""

    validation: Metrics
    test: Metrics
    naive_test: Metrics


class Residuals(_Part):
    """How far sums of the first so many steps lay above their forecasts on the validation part: a list for each horizon, by level."""

    levels: Annotated[list[Annotated[float, Field(gt=0, lt=1)]], Field(min_length=2, max_length=99)]
    horizons: Annotated[list[Annotated[int, Field(ge=1, le=MOST_STEPS)]], Field(min_length=1, max_length=100)]
    offsets: Annotated[list[Annotated[list[Number], Field(max_length=99)]], Field(max_length=100)]

    @model_validator(mode="after")
    def _check_table(self) -> Residuals:
        for name in ("levels", "horizons"):
            values = getattr(self, name)
            if sorted(set(values)) != values:
                raise ValueError(f"expected {name} that rise")
        if len(self.offsets) != len(self.horizons) or any(len(line) != len(self.levels) for line in self.offsets):
            raise ValueError(f"expected offsets of {len(self.horizons)} horizons, each of {len(self.levels)} levels")
        if any(sorted(line) != line for line in self.offsets):
            raise ValueError("expected offsets that do not fall from level to level")
        return self


class Weights(_Part):
    """The file beside the manifest: what it must be, byte by byte."""

    sha256: Hash
    bytes: Annotated[int, Field(ge=1, le=4 * MOST_NUMBERS + 2**20)]


class Manifest(_Part):
    """One artifact. Samples are counts of steps of `step_seconds`; it needs `window` of them and says `horizon` at once."""

    format: Literal["pasps-artifact"] = "pasps-artifact"
    version: Literal[1] = 1
    model: ModelName
    window: Annotated[int, Field(ge=2, le=MOST_WINDOW)]
    horizon: Annotated[int, Field(ge=1, le=MOST_STEPS)]
    step_seconds: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
    scaler: Scaler
    parameters: Annotated[Recurrent | Autoregressive | Vectors, Field(discriminator="kind")]
    learning: Learning
    trace: Trace
    metrics: Judged
    residuals: Residuals
    libraries: Annotated[dict[Text, Text], Field(max_length=20)]
    weights: Weights

    @model_validator(mode="after")
    def _check_together(self) -> Manifest:
        kind = {"arima": "autoregressive", "svr": "vectors"}.get(self.model, "recurrent")
        if self.parameters.kind != kind:
            raise ValueError(f"expected parameters of kind {kind!r} for model {self.model!r}, got {self.parameters.kind!r}")
        if isinstance(self.parameters, Autoregressive) and self.parameters.p + self.parameters.d >= self.window:
            raise ValueError(f"expected a window of more than p + d = {self.parameters.p + self.parameters.d} samples, got {self.window}")
        if self.residuals.horizons[-1] > self.horizon:
            raise ValueError(f"expected residuals up to the horizon of {self.horizon}, got some of {self.residuals.horizons[-1]}")
        return self


def parsed(name: str, content: bytes) -> Manifest:
    """The manifest of the artifact of that name.

    Raises:
        ArtifactError: it is none; says which field is wrong.
    """
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        texts = [f"{_place(one['loc'])}: {one['msg']}" for one in found[:_MOST_PROBLEMS]]
        more = f"; and {len(found) - _MOST_PROBLEMS} more" if len(found) > _MOST_PROBLEMS else ""
        raise ArtifactError(
            f"artifact {name!r}: its manifest is none of version {VERSION} ({'; '.join(texts)}{more}); train it anew with this version"
        ) from None


def _place(steps: tuple[int | str, ...]) -> str:
    # the names of fields that are none come from the file itself
    return ".".join(str(step)[:_SHOWN_CHARACTERS] for step in steps) or "as a whole"
