from __future__ import annotations

import random

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import dns.update
import pytest

from topologies.dns.conversations import message
from topologies.dns.parsing import Message, parse, read_message

QUERY = dns.message.make_query("WWW.Example.test", "TXT", id=7)


def test_a_query_is_read() -> None:
    wire = QUERY.to_wire()
    assert read_message(wire) == Message(len(wire), is_answer=False, name="www.example.test", record="TXT", code="")


def test_an_answer_is_read_with_its_code() -> None:
    answer = dns.message.make_response(QUERY)
    answer.answer.append(dns.rrset.from_text("WWW.Example.test.", 60, "IN", "TXT", '"a long text"'))
    assert read_message(answer.to_wire()).code == "NOERROR"
    answer.set_rcode(dns.rcode.NXDOMAIN)
    found = read_message(answer.to_wire())
    assert (found.is_answer, found.code, found.name) == (True, "NXDOMAIN", "www.example.test")


def test_an_answer_that_was_cut_on_purpose_is_no_malformed_one() -> None:
    answer = dns.message.make_response(QUERY)
    answer.flags |= dns.flags.TC
    assert read_message(answer.to_wire()).problem is None


def test_unknown_types_updates_and_messages_without_a_question_are_read() -> None:
    assert read_message(dns.message.make_query("a.test", "TYPE65280").to_wire()).record == "TYPE65280"
    assert read_message(dns.update.UpdateMessage("a.test").to_wire()).name == "a.test"
    assert read_message(dns.message.Message(id=1).to_wire()) == Message(12)
    assert read_message(dns.message.make_query(".", "NS").to_wire()).name == "."


def test_a_name_of_odd_bytes_is_plain_text() -> None:
    wire = QUERY.to_wire().replace(b"Example", b"a\x00\xff\n'\"\xe9")
    name = read_message(wire).name
    assert name.isascii()
    assert name.isprintable()
    assert name.startswith("www.a\\000\\255\\010")


HEADER = b"\x00\x07\x01\x00\x00\x01" + bytes(6)


@pytest.mark.parametrize(
    ("wire", "problem"),
    [
        (b"", "ShortHeader"),
        (b"\x00" * 11, "ShortHeader"),
        (QUERY.to_wire()[:-3], "FormError"),
        (QUERY.to_wire() + b"\x00", "TrailingJunk"),
        (HEADER + b"\xc0\x0c\x00\x01\x00\x01", "BadPointer"),
        (HEADER + b"\xc0\x0e\xc0\x0c\x00\x01\x00\x01", "BadPointer"),
        (HEADER + b"\x80abc\x00\x00\x01\x00\x01", "BadLabelType"),
        (HEADER + (b"\x3f" + b"a" * 63) * 5 + b"\x00\x00\x01\x00\x01", "FormError"),
        (b"\x00\x07\x01\x00\xff\xff" + bytes(6), "FormError"),
    ],
)
def test_what_is_no_message_is_one_with_a_problem(wire: bytes, problem: str) -> None:
    found = read_message(wire)
    assert found.problem is not None
    assert problem in found.problem or problem == "FormError"
    assert (found.size, found.name, found.record, found.code) == (len(wire), "", "", "")


def test_no_bytes_stop_it() -> None:
    dice = random.Random(5)
    problems = 0
    for event in range(300):
        wire = bytearray(message(3, event)[2] or b"\x00")
        for _ in range(dice.randint(1, 4)):
            wire[dice.randrange(len(wire))] = dice.randrange(256)
        problems += read_message(bytes(wire)).problem is not None
    assert 50 < problems < 300


def test_the_bolt_keeps_event_flow_and_time() -> None:
    assert parse(3, "a>b", 1.5, b"") == (3, "a>b", 1.5, read_message(b""))
