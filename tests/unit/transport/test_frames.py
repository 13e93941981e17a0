from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.errors import ProtocolError
from pasps.transport.frames import HEADER_BYTES, FrameReader, seal


def framed(payload: bytes) -> bytes:
    return bytes(seal(bytearray(HEADER_BYTES) + payload))


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(1, 40), min_size=1))
def test_payloads_come_out_however_the_stream_is_cut(sent: list[bytes], cuts: list[int]) -> None:
    reader = FrameReader(300)
    stream = b"".join(map(framed, sent))
    got: list[bytes] = []
    at = turn = 0
    while at < len(stream):
        size = cuts[turn % len(cuts)]
        got += [bytes(payload) for payload in reader.feed(stream[at : at + size])]
        at, turn = at + size, turn + 1
    assert got == sent
    assert reader.is_between_frames()


@given(st.lists(st.binary(max_size=50)))
def test_garbage_is_payloads_or_a_protocol_error(pieces: list[bytes]) -> None:
    reader = FrameReader(100)
    try:
        for piece in pieces:
            for payload in reader.feed(piece):
                assert len(payload) <= 100
    except ProtocolError:
        pass


@pytest.mark.parametrize("header", [b"\x00\x00\x00\x65", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\x7f\xff\xff\xff"])
@pytest.mark.parametrize("cut", [0, 1, 3, 4])
def test_oversized_and_negative_lengths_are_refused_before_their_payload(header: bytes, cut: int) -> None:
    reader = FrameReader(100)
    with pytest.raises(ProtocolError, match="expected 0 to 100"):
        [list(reader.feed(piece)) for piece in (header[:cut], header[cut:])]


def test_a_payload_inside_the_data_is_not_copied() -> None:
    data = bytearray(framed(b"abc") + framed(b"def"))
    first, second = FrameReader(10).feed(data)
    data[HEADER_BYTES] = ord("X")
    assert (bytes(first), bytes(second)) == (b"Xbc", b"def")


def test_the_limit_may_change_between_two_payloads_of_one_piece() -> None:
    reader = FrameReader(3)
    got = []
    for payload in reader.feed(framed(b"abc") + framed(b"long enough")):
        got.append(bytes(payload))
        reader.most_bytes = 100
    assert got == [b"abc", b"long enough"]


def test_it_knows_when_it_is_inside_a_frame() -> None:
    reader = FrameReader(10)
    assert list(reader.feed(b"\x00")) == []
    assert not reader.is_between_frames()
    assert list(reader.feed(b"\x00\x00\x02a")) == []
    assert not reader.is_between_frames()
    assert [bytes(payload) for payload in reader.feed(b"b")] == [b"ab"]
    assert reader.is_between_frames()
