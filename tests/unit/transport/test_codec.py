from __future__ import annotations

import contextlib
import pickle
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.api.splitting import MOST_PAYLOAD_BYTES
from pasps.errors import ProtocolError, TooLargeError
from pasps.transport.codec import Decoder, Encoder, Refusal
from pasps.transport.frames import HEADER_BYTES
from pasps.transport.messages import Acks, Bundle, Carried, Credit, Define, Fails, Handover, Load, Mark, Message, Told, Took, WireBatch
from pasps.transport.values import RowWrapper
from tests.unit.transport import sample_classes as samples
from tests.unit.transport.pickles import apart

ids = st.integers(0, 2**64 - 1)
small = st.integers(0, 2**31)
pack = msgspec.msgpack.encode
Ext = msgspec.msgpack.Ext


@st.composite
def batches(draw: st.DrawFn) -> WireBatch:
    count = draw(st.integers(0, 4))
    per_row = st.lists(ids, min_size=count, max_size=count)
    roots = draw(st.none() | per_row)
    links = st.lists(st.none() | st.lists(st.tuples(ids, ids), max_size=2).map(tuple), min_size=count, max_size=count)
    rows = draw(st.lists(st.tuples(st.text(), st.integers(-(2**80), 2**80)), min_size=count, max_size=count))
    if roots is None:
        return WireBatch(draw(small), draw(small), draw(small), rows)
    return WireBatch(draw(small), draw(small), draw(small), rows, roots, draw(st.none() | per_row), draw(st.none() | links))


acks = st.lists(ids, max_size=3).flatmap(lambda roots: st.builds(Acks, small, st.just(roots), st.none() | st.just(roots)))
bundles = st.builds(
    Bundle,
    st.lists(batches(), max_size=3),
    st.lists(st.builds(Credit, small, small, small), max_size=2),
    st.lists(acks, max_size=2),
    st.lists(st.builds(Fails, small, st.lists(ids)), max_size=2),
    st.lists(st.builds(Load, small, small, st.floats(0, 1e6), st.floats(0, 1e6), small), max_size=2),
)
handovers = st.lists(batches(), max_size=2).flatmap(
    lambda some: st.builds(
        Handover,
        small,
        small,
        small,
        st.none() | st.binary(),
        st.just(some),
        st.lists(st.text(), min_size=len(some), max_size=len(some)),
        st.booleans(),
    )
)
told = st.builds(Carried, small, small, small, st.binary(max_size=40)) | st.builds(Told, small, small, small, st.binary(max_size=40))
messages = bundles | handovers | st.builds(Mark, small) | st.builds(Took, small, small, small) | told


def payloads(frames: list[bytearray]) -> list[memoryview]:
    return [memoryview(frame)[HEADER_BYTES:] for frame in frames]


@given(messages)
def test_every_message_comes_back(message: Message) -> None:
    (payload,) = payloads(Encoder(RowWrapper()).encode(message))
    assert Decoder().decode(payload) == message


@given(messages, st.data())
def test_a_damaged_message_is_a_protocol_error_or_another_message(message: Message, data: st.DataObject) -> None:
    (payload,) = payloads(Encoder(RowWrapper()).encode(message))
    at = data.draw(st.integers(0, len(payload) - 1))
    payload[at] = data.draw(st.integers(0, 255))
    for broken in (payload, payload[:at]):
        with contextlib.suppress(ProtocolError):
            assert isinstance(Decoder().decode(broken), Message | None)


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda tail: pack([0, []])[:2] + tail))
def test_garbage_is_a_protocol_error(garbage: bytes) -> None:
    try:
        message = Decoder().decode(garbage)
    except ProtocolError:
        return
    assert isinstance(message, Message)


@given(
    st.integers(-128, 127), st.binary(max_size=40) | st.lists(st.integers() | st.text() | st.none(), max_size=8).map(repr).map(str.encode)
)
def test_garbage_in_an_extension_is_a_protocol_error(code: int, body: bytes) -> None:
    payload = pack([0, [[1, 2, 3, [[Ext(code, body)]], None, None, None]]])
    with contextlib.suppress(ProtocolError):
        Decoder().decode(payload)


