"""Trains the classifier of users: `python -m topologies.twitter.train` writes user_class.json, the same each time.

It learns from people made by a seed of their own, whom the application never sees, and says how well it does on others.
"""

from __future__ import annotations

from topologies.twitter.people import person
from topologies.twitter.profiles import NUMBERS, numbers_of
from topologies.twitter.training import Sample, accuracy, accuracy_on_new_texts, fitted, write
from topologies.twitter.tweet_text import tokens
from topologies.twitter.user_class import MODEL

SEED, PEOPLE = 71, 4_000
OTHER_SEED = 72


def samples(people: int, seed: int) -> list[Sample]:
    """People as the classifier sees them; two with the same description, but for the words in it, are of one group."""
    found = [person(number, seed) for number in range(people)]
    return [Sample(tokens(one.profile["description"]), numbers_of(one.profile), one.user_class, one.template) for one in found]


def main() -> None:
    """Train, say how good it is, write."""
    known = samples(PEOPLE, SEED)
    record = fitted(known, NUMBERS)
    print(f"{accuracy(record, samples(PEOPLE, OTHER_SEED)):.3f} of {PEOPLE:,} other people get their class")
    print(f"{accuracy_on_new_texts(known, NUMBERS):.3f} of those whose kind of description was left out of the training do")
    write(record, MODEL)
    print(f"wrote {MODEL}: {len(record['tokens'])} words, {len(record['classes'])} classes")


if __name__ == "__main__":
    main()
