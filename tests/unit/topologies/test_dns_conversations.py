from __future__ import annotations

import hashlib
import random
from collections import Counter

import pytest

from topologies.dns.conversations import WINDOW, WINDOW_SECONDS, damaged, message, planned
from topologies.dns.domain_names import carrier
from topologies.dns.parsing import read_message


def test_an_event_is_the_same_in_every_process() -> None:
    digest = hashlib.sha256()
    for event in range(0, 1200, 7):
        flow, at, wire = message(1, event)
        digest.update(f"{flow} {at:.6f} {wire.hex()}\n".encode())
    # whoever changes the traffic puts the new digest here, and trains the model anew
    assert digest.hexdigest()[:16] == "fbc10cb6fd951a7b"


def test_an_event_does_not_depend_on_those_before_it() -> None:
    forth = [message(4, event) for event in range(3 * WINDOW)][::7]
    back = [message(4, event) for event in reversed(range(0, 3 * WINDOW, 7))]
    assert forth == back[::-1]


def test_another_seed_is_other_traffic() -> None:
    assert {message(1, event)[2] for event in range(50)}.isdisjoint(message(2, event)[2] for event in range(50))


def test_a_window_has_several_conversations_of_all_kinds_in_the_order_of_time() -> None:
    plans = [planned(1, event) for event in range(5 * WINDOW)]
    kinds = Counter(plan.conversation.kind for plan in plans)
    assert min(kinds[kind] for kind in ("benign", "dga", "tunnel")) > 300
    assert kinds["benign"] == max(kinds.values())
    first = plans[:WINDOW]
    assert [plan.at for plan in first] == sorted(plan.at for plan in first)
    assert 5 < len({plan.conversation.flow for plan in first}) < 40
    assert plans[WINDOW].at - plans[0].at == pytest.approx(WINDOW_SECONDS, abs=WINDOW_SECONDS / 4)


def test_an_answer_repeats_its_question_and_comes_after_it() -> None:
    queries: dict[tuple[str, int], tuple[float, bytes, str]] = {}
    answers = 0
    for event in range(WINDOW):
        plan = planned(1, event)
        _, at, wire = message(1, event)
        found = read_message(wire)
        if found.problem is not None:
            continue
        assert found.is_answer == plan.is_answer
        key = (plan.conversation.tag, plan.lookup)
        if not found.is_answer:
            queries[key] = (at, wire[:2], found.name)
        elif key in queries:
            asked, number, name = queries[key]
            assert (wire[:2], found.name) == (number, name)
            assert at > asked
            answers += 1
    assert answers > WINDOW // 3


def test_one_message_in_a_hundred_is_malformed() -> None:
    problems = [read_message(message(1, event)[2]).problem for event in range(2000)]
    assert 8 <= sum(problem is not None for problem in problems) <= 40


def test_every_kind_of_damage_is_found() -> None:
    dice = random.Random(1)
    wire = message(1, 0)[2]
    found = [read_message(damaged(wire, dice)).problem for _ in range(200)]
    assert None not in found
    kinds = {problem.partition(":")[0] for problem in found if problem}
    assert {"ShortHeader", "BadPointer", "TrailingJunk"} <= kinds


@pytest.mark.parametrize("load", [1, 40, 118])
def test_what_a_tunnel_carries_fits_into_a_name(load: int) -> None:
    name = carrier(random.Random(1), "site24media.example", load)
    assert len(name) <= 253
    assert max(map(len, name.split("."))) <= 63
