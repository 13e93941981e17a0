from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.errors import AuthenticationError, PaspsError, ProtocolError, TopologyError
from pasps.transport import handshake
from pasps.transport.handshake import Identity, Incarnations, Steps, admit, dialer, greet, listener, refusal

ONE = Identity("wc", "one", 3)
TWO = Identity("wc", "two", 5)
SECRET = b"s" * 32


def nonce(number: int) -> bytes:
    return bytes([number]) * 32


def sides(**change: Any) -> tuple[Steps, Steps]:
    given: dict[str, Any] = {
        "one": ONE,
        "dial_secret": SECRET,
        "listen_secret": SECRET,
        "seen_by_two": Incarnations(),
        "expect": None,
    } | change
    dialing = dialer(given["one"], given["dial_secret"], nonce(1), Incarnations(), given["expect"])
    return dialing, listener(TWO, given["listen_secret"], nonce(2), given["seen_by_two"])


def run(dialing: Steps, listening: Steps, damage: Any = lambda number, payload: payload) -> tuple[Identity, Identity]:
    """Both to the end; `damage(number, payload)` may change what travels."""
    next(listening)
    payload = next(dialing)
    numbers = iter(range(4))
    assert payload is not None
    payload = listening.send(damage(next(numbers), payload))
    assert payload is not None
    payload = dialing.send(damage(next(numbers), payload))
    assert payload is not None
    with pytest.raises(StopIteration) as listened:
        listening.send(damage(next(numbers), payload))
    dialling_peer, last = listened.value.value
    with pytest.raises(StopIteration) as dialled:
        dialing.send(damage(next(numbers), last))
    assert dialled.value.value[1] is None
    return dialled.value.value[0], dialling_peer


def recorder(sent: list[bytes]) -> Any:
    def record(_: int, payload: bytes) -> bytes:
        sent.append(payload)
        return payload

    return record


def test_both_sides_learn_who_the_other_is() -> None:
    assert run(*sides(expect="two")) == (TWO, ONE)


def test_the_secret_is_never_sent() -> None:
    sent: list[bytes] = []
    run(*sides(), damage=recorder(sent))
    assert len(sent) == 4
    assert not any(SECRET[:8] in payload for payload in sent)
    assert max(map(len, sent)) < handshake.MOST_HANDSHAKE_BYTES


@pytest.mark.parametrize("wrong", ["dial_secret", "listen_secret"])
def test_a_side_without_the_secret_is_refused(wrong: str) -> None:
    with pytest.raises(AuthenticationError, match="does not hold the topology's secret"):
        run(*sides(**{wrong: b"x" * 32}))


def test_a_listener_without_the_secret_cannot_welcome() -> None:
    def forge(number: int, payload: bytes) -> bytes:
        return payload[:-32] + b"f" * 32 if number == 3 else payload

    with pytest.raises(AuthenticationError, match="worker two-5 of 'wc': it does not hold"):
        run(*sides(), damage=forge)


@given(st.integers(0, 3), st.data())
def test_any_changed_byte_is_refused(number: int, data: st.DataObject) -> None:
    def flip(at: int, payload: bytes) -> bytes:
        if at != number:
            return payload
        place = data.draw(st.integers(0, len(payload) - 1))
        changed = bytearray(payload)
        changed[place] ^= data.draw(st.integers(1, 255))
        return bytes(changed)

    with pytest.raises((ProtocolError, AuthenticationError)):
        run(*sides(), damage=flip)


def test_a_recorded_proof_is_worth_nothing_later() -> None:
    sent: list[bytes] = []
    run(*sides(), damage=recorder(sent))
    again = listener(TWO, SECRET, nonce(9), Incarnations())
    next(again)
    again.send(sent[0])
    with pytest.raises(AuthenticationError):
        again.send(sent[2])


def test_a_proof_cannot_be_reflected_to_its_maker() -> None:
    # the attacker has no secret: it answers a listener with what another handshake of that listener's owner gives it
    victim_listens = listener(TWO, SECRET, nonce(2), Incarnations())
    victim_dials = dialer(TWO, SECRET, nonce(4), Incarnations())
    next(victim_listens)
    hello = next(victim_dials)
    assert hello is not None
    with pytest.raises(AuthenticationError, match="does not connect to itself"):
        victim_listens.send(hello)


def test_a_dialers_proof_is_no_listeners_proof() -> None:
    def echo(number: int, payload: bytes) -> bytes:
        if number == 2:
            proofs.append(payload)
        # the proof of the dialer, given back to it as a welcome
        return payload[: -32 - 1] + bytes([handshake.WELCOME]) + proofs[0][-32:] if number == 3 else payload

    proofs: list[bytes] = []
    with pytest.raises(AuthenticationError, match="does not hold"):
        run(*sides(), damage=echo)


def test_an_older_incarnation_is_refused_and_the_same_one_may_come_again() -> None:
    seen = Incarnations()
    run(*sides(seen_by_two=seen))
    run(*sides(seen_by_two=seen))
    with pytest.raises(AuthenticationError, match="expected incarnation 3 or later"):
        run(*sides(seen_by_two=seen, one=Identity("wc", "one", 2)))
    run(*sides(seen_by_two=seen, one=Identity("wc", "one", 4)))


