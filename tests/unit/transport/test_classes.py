from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cloudpickle
import msgspec
import pytest

from pasps.errors import ProtocolError, WireError
from pasps.transport.classes import Definitions
from pasps.transport.codec import Decoder, Encoder, Refusal
from pasps.transport.frames import HEADER_BYTES
from pasps.transport.messages import Bundle, Define, WireBatch
from pasps.transport.values import RowWrapper
from tests.unit.transport import sample_classes as samples
from tests.unit.transport.pickles import apart

pack = msgspec.msgpack.encode
Ext = msgspec.msgpack.Ext


class NoReduceError:
    def __reduce__(self) -> str:
        raise RuntimeError("never")


def test_a_definition_comes_once_and_is_a_dataclass() -> None:
    @dataclass
    class Local:
        a: int

    wrapper = RowWrapper()
    wrapper.wire_rows([(Local(1),)], "c", "s", ["x"])
    (define,) = wrapper.classes.defines
    definitions = Definitions()
    definitions.define(define)
    with pytest.raises(ProtocolError, match="new name"):
        definitions.define(define)


def test_local_classes_are_sent_once_a_connection_and_keep_their_identity() -> None:
    @dataclass(frozen=True)
    class Local:
        a: int

    class Shade(enum.Enum):
        DARK = 1

    wrapper, decoder = RowWrapper(), Decoder()
    encoder, other = Encoder(wrapper), Encoder(wrapper)
    message = Bundle([WireBatch(1, 2, 3, wrapper.wire_rows([(Local(5), [Shade.DARK])], "c", "s", ["x", "y"]))])
    frames = [encoder.encode(message), encoder.encode(message)]
    assert [len(some) for some in frames] == [3, 1]
    got = [decoder.decode(frame[HEADER_BYTES:]) for some in frames for frame in some]
    assert got[:2] == [None, None]
    for bundle in got[2:]:
        assert isinstance(bundle, Bundle)
        value, (shade,) = bundle.batches[0].rows[0]
        # this process has the classes already
        assert type(value) is Local
        assert value.a == 5
        assert shade is Shade.DARK
    assert len(other.encode(message)) == 3


def test_a_local_class_is_sent_once_also_for_values_that_cloudpickle_takes() -> None:
    @dataclass
    class Local:
        held: Any

    wrapper, decoder = RowWrapper(allow_pickle=True), Decoder(allow_pickle=True)
    encoder = Encoder(wrapper)
    for number in range(2):
        rows = wrapper.wire_rows([(Local(samples.Plain(number)),), (Local(number),)], "c", "s", ["x"])
        *defines, frame = encoder.encode(Bundle([WireBatch(1, 2, 3, rows)]))
        assert [decoder.decode(define[HEADER_BYTES:]) for define in defines] == [None] * (not number)
        bundle = decoder.decode(frame[HEADER_BYTES:])
        assert isinstance(bundle, Bundle)
        assert bundle.batches[0].rows == [(Local(samples.Plain(number)),), (Local(number),)]


def test_a_class_of_a_module_pickled_by_value_is_sent() -> None:
    cloudpickle.register_pickle_by_value(samples)
    try:
        wrapper = RowWrapper()
        wrapper.wire_rows([(samples.Point(1),)], "c", "s", ["x"])
        assert len(wrapper.classes.defines) == 1
    finally:
        cloudpickle.unregister_pickle_by_value(samples)


def test_a_local_class_that_cannot_be_pickled_is_refused_with_a_cure() -> None:
    @dataclass
    class Local:
        a: int
        held = NoReduceError()

    with pytest.raises(WireError, match="move its class into a module"):
        RowWrapper().wire_rows([(Local(1),)], "c", "s", ["x"])


STRANGERS = [
    apart("instance", "no.such.module:Thing"),
    apart("instance", "os:system"),
    apart("instance", "tests.unit.transport.sample_classes:Plain"),
    apart("instance", "#0:Broken"),
    apart("member", "no.such.module:Thing", "RED"),
    apart("member", "tests.unit.transport.sample_classes:Color", "BLUE"),
    apart("call", "zoneinfo:ZoneInfo", "No/Such_Zone"),
    apart("call", "tests.unit.transport.sample_classes:Level", "seven"),
    apart("instance", "tests.unit.transport.sample_classes:Point", "no attributes"),
]
POINT = apart("instance", "tests.unit.transport.sample_classes:Point")
WAYS: dict[str, Callable[[bytes], list[Any]]] = {
    "one for the row": lambda made: [1, Ext(1, made + b"."), 3],
    "in a list": lambda made: [1, Ext(1, b"((" + made + b"l."), 3],
    "in a dictionary, in a tuple": lambda made: [1, Ext(1, b"((I7\n" + made + b"dt."), 3],
    "in an instance": lambda made: [
        1,
        Ext(1, apart("instance", "tests.unit.transport.sample_classes:Point")[:-3] + b"(Vx\n" + made + b"dtR."),
        3,
    ],
    "in a column": lambda made: [Ext(2, b"(I1\n" + made + b"I3\nl."), None, None],
    "as a key, in a column": lambda made: [Ext(2, b"(I1\n(" + made + b"I7\ndI3\nl."), None, None],
}


@pytest.mark.parametrize("made", STRANGERS, ids=repr)
@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_cannot_be_had_here_costs_its_row_alone(made: bytes, way: str) -> None:
    check_stranger(WAYS[way](made))


def test_a_pickle_that_cannot_be_read_costs_its_row_alone() -> None:
    check_stranger([1, Ext(3, b"no pickle"), 3])
    check_stranger([1, Ext(1, b"no pickle"), 3])


def check_stranger(column: list[Any]) -> None:
    refused: list[Refusal] = []
    decoder = Decoder(True)
    assert decoder.decode(pack(Define("#0:Broken", b"garbage"))) is None
    batch = WireBatch(1, 2, 3, [(value,) for value in column], [7, 8, 9], [4, 5, 6], [None, ((1, 2),), None])
    got = decoder.decode(pack(Bundle([batch])), refused)
    assert got == Bundle([WireBatch(1, 2, 3, [(1,), (3,)], [7, 9], [4, 6], [None, None])])
    part, error = refused[0].batch, refused[0].error
    assert len(refused) == 1
    assert (part.roots, part.edges, part.links) == ([8], [5], [((1, 2),)])
    assert "at the other end" in error.cure
    assert decoder.decode(pack(Bundle([WireBatch(1, 2, 3, [(1,)])]))) == Bundle([WireBatch(1, 2, 3, [(1,)])])
    with pytest.raises(ProtocolError, match=r"batch of edge 1: .*cannot travel|came before the definition"):
        Decoder(True).decode(pack(Bundle([batch])))