@pytest.mark.parametrize(
    "rows",
    [
        [[Ext(0, b"N.")]],
        [[Ext(4, b"N.")]],
        [[Ext(1, apart("instance", "os:system") + b".")]],
        [[Ext(1, b"cos\nsystem\n(Vtrue\ntR.")]],
        [[Ext(1, b"cbuiltins\neval\n(V1\ntR.")]],
        [[Ext(1, apart("instance", "no.such.module:Thing") + b".")]],
        [[Ext(1, apart("instance", "#0:Never") + b".")]],
        [[Ext(1, apart("call", "zoneinfo:ZoneInfo", "../../etc/passwd") + b".")]],
        [[Ext(1, b"")]],
        [[Ext(2, b"")]],
        [[Ext(2, b"N.")]],
        [[Ext(2, b"(I1\nI2\nl.")]],
        [[Ext(2, b"(I1\nl.")], [None]],
        [[Ext(2, b"cos\nsystem\n(Vtrue\ntR.")]],
        [[Ext(2, b"(l.")], [None, 1]],
        [[Ext(3, b"N.")]],
        [[[Ext(2, b"(I1\nl.")]]],
    ],
)
def test_a_value_that_is_none_of_ours_is_a_protocol_error(rows: list[Any]) -> None:
    with pytest.raises(ProtocolError):
        Decoder().decode(pack([0, [[1, 2, 3, rows, None, None, None]]]))


@pytest.mark.parametrize("kind", [Carried, Told])
def test_a_payload_that_no_peer_of_ours_sends_is_a_protocol_error(kind: type[Carried | Told]) -> None:
    longest = kind(1, 2, 3, b"x" * MOST_PAYLOAD_BYTES)
    assert Decoder().decode(pack(longest)) == longest
    tag = pack(longest)[1]
    for payload in (b"x" * (MOST_PAYLOAD_BYTES + 1), "text", None, 7, ["x"]):
        with pytest.raises(ProtocolError):
            Decoder().decode(pack([tag, 1, 2, 3, payload]))
    with pytest.raises(ProtocolError):
        Decoder().decode(pack([tag, "1", 2, 3, b"x"]))


def test_endless_nesting_is_a_protocol_error() -> None:
    for deep in (b"\x91" * 100_000, b"\x92\x00\x91\x97\x01\x02\x03\x91\x91" + b"\x91" * 100_000):
        with pytest.raises(ProtocolError):
            Decoder().decode(deep)


@pytest.mark.parametrize(
    "message",
    [
        Bundle([WireBatch(1, 2, 3, [(1,)], [])]),
        Bundle([WireBatch(1, 2, 3, [(1,)], [1], [1, 2])]),
        Bundle([WireBatch(1, 2, 3, [(1,)], [1], None, [])]),
        Bundle([WireBatch(1, 2, 3, [(1,)], None, [1])]),
        Bundle(acks=[Acks(1, [1, 2], [1])]),
        Handover(1, 2, 3, None, [WireBatch(1, 2, 3, [(1,)])], []),
        Handover(1, 2, 3, None, [WireBatch(1, 2, 3, [(1,)], [])], ["w"]),
        Define("module:Name", b""),
    ],
)
def test_parts_that_do_not_agree_are_a_protocol_error(message: Message) -> None:
    with pytest.raises(ProtocolError):
        Decoder().decode(pack(message))


def test_a_large_bundle_becomes_frames_in_the_same_order() -> None:
    rows = [(index, "x" * 30) for index in range(50)]
    whole = Bundle([WireBatch(1, 2, 3, rows, list(range(50)), list(range(50)), [((1, 2),)] * 50)], credits=[Credit(1, 2, 3)])
    frames = Encoder(RowWrapper(), most_bytes=400).encode(whole)
    assert max(map(len, frames)) <= 400 + HEADER_BYTES
    got = [Decoder().decode(payload) for payload in payloads(frames)]
    parts = [batch for bundle in got if isinstance(bundle, Bundle) for batch in bundle.batches]
    assert [row for part in parts for row in part.rows] == rows
    assert [root for part in parts for root in part.roots or ()] == list(range(50))
    assert isinstance(got[0], Bundle)
    assert got[0].credits == [Credit(1, 2, 3)]


