from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pasps import EndOfInput, Spout, Topology
from pasps.errors import InvalidError, PaspsError
from pasps.testing import complete_topology
from topologies.dns.classifier import MALFORMED, MODEL_FILE, Classifier, Classify, Model, read_model
from topologies.dns.flow_features import FEATURES, Features
from topologies.dns.parsing import Message
from topologies.dns.train import TRAINING_SEEDS, accuracy, examples, fit, main, model_of

HELD_OUT = 31


def test_the_model_is_right_about_traffic_it_has_not_seen() -> None:
    assert HELD_OUT not in TRAINING_SEEDS
    vectors, labels = examples(HELD_OUT, 1200)
    model = read_model(MODEL_FILE)
    assert accuracy(model, vectors, labels) > 0.97
    found = [label for label, _ in Classifier(model).classify(vectors)]
    for kind in set(labels):
        right = sum(one == other == kind for one, other in zip(found, labels, strict=True))
        assert right > 0.9 * labels.count(kind), kind
        assert right > 0.9 * found.count(kind), kind


def test_numpy_gives_what_scikit_learn_gives() -> None:
    vectors, labels = examples(HELD_OUT, 600)
    scaler, estimator = fit(vectors, labels)
    model = model_of(scaler, estimator, {})
    expected = estimator.predict_proba(scaler.transform(np.array(vectors)))
    np.testing.assert_allclose(Classifier(model).probabilities(vectors), expected, atol=1e-5)
    assert model.classes == tuple(estimator.classes_)


def test_a_batch_gives_what_its_vectors_give_one_by_one() -> None:
    vectors, _ = examples(HELD_OUT, 100)
    known = Classifier(read_model(MODEL_FILE))
    assert known.classify(vectors) == [known.classify([vector])[0] for vector in vectors]
    assert known.classify([]) == []
    assert all(0 < score <= 1 for _, score in known.classify(vectors))


def test_far_out_numbers_have_a_class_too() -> None:
    (found,) = Classifier(read_model(MODEL_FILE)).classify([[1e12] * len(FEATURES)])
    assert found[1] == 1.0


def test_training_writes_a_model_that_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.json"
    assert main(["--events", "240", "--output", str(path)]) == 0
    model = read_model(path)
    assert model.features == FEATURES
    assert model.origin["held_out_accuracy"] > 0.5
    assert "accuracy" in capsys.readouterr().out


def changed(**fields: Any) -> str:
    return json.dumps(json.loads(MODEL_FILE.read_text()) | fields)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: "nonsense", "is none"),
        (lambda: "[]", "is none"),
        (lambda: "{}", "is none"),
        (lambda: changed(schema="pasps.dns-model/0"), "expected the schema"),
        (lambda: changed(features=["messages"]), "other features"),
        (lambda: changed(means=["x"]), "is none"),
        (lambda: changed(scales=[1.0]), "17"),
        (lambda: changed(intercepts=[0.0]), "3"),
    ],
)
def test_what_is_no_model_is_refused(make: Callable[[], str], problem: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(make())
    with pytest.raises(InvalidError, match=rf"model '.*model\.json'.*{problem}.*topologies\.dns\.train"):
        read_model(path)


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match=r"none\.json' cannot be read.*topologies\.dns\.train"):
        read_model(tmp_path / "none.json")


class Described(Spout):
    outputs = Features.outputs

    def next_tuple(self) -> float | None:
        raise EndOfInput  # a list takes its place


class Classified(Topology):
    described = Described.spec()
    classify = Classify.spec(inputs=[described])


def test_the_bolt_takes_messages_with_and_without_numbers() -> None:
    vectors, _ = examples(HELD_OUT, 3)
    rows = [[0, "a>b", 1.0, Message(9), vectors[0]], [1, "a>b", 1.0, Message(3, problem="ShortHeader"), None]]
    rows += [[2, "a>b", 2.0, Message(9), vectors[2]]]
    done = complete_topology(Classified, {"described": rows})
    found = {row[0]: row[4:] for row in done.rows("classify")}
    assert found[1] == (MALFORMED, 1.0)
    known = Classifier(read_model(MODEL_FILE))
    assert [found[0], found[2]] == known.classify([vectors[0], vectors[2]])


def test_a_model_of_the_users_own_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    model = read_model(MODEL_FILE)
    Model(**{**vars(model), "classes": ("x", "y", "z")}).write(path)
    rows = [[0, "a>b", 1.0, Message(9), [0.0] * len(FEATURES)]]
    done = complete_topology(Classified, {"described": rows}, config={"dns.model": str(path)})
    assert done.rows("classify")[0][4] in ("x", "y", "z")
    with pytest.raises(PaspsError, match=r"none\.json"):
        complete_topology(Classified, {"described": rows}, config={"dns.model": str(tmp_path / "none.json")})
