from __future__ import annotations

import enum
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


@pytest.mark.parametrize(
    "wired",
    [
        Ext(14, pack(["no.such.module:Thing", [1]])),
        Ext(14, pack(["os:system", [1]])),
        Ext(14, pack(["#0:Broken", [1]])),
        Ext(13, pack(["no.such.module:Thing", "RED"])),
        Ext(15, b"no pickle"),
        Ext(7, pack(["2020-01-01", 0, "No/Such_Zone"])),
    ],
)
@pytest.mark.parametrize(
    "nest", [lambda v: v, lambda v: [{"k": [v]}], lambda v: Ext(3, pack([Ext(4, pack([[v][0]]))]))], ids=["bare", "native", "wrapped"]
)
def test_a_value_that_cannot_be_had_here_costs_its_row_alone(wired: Any, nest: Any) -> None:
    refused: list[Refusal] = []
    decoder = Decoder(True)
    assert decoder.decode(pack(Define("#0:Broken", b"garbage"))) is None
    batch = WireBatch(1, 2, 3, [(1,), (nest(wired),), (3,)], [7, 8, 9], [4, 5, 6], [None, ((1, 2),), None])
    got = decoder.decode(pack(Bundle([batch])), refused)
    assert got == Bundle([WireBatch(1, 2, 3, [(1,), (3,)], [7, 9], [4, 6], [None, None])])
    part, error = refused[0].batch, refused[0].error
    assert len(refused) == 1
    assert (part.roots, part.edges, part.links) == ([8], [5], [((1, 2),)])
    assert "at the other end" in error.cure or "the other end has no" in error.cure
    assert decoder.decode(pack(Bundle([WireBatch(1, 2, 3, [(1,)])]))) == Bundle([WireBatch(1, 2, 3, [(1,)])])
    with pytest.raises(ProtocolError, match=r"batch of edge 1: .*cannot travel|came before the definition"):
        Decoder(True).decode(pack(Bundle([batch])))
