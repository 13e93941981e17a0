"""One artifact: a manifest, and arrays that a pickle never was. Written whole or not at all; read as if a stranger had written it."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import shutil
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from predictor_service.errors import ArtifactError, TrainingError
from predictor_service.trained.arima import Order
from predictor_service.trained.artifacts import MANIFEST_NAME, WEIGHTS_NAME, Artifacts, Place, read_bounded
from predictor_service.trained.form import Array, Arrays, Form
from predictor_service.trained.manifest import MOST_NUMBERS, Autoregressive, Manifest, Vectors, check_name
from predictor_service.trained.networks import Architecture
from predictor_service.trained.support_vectors import Kernel

_MOST_HEADER = 1_024
"""Bytes before an array's numbers."""
_LARGEST_WEIGHT = 1e9
_MOST_KEPT = 32
_DTYPE = np.dtype("<f4")

_NO_ARRAYS = (
    *(ValueError, TypeError, KeyError, EOFError, OSError, RuntimeError, MemoryError, SyntaxError),
    *(struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What bytes that are no arrays make of zipfile and numpy, whose header is Python's literals."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Artifact:
    """A model that was trained, ready to forecast."""

    name: str
    manifest: Manifest
    arrays: Arrays

    def predictions(self, windows: Array) -> Array:
        """What comes after each window (rows of scaled samples, oldest first), scaled: a row of `horizon` steps each."""
        return form_of(self.manifest).predictions(self.arrays, windows)

    def predict(self, samples: Sequence[float], horizon: int, step_seconds: float) -> Sequence[float]:
        """As a `Model`'s. Beyond its horizon it goes on from its own forecasts."""
        scaler, window = self.manifest.scaler, self.manifest.window
        span = scaler.high - scaler.low
        known = (np.asarray(samples[-window:], dtype=np.float64) - scaler.low) / span
        said = np.empty(0)
        while len(said) < horizon:
            recent = np.concatenate([known, said])[-window:]
            said = np.concatenate([said, self.predictions(recent[np.newaxis].astype(np.float32))[0]])
        coming: list[float] = (said[:horizon] * span + scaler.low).tolist()
        return coming


def form_of(manifest: Manifest) -> Form:
    """What the model of that manifest is but for its numbers."""
    parameters = manifest.parameters
    if isinstance(parameters, Autoregressive):
        return Order(parameters.p, parameters.d, parameters.q, manifest.horizon)
    if isinstance(parameters, Vectors):
        return Kernel(parameters.vectors, parameters.gamma, manifest.window, manifest.horizon)
    return network(manifest.model, parameters.units, parameters.layers, manifest.horizon)


def network(model: str, units: int, layers: int, horizon: int) -> Architecture:
    """What the network of that name looks like: `bigru` is a GRU that reads both ways."""
    return Architecture("gru" if model.endswith("gru") else "lstm", model.startswith("bi"), units, layers, horizon)


def packed(arrays: Arrays) -> bytes:
    """The arrays as an .npz without compression; the same arrays are the same bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, values in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, np.ascontiguousarray(values, dtype=_DTYPE), version=(1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), part.getvalue())
    return file.getvalue()


def write(manifest: Manifest, weights: bytes, directory: Path, *, overwrite: bool = False) -> None:
    """Make the artifact's directory, whose name is the artifact's.

    Raises:
        TrainingError: it is there already, or cannot be made.
    """
    check_free(directory, overwrite=overwrite)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
        try:
            made.chmod(0o777 & ~_umask())
            (made / WEIGHTS_NAME).write_bytes(weights)
            (made / MANIFEST_NAME).write_text(manifest.model_dump_json(indent=1) + "\n", encoding="utf-8")
            if overwrite and directory.exists():
                old = Path(mkdtemp(prefix=f".{directory.name}-old-", dir=directory.parent))
                directory.rename(old / directory.name)
                made.rename(directory)
                shutil.rmtree(old)
            else:
                made.rename(directory)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise TrainingError(f"{directory}: the artifact cannot be written: {error.strerror or error}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def check_free(directory: Path, *, overwrite: bool) -> None:
    """Whether an artifact may be written there; asked before it is trained, too.

    Raises:
        TrainingError: its name is none, something is there, or what is there is no artifact and would be lost.
    """
    try:
        check_name(directory.name)
    except ArtifactError as error:
        raise TrainingError(f"--out {directory}: its last part names the {error.detail}") from None
    if not directory.exists():
        return
    if not overwrite:
        raise TrainingError(f"--out {directory}: it is there already; give another name, or --overwrite to replace it")
    if not directory.is_dir() or {entry.name for entry in directory.iterdir()} != {MANIFEST_NAME, WEIGHTS_NAME}:
        raise TrainingError(f"--out {directory}: what is there is no artifact, and is not replaced; give another name")


def load(artifacts: Artifacts, name: str) -> Artifact:
    """The artifact of that name, whole.

    Raises:
        ArtifactError: as `Artifacts.find`, or its arrays are not what its manifest says, or no numbers to compute with.
    """
    place, manifest = artifacts.find(name)
    return read(place.name, manifest, Path(place.path))


def read(name: str, manifest: Manifest, path: Path) -> Artifact:
    """What stands in the directory, checked against the manifest.

    Raises:
        ArtifactError: says what is not as it should be.
    """
    wanted = form_of(manifest).shapes()
    numbers = sum(_size(shape) for shape in wanted.values())
    if numbers > MOST_NUMBERS:
        raise ArtifactError(f"artifact {name!r}: its arrays would have {numbers:,} numbers, at most {MOST_NUMBERS:,} are read")
    most = 4 * numbers + (_MOST_HEADER + 512) * (len(wanted) + 1)
    content = read_bounded(name, path / WEIGHTS_NAME, most)
    if len(content) != manifest.weights.bytes or hashlib.sha256(content).hexdigest() != manifest.weights.sha256:
        raise ArtifactError(f"artifact {name!r}: {WEIGHTS_NAME} is not the file that its manifest was written with; copy both again")
    try:
        return Artifact(name, manifest, _arrays(content, wanted))
    except _NO_ARRAYS as error:
        raise ArtifactError(f"artifact {name!r}: {WEIGHTS_NAME} does not hold the arrays of its model: {str(error)[:200]}") from error


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def _arrays(content: bytes, wanted: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Nothing is allocated that was not expected, and nothing is read that is no plain array of 32-bit floats."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
        if sorted(part.filename for part in parts) != sorted(f"{name}.npy" for name in wanted):
            raise ValueError(f"expected the arrays {', '.join(wanted)}")
        found = {}
        for part in parts:
            name = part.filename.removesuffix(".npy")
            bytes_of_numbers = 4 * _size(wanted[name])
            if part.compress_type != zipfile.ZIP_STORED or not 0 < part.file_size - bytes_of_numbers <= _MOST_HEADER:
                raise ValueError(f"expected {name} with {_size(wanted[name]):,} numbers, not compressed")
            found[name] = _array(archive.read(part), name, wanted[name])
    return {name: found[name] for name in wanted}


def _array(content: bytes, name: str, shape: tuple[int, ...]) -> Array:
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError(f"expected {name} in version 1.0 of the format")
    got, in_columns, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=_MOST_HEADER)
    if got != shape or in_columns or dtype != _DTYPE:
        raise ValueError(f"expected {name} as 32-bit floats of shape {shape}, got {dtype} of shape {got}")
    values = np.frombuffer(file.read(), dtype=_DTYPE).reshape(shape)
    if not np.isfinite(values).all() or (values.size and float(np.abs(values).max()) > _LARGEST_WEIGHT):
        raise ValueError(f"expected finite numbers of at most {_LARGEST_WEIGHT:g} in {name}")
    found: Array = values
    return found


class Loaded:
    """Artifacts that were read, so that nobody waits for a file twice. One that has changed since is read anew."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Place, Artifact]] = {}

    def load_all(self, artifacts: Artifacts) -> None:
        """Read as many of them as are kept; one that cannot be read is told of, and again when it is asked for."""
        try:
            names = artifacts.names()[:_MOST_KEPT]
        except ArtifactError as error:
            _log.warning("%s", error.detail)
            return
        for name in names:
            try:
                self.artifact(artifacts.find(name)[0])
            except ArtifactError as error:
                _log.warning("%s", error.detail)

    def artifact(self, place: Place) -> Artifact:
        """The one at that place.

        Raises:
            ArtifactError: as `load`, or it was changed after it was found there: ask again.
        """
        kept = self._kept.pop(place.path, None)
        if kept is None or kept[0] != place:
            path = Path(place.path)
            found, manifest = Artifacts(path.parent).find(place.name)
            if found != place:
                raise ArtifactError(f"artifact {place.name!r} was replaced a moment ago; ask again")
            kept = found, read(place.name, manifest, path)
        self._kept[place.path] = kept
        while len(self._kept) > _MOST_KEPT or sum(_numbers(each) for _, each in self._kept.values()) > 4 * MOST_NUMBERS:
            del self._kept[next(iter(self._kept))]  # that which was not asked for longest
        return kept[1]


def _numbers(artifact: Artifact) -> int:
    return sum(values.size for values in artifact.arrays.values())
