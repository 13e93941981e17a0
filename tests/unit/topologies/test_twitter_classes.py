"""The classifiers: as scikit-learn has them, as good as they are said to be, and the same when they are trained again."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topologies.twitter
import topologies.twitter_complex
from topologies.twitter import train as train_users
from topologies.twitter.linear_model import LinearModel, model_of
from topologies.twitter.made_tweets import made_tweet
from topologies.twitter.people import PEOPLE, author, person
from topologies.twitter.profiles import NUMBERS, Profile
from topologies.twitter.training import Sample, accuracy, accuracy_on_new_texts, estimator, fitted, record_of, write
from topologies.twitter.user_class import MODEL, classified

UNKNOWN = Profile(screen_name="x", name="", description="", followers=None, friends=None, statuses=None, verified=False, age_days=None)


@pytest.fixture(scope="module")
def users() -> list[Sample]:
    return train_users.samples(600, 5)


def stored(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("classes", [7, 2])
@pytest.mark.parametrize("measured", [True, False])
def test_a_model_says_what_scikit_learn_says(users: list[Sample], classes: int, measured: bool) -> None:
    samples = [
        Sample(sample.tokens, sample.numbers if measured else (), sample.label if classes > 2 else str(sample.label == "press"))
        for sample in users
    ]
    trained = estimator(measured).fit(samples, [sample.label for sample in samples])
    model = LinearModel.of(record_of(trained, NUMBERS if measured else ()))
    assert model.classes == tuple(trained.classes_)
    found = model.probabilities([sample.tokens for sample in samples], [sample.numbers for sample in samples])
    # what is kept is rounded
    np.testing.assert_allclose(found, trained.predict_proba(samples), atol=2e-3)


def test_a_model_goes_to_a_file_and_back(users: list[Sample], tmp_path: Path) -> None:
    record = fitted(users, NUMBERS)
    write(record, tmp_path / "model.json")
    assert stored(tmp_path / "model.json") == record


def test_no_document_is_no_row_and_an_unknown_one_has_a_class() -> None:
    model = model_of(MODEL)
    assert model.classify([], []) == []
    ((user_class, confidence),) = model.classify([["xyzzy"]], [[math.nan] * len(NUMBERS)])
    assert user_class in model.classes
    assert 1 / len(model.classes) < confidence < 1


def test_training_again_gives_the_model_that_is_there() -> None:
    record, there = fitted(train_users.samples(train_users.PEOPLE, train_users.SEED), NUMBERS), stored(MODEL)
    assert record["classes"] == there["classes"]
    for part in ("tokens", "numbers"):
        assert record[part].keys() == there[part].keys()
        for name, about in there[part].items():
            assert record[part][name]["weights"] == pytest.approx(about["weights"], abs=0.02), name


def test_other_people_get_their_class() -> None:
    assert accuracy(stored(MODEL), train_users.samples(2_000, train_users.OTHER_SEED)) > 0.9


def test_people_whose_kind_of_description_is_new_get_their_class_mostly() -> None:
    people = train_users.samples(1_500, 5)
    often = Counter(sample.label for sample in people).most_common(1)[0][1] / len(people)
    assert often < 0.6
    assert accuracy_on_new_texts(people, NUMBERS, folds=4) > 0.75


@pytest.mark.parametrize(
    ("description", "more", "user_class"),
    [
        ("Newsroom of the evening news. Breaking news from our reporters", {"followers": 90_000, "statuses": 80_000}, "press"),
        ("2nd year medicine student", {"followers": 200, "friends": 300, "statuses": 900, "age_days": 500}, "student"),
        ("Senator for the north", {"followers": 30_000, "friends": 800, "verified": True}, "politician"),
        ("Follow back, free gift cards", {"followers": 20, "friends": 4_000, "statuses": 60_000, "age_days": 30}, "bot"),
        ("", {}, "ordinary"),
        ("🎉🎉🎉", {"followers": 0, "friends": 0, "statuses": 0, "age_days": 0.0}, "ordinary"),
    ],
)
def test_classes_of_people_that_nobody_made_up_by_number(description: str, more: dict[str, Any], user_class: str) -> None:
    user: Profile = {**UNKNOWN, "description": description, **more}  # type: ignore[typeddict-item]
    assert classified([user])[0][0] == user_class


def test_a_batch_says_what_each_alone_says() -> None:
    profiles = [person(number, 1).profile for number in range(100)]
    assert classified(profiles) == [classified([profile])[0] for profile in profiles]


def test_people_and_tweets_are_the_same_in_every_process() -> None:
    # what they were when this was written; no hash() decides them
    assert person(11, 1).user_class == "company"
    assert person(11, 1).profile["screen_name"] == "KestrelFoodsSupport11"
    assert person(11, 1).profile["statuses"] == 6_997
    assert made_tweet(0, 1).text == "Our summer sale has started, see the offers https://t.co/0"
    assert made_tweet(12_345, 2).text == "I changed my mind about this series, on my way"
    assert made_tweet(0, 1) == made_tweet(0, 1) != made_tweet(0, 2)


def test_the_stream_has_all_classes_and_some_people_more_often_than_others() -> None:
    dice = random.Random(4)
    found = [author(dice, 1) for _ in range(3_000)]
    names = Counter(one.profile["screen_name"] for one in found)
    assert {one.user_class for one in found} == set(model_of(MODEL).classes)
    assert names.most_common(1)[0][1] > 5 * len(found) / PEOPLE


def test_the_applications_run_without_scikit_learn() -> None:
    folders = [Path(str(package.__file__)).parent for package in (topologies.twitter, topologies.twitter_complex)]
    sources = [path for folder in folders for path in folder.glob("*.py")]
    assert [path.name for path in sources if "sklearn" in path.read_text(encoding="utf-8")] == ["training.py"]
    users_of_training = [path.name for path in sources if "twitter.training" in path.read_text(encoding="utf-8")]
    assert users_of_training == ["train.py", "train.py"]