def test_a_row_larger_than_a_frame_is_left_out_alone() -> None:
    refused: list[Refusal] = []
    message = Bundle([WireBatch(1, 2, 3, [(1,), ("x" * 1000,), (3,)], [7, 8, 9])])
    parts = [Decoder().decode(payload) for payload in payloads(Encoder(RowWrapper(), most_bytes=400).encode(message, refused))]
    rows = [row for part in parts if isinstance(part, Bundle) for batch in part.batches for row in batch.rows]
    assert rows == [(1,), (3,)]
    (refusal,) = refused
    assert refusal.batch.roots == [8]
    told = str(refusal.error.of("big", "default"))
    assert "component 'big', stream 'default': a tuple of 10" in told
    assert "a frame holds 400 (pasps.wire.max.frame.bytes)" in told


def test_columns_that_are_cut_arrive_as_they_were_sent() -> None:
    @dataclass
    class Local:
        value: int

    wrapper, refused = RowWrapper(), list[Refusal]()
    rows = [(Local(n), [n], "x" * (5000 if n == 20 else 30), samples.Color.RED, n or None) for n in range(50)]
    wired = wrapper.wire_rows(rows, "c", "s", "abcde")
    whole = Bundle([WireBatch(1, 2, 3, wired, list(range(50))), WireBatch(1, 2, 3, wired)])
    decoder = Decoder()
    parts = [decoder.decode(payload) for payload in payloads(Encoder(wrapper, most_bytes=4096).encode(whole, refused))]
    came = [row for part in parts if isinstance(part, Bundle) for batch in part.batches for row in batch.rows]
    assert came == (rows[:20] + rows[21:]) * 2
    assert [refusal.batch.roots for refusal in refused] == [[20], None]


def test_a_value_that_has_no_encoding_costs_its_row_alone() -> None:
    refused: list[Refusal] = []
    frames = Encoder(RowWrapper()).encode(Bundle([WireBatch(1, 2, 3, [(1,), (object(),), (3,)])]), refused)
    assert [batch.rows for part in payloads(frames) for batch in Decoder().decode(part).batches] == [[(1,)], [(3,)]]  # type: ignore[union-attr]
    assert "it cannot be encoded" in str(refused[0].error)


def test_a_handover_larger_than_a_frame_is_refused() -> None:
    with pytest.raises(TooLargeError, match=r"pickled task of 5.. bytes .* a frame holds 400") as caught:
        Encoder(RowWrapper(), most_bytes=400).encode(Handover(1, 2, 3, b"x" * 500, [], []))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.size, again.limit) == (str(caught.value), caught.value.size, 400)


@given(bundles, st.integers(100, 400))
def test_a_bundle_cut_into_frames_says_the_same(whole: Bundle, most: int) -> None:
    refused: list[Refusal] = []
    frames = Encoder(RowWrapper(), most).encode(whole, refused)
    assert all(len(frame) - HEADER_BYTES <= most for frame in frames)
    parts = [part for payload in payloads(frames) if isinstance(part := Decoder().decode(payload), Bundle)]
    if not refused:
        assert [one for part in parts for one in flat_batches(part)] == flat_batches(whole)
    assert [one for part in parts for one in part.credits] == whole.credits
    assert [one for part in parts for one in part.loads] == whole.loads
    assert [(f.owner, root) for part in parts for f in part.fails for root in f.roots] == [
        (f.owner, r) for f in whole.fails for r in f.roots
    ]
    assert [one for part in parts for one in flat_acks(part)] == flat_acks(whole)


def flat_batches(bundle: Bundle) -> list[Any]:
    return [
        (batch.edge, batch.task, batch.source, row, *(None if ids is None else ids[i] for ids in (batch.roots, batch.edges, batch.links)))
        for batch in bundle.batches
        for i, row in enumerate(batch.rows)
    ]


def flat_acks(bundle: Bundle) -> list[Any]:
    return [(ack.owner, root, None if ack.deltas is None else ack.deltas[i]) for ack in bundle.acks for i, root in enumerate(ack.roots)]
