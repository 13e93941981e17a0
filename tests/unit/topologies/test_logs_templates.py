from __future__ import annotations

import pickle
import random
from typing import Any

import pytest
from drain3.drain import Drain

from pasps import EndOfInput, Grouping, Spout, Topology
from pasps.testing import complete_topology
from tests.unit.topologies.parts import FailsOnce
from topologies.logs.line_formats import Line, read_line
from topologies.logs.masks import MOST_CHARACTERS, masked, word_count
from topologies.logs.synthetic_lines import line
from topologies.logs.templates import Miner, Templates, template_id


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("", ""),
        ("took 12 ms, 3.5 s, -7", "took <number> ms, <number> s, <number>"),
        ("block blk_-123 to /10.0.0.1:50010.", "block <block> to <address>."),
        ("from 10.0.0.1 port 22", "from <address> port <number>"),
        ("wrote /data/disk1/current/file.txt", "wrote <path>"),
        ("attempt_2024_0017_m_000003_25: done", "<job>: done"),
        ("id 0x1fA9 of 00:1a:2b:3c:4d:5e", "id <hex> of <hex>"),
        ("store-1b2c3d4e-5f60-4718-82a9-0bc1d2e3f405", "store-<hex>"),
        ("sums 1f2e3d4c ab12cd34 up", "sums <hex> up"),
        ("delete blk_1 blk_2, blk_3", "delete <block>"),
        ("rdd_1_2 of user12 at v1.2.3", "rdd_1_2 of user12 at v1.2.3"),
        ("decade facade 2024", "decade facade <number>"),
    ],
)
def test_what_varies_is_masked(message: str, expected: str) -> None:
    assert masked(message) == expected


def test_of_a_long_message_whole_words_of_its_beginning_are_looked_at() -> None:
    addresses = " ".join(["10.0.0.1"] * 2000)
    assert masked(addresses) == "<address>"
    assert len(masked("word " * 5000)) <= MOST_CHARACTERS
    assert masked("x" * 20_000) == "x" * MOST_CHARACTERS


@pytest.mark.parametrize(
    "message", ["a" * 10_000, "1" * 10_000, "/" * 10_000, "/a" * 5000, "_1" * 5000, "1." * 5000, "<a> " * 2500, "ab:" * 3000]
)
def test_no_message_makes_the_masks_backtrack_without_end(message: str) -> None:
    assert len(masked(message)) <= MOST_CHARACTERS + len("<address>")


def test_words_are_counted_as_drain_counts_them() -> None:
    texts = ["", "  ", "up", " Begin of\ttask ", "user12\u2003left"]
    assert [word_count(text) for text in texts] == [len(Drain().get_content_as_tokens(text)) for text in texts] == [0, 0, 1, 3, 2]


def test_what_varies_becomes_a_wildcard_and_the_origin_stays() -> None:
    miner = Miner()
    first = miner.add("Session of ada is over")
    assert (first.text, first.origin) == ("Session of ada is over", first.id)
    second = miner.add("Session of bell is over")
    assert second.text == "Session of <*> is over"
    assert (second.id, second.origin) == (template_id("Session of <*> is over"), first.id)
    assert miner.add("Session of ada is over") == second
    assert len(miner) == 1


def test_an_empty_message_has_a_template_too() -> None:
    miner = Miner()
    assert miner.add("") == miner.add("")
    assert miner.add("").text == ""


def test_messages_of_masks_alone_have_one_template() -> None:
    miner = Miner()
    for _ in range(3):
        miner.add("<number> <address>")
        miner.add("<number>")
    assert len(miner) == 2


def test_the_id_is_made_from_the_text_alone() -> None:
    assert template_id("Session of <*> is over") == "80620aa203b8ac6a"
    assert template_id("é") != template_id("e")


def test_memory_is_bounded() -> None:
    miner = Miner(most=20)
    for number in range(500):
        miner.add(f"word{chr(97 + number % 26)}{'x' * number} is one")
        assert len(miner) <= 20
        assert len(miner.origins) <= 40
    assert len(pickle.dumps(miner)) < 60_000


def contents(count: int) -> list[str]:
    return [masked(read_line(line(7, number)).message) for number in range(count)]


MANY_FIRST_WORDS = [f"{first}{second} is what is {last}" for last in "xy" for first in "abcdefghijklmn" for second in "opqrstuvw"]


@pytest.mark.parametrize(
    "said",
    [
        contents(1500),
        ["node3 WARN disk is full", "Today WARN disk is full", "<*> WARN disk is full"],
        ["up", "3", "down", *MANY_FIRST_WORDS],
    ],
    ids=["synthetic", "a digit in the first word", "many first words"],
)
def test_miners_by_word_count_find_what_one_drain_finds(said: list[str]) -> None:
    drain = Drain(depth=4, sim_th=0.4)
    tasks = [Miner() for _ in range(5)]
    for content in said:
        cluster, _ = drain.add_log_message(content)
        assert tasks[word_count(content) % 5].add(content).text == cluster.get_template()
    assert sum(map(len, tasks)) == len(drain.clusters)


class Given(Spout):
    outputs = ["event", "line", "masked", "words"]

    def next_tuple(self) -> float | None:
        raise EndOfInput  # a list takes its place


class Repeated(Topology):
    given = Given.spec()
    template = Templates.spec(inputs={given: Grouping.fields("words")}, pool=3)
    fails = FailsOnce.spec(inputs=[template])


def test_a_line_that_comes_again_has_the_template_of_the_first_time_and_widens_none() -> None:
    # the first would be the third's when it comes again, were it added again
    said = ["x p q r s", "x p a b c", "x w q r s"]
    rows = [[event, Line("other", None, "", "", text), text, word_count(text)] for event, text in enumerate(said)]
    done = complete_topology(Repeated, {"given": rows}, replays=1)
    assert len(done.failed["given"]) == len(said)
    found: dict[int, set[Any]] = {}
    for event, _, template, origin in done.rows("template"):
        found.setdefault(event, set()).add((template, origin))
    assert [len(found[event]) for event in range(len(said))] == [1, 1, 1]


def test_a_miner_goes_on_where_it_was_after_a_move() -> None:
    dice = random.Random(1)
    stays, moves = Miner(), Miner()
    for content in contents(300):
        if dice.random() < 0.05:
            moves = pickle.loads(pickle.dumps(moves))
        assert moves.add(content) == stays.add(content)
