"""Artifacts for tests: trained in a fraction of a second on a toy series, whole or spoiled."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from predictor_service.trained.artifact import write
from predictor_service.trained.artifacts import MANIFEST_NAME, WEIGHTS_NAME
from predictor_service.trained.learning import Course
from predictor_service.trained.training import Plan, Trained, train

WINDOW, HORIZON = 8, 3


@cache
def toy_rows(count: int = 240) -> tuple[float, ...]:
    noise = random.Random(3)
    return tuple(100 + 40 * math.sin(step / 5) + noise.gauss(0, 3) for step in range(count))


def toy_plan(model: str, **fields: Any) -> Plan:
    return Plan(**{"model": model, "window": WINDOW, "horizon": HORIZON, "units": 4, "course": Course(epochs=3, batch=64), **fields})


@cache
def toy(model: str = "gru", step_seconds: float = 1.0) -> Trained:
    return train(toy_rows(), step_seconds, "toy.csv", toy_plan(model), lambda text: None)


def toy_artifact(directory: Path, name: str = "mine", model: str = "gru", step_seconds: float = 1.0) -> Path:
    """The directory of artifacts, with one of that name in it."""
    found = toy(model, step_seconds)
    write(found.manifest, found.weights, directory / name)
    return directory


def spoil_manifest(path: Path, changes: Mapping[str, Any]) -> None:
    """Changes fields, `a.b.0` for those of fields, or takes them away (None)."""
    content = json.loads((path / MANIFEST_NAME).read_text())
    for where, value in changes.items():
        *steps, last = where.split(".")
        part = content
        for step in steps:
            part = part[int(step) if isinstance(part, list) else step]
        if value is None:
            del part[last]
        else:
            part[int(last) if isinstance(part, list) else last] = value
    (path / MANIFEST_NAME).write_text(json.dumps(content))


def replace_weights(path: Path, content: bytes) -> None:
    """Other weights, which the manifest knows: only what they hold can be wrong with them."""
    (path / WEIGHTS_NAME).write_bytes(content)
    spoil_manifest(path, {"weights.bytes": len(content), "weights.sha256": hashlib.sha256(content).hexdigest()})