def test_an_unproved_incarnation_shuts_nobody_out() -> None:
    seen = Incarnations()
    with pytest.raises(AuthenticationError):
        run(*sides(seen_by_two=seen, one=Identity("wc", "one", 99), dial_secret=b"x" * 32))
    run(*sides(seen_by_two=seen))


def test_another_worker_than_expected_is_refused() -> None:
    with pytest.raises(AuthenticationError, match="expected worker 'three'"):
        run(*sides(expect="three"))


def test_another_topology_is_refused() -> None:
    with pytest.raises(AuthenticationError, match="expected a worker of topology 'wc'"):
        run(*sides(one=Identity("other", "one", 1)))


def test_another_version_is_named() -> None:
    def older(_: int, payload: bytes) -> bytes:
        return payload[:5] + b"\x00\x07" + payload[7:]

    with pytest.raises(ProtocolError, match="peer speaks protocol version 7, this worker 2; install the same pasps"):
        run(*sides(), damage=older)


def test_a_refusal_says_why() -> None:
    dialing, _ = sides()
    next(dialing)
    with pytest.raises(AuthenticationError, match="peer refused: topology: \N{EURO SIGN} no"):
        dialing.send(refusal(TopologyError("\N{EURO SIGN} no")))
    assert len(refusal(TopologyError("\N{EURO SIGN}" * 5000))) < handshake.MOST_HANDSHAKE_BYTES


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"PASPS",
        b"PASPS\x00\x01\x01",
        b"PASPS\x00\x01\x01\x92\x93",
        b"PASPS\x00\x01\x03" + b"p" * 32,
        b"PASPS\x00\x01\xee",
        b"PASPS\x00\x01\x01" + b"\x91" * 1000,
        b"PASPS\x00\x01\x01" + b"\x91" * 5000,
        handshake._message(handshake.HELLO, handshake._encode(handshake.Introduction(Identity("t" * 101, "w", 1), nonce(3)))),  # noqa: SLF001
        handshake._message(handshake.HELLO, handshake._encode(handshake.Introduction(Identity("wc", "w", -1), nonce(3)))),  # noqa: SLF001
        handshake._message(handshake.HELLO, handshake._encode(handshake.Introduction(Identity("wc", "w", 1), b"short"))),  # noqa: SLF001
    ],
)
def test_what_is_no_hello_is_a_protocol_error(payload: bytes) -> None:
    _, listening = sides()
    next(listening)
    with pytest.raises(ProtocolError):
        listening.send(payload)


@given(st.binary(max_size=300).map(lambda tail: b"PASPS\x00\x01\x01" + tail) | st.binary())
def test_garbage_is_one_of_our_errors(payload: bytes) -> None:
    _, listening = sides()
    next(listening)
    with pytest.raises(PaspsError):
        listening.send(payload)


# ---- over a connection that is made once


async def met(secret: bytes = SECRET, expect: str = "two", incarnation: int = 3) -> list[Identity | BaseException]:
    """What becomes of who greets, and of who admits."""
    to_one, to_two = asyncio.StreamReader(), asyncio.StreamReader()

    async def write_to(reader: asyncio.StreamReader, data: bytes) -> None:
        reader.feed_data(data)

    greeting = greet(Identity("wc", "one", incarnation), secret, expect, to_one.readexactly, partial(write_to, to_two))
    return await asyncio.gather(greeting, admit(TWO, SECRET, to_two.readexactly, partial(write_to, to_one)), return_exceptions=True)


def test_who_greets_and_who_admits_know_each_other_then_as_often_as_it_is_made() -> None:
    assert asyncio.run(met()) == [TWO, ONE]
    assert asyncio.run(met(incarnation=2)) == [TWO, Identity("wc", "one", 2)], "none is too old"


def test_who_has_another_secret_is_told_so_and_not_admitted() -> None:
    greeted, admitted = asyncio.run(met(secret=b"t" * 32))
    assert isinstance(greeted, AuthenticationError)
    assert "peer refused: " in str(greeted)
    assert isinstance(admitted, AuthenticationError)


def test_who_finds_somebody_else_says_so_and_proves_nothing() -> None:
    greeted, admitted = asyncio.run(met(expect="three"))
    assert isinstance(greeted, AuthenticationError)
    assert "expected worker 'three' at this address" in str(greeted)
    assert isinstance(admitted, AuthenticationError)
    assert "peer refused: " in str(admitted)


@pytest.mark.parametrize("said", [b"", b"\0", b"\0\0\0\x40", b"\0\0\0\x40PASPS"])
def test_a_connection_that_ends_in_the_middle_is_lost(said: bytes) -> None:
    async def body() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(said)
        reader.feed_eof()

        async def write(data: bytes) -> None:
            raise AssertionError("nothing is said to who has not greeted")

        with pytest.raises(ConnectionResetError, match="before it had proved itself"):
            await admit(TWO, SECRET, reader.readexactly, write)

    asyncio.run(body())
