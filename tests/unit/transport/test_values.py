from __future__ import annotations

import datetime as dt
import decimal
import pickle
import uuid
import zoneinfo
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.api.tuples import values_type
from pasps.errors import ProtocolError, WireError
from pasps.transport.codec import Decoder, Encoder, Refusal
from pasps.transport.frames import HEADER_BYTES
from pasps.transport.messages import Bundle, WireBatch
from pasps.transport.values import RowWrapper
from tests.unit.transport import sample_classes as samples


def travel(rows: list[tuple[Any, ...]], allow_pickle: bool = False) -> list[tuple[Any, ...]]:
    """Rows after a walk over the wire."""
    wrapper = RowWrapper(allow_pickle)
    return sent(wrapper, wrapper.wire_rows(rows, "words", "default", ["a", "b", "c"]), allow_pickle)


def sent(wrapper: RowWrapper, wired: list[tuple[Any, ...]], allow_pickle: bool = False) -> list[tuple[Any, ...]]:
    """What comes of rows that are ready for the wire."""
    decoder = Decoder(allow_pickle)
    got = [decoder.decode(frame[HEADER_BYTES:]) for frame in Encoder(wrapper).encode(Bundle([WireBatch(1, 2, 3, wired)]))]
    bundle = got[-1]
    assert isinstance(bundle, Bundle)
    assert got[:-1] == [None] * (len(got) - 1)
    return bundle.batches[0].rows


def shape(value: Any) -> Any:
    """All that there is to a value, types and all, as something that can be compared; a nan is the same as a nan."""
    kind = type(value).__qualname__
    if isinstance(value, list | tuple):
        return (kind, [shape(item) for item in value])
    if isinstance(value, dict):
        return (kind, [(shape(key), shape(item)) for key, item in value.items()])
    if isinstance(value, set | frozenset):
        return (kind, sorted(repr(shape(item)) for item in value))
    if isinstance(value, samples.Point):
        return (kind, shape(vars(value)))
    if isinstance(value, samples.Frozen):
        return (kind, shape(value.name))
    # repr tells -0.0 from 0.0 and folds from each other
    return (kind, repr(value))


def same(left: Any, right: Any) -> bool:
    return bool(shape(left) == shape(right))


zones = st.none() | st.sampled_from(
    [dt.UTC, dt.timezone(dt.timedelta(hours=-3, minutes=-30), "here"), zoneinfo.ZoneInfo("UTC"), dt.timezone(dt.timedelta(seconds=61))]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.datetimes(timezones=zones)
    | st.dates()
    | st.times(timezones=zones)
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.just(decimal.Decimal("NaN"))
    | st.uuids()
    | st.sampled_from([*samples.Color, *samples.Level, samples.Access.READ, samples.Access.READ | samples.Access.WRITE, samples.Access(0)])
)


@st.composite
def scalar(draw: st.DrawFn) -> Any:
    # a function, since Hypothesis prints strategies whole and these are long
    return draw(scalars)


# sets and dicts are made from lists: what is drawn again for being equal is printed as well
all_keys = st.recursive(
    scalar(), lambda inner: st.tuples(inner, inner) | st.lists(inner, max_size=3).map(frozenset) | st.builds(samples.Frozen, inner)
)


@st.composite
def key(draw: st.DrawFn) -> Any:
    return draw(all_keys)


nested = st.recursive(
    scalar(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.lists(st.tuples(key(), inner), max_size=3).map(dict)
        | st.lists(key(), max_size=3).map(set)
        | st.lists(key(), max_size=3).map(frozenset)
        | st.builds(samples.Point, inner, inner)
    ),
    max_leaves=12,
)


@given(st.lists(st.tuples(nested, st.integers(-(2**70), 2**70), st.text(st.characters())), max_size=4))
def test_all_that_may_travel_comes_back_exactly(rows: list[tuple[Any, ...]]) -> None:
    assert same(travel(rows), rows)


@pytest.mark.parametrize(
    "value",
    [
        "\ud800",
        {"\ud800": ["\udfff"]},
        [2**64, {2**65: -(2**63) - 1}],
        -(2**63),
        2**64 - 1,
        {None: 1, 1.5: 2, b"k": 3, True: 4},
        (),
        [[], {}, (), set(), frozenset()],
        float("-inf"),
        -0.0,
        decimal.Decimal("sNaN12"),
        decimal.Decimal("-0E+5"),
        dt.datetime(2020, 10, 25, 2, 30, fold=1, tzinfo=zoneinfo.ZoneInfo("Europe/Rome")),
        dt.datetime.max,
        uuid.UUID(int=1),
        samples.Empty(),
        samples.Frozen(samples.Frozen((1, 2))),
    ],
    ids=repr,
)
def test_corner_of_a_type_comes_back_exactly(value: Any) -> None:
    assert same(travel([(value,)]), [(value,)])


def test_plain_rows_go_as_they_are() -> None:
    rows = [(1, "a", b"b", None), (2**80, "\ud800", 1.5, True)]
    assert RowWrapper().wire_rows(rows, "c", "s", []) is rows


def test_rows_whose_values_have_names_travel_as_tuples() -> None:
    kind = values_type(("a", "b"))
    assert same(travel([kind((1, "x"))]), [(1, "x")])
    assert same(travel([kind((1, ("x",)))]), [(1, ("x",))])


def test_plain_columns_stay_untouched_beside_wrapped_ones() -> None:
    wired = RowWrapper().wire_rows([("a", (1,)), ("b", (2,))], "c", "s", ["x", "y"])
    assert [row[0] for row in wired] == ["a", "b"]
    assert type(wired[0][1]) is msgspec.msgpack.Ext


@pytest.mark.parametrize("beside", [[], [([2], 3)]], ids=["alone", "with others"])
def test_a_list_changed_after_it_was_taken_is_sent_as_it_was(beside: list[tuple[Any, ...]]) -> None:
    inner: list[Any] = [1]
    outer: dict[str, Any] = {"k": inner}
    wrapper = RowWrapper()
    wired = wrapper.wire_rows([(inner, outer), *beside], "c", "s", ["x", "y"])
    inner.append(object())
    outer["new"] = object()
    assert sent(wrapper, wired) == [([1], {"k": [1]}), *beside]


def test_instance_is_made_without_init_and_keeps_what_is_beside_its_fields() -> None:
    value, slotted = travel([(samples.Derived(3, scale=5), samples.WithSlot(1))])[0]
    assert (value.width, value.area, value.cached) == (3, 15, "beside the fields 15")
    assert (slotted.value, slotted.extra) == (1, 2)


def test_frozen_instance_stays_frozen() -> None:
    (value,) = travel([(samples.Frozen("a"),)])[0]
    with pytest.raises(FrozenInstanceError):
        value.name = "b"


def test_flags_and_enums_come_back_as_the_same_member() -> None:
    (row,) = travel([(samples.Color.RED, samples.Level.HIGH, samples.Access.READ | samples.Access.WRITE)])
    assert row[0] is samples.Color.RED
    assert row[1] is samples.Level.HIGH
    assert row[2] is samples.Access.READ | samples.Access.WRITE


class NoReduceError:
    def __reduce__(self) -> str:
        raise RuntimeError("never")


@pytest.mark.parametrize(
    ("value", "type_name", "cure"),
    [
        (samples.Plain(1), "tests.unit.transport.sample_classes.Plain", "pasps.wire.pickle: true"),
        (object(), "object", "emit plain values or a dataclass"),
        (type("Words", (str,), {"__module__": "m"})("x"), "m.Words", "emit str(value)"),
        (type("float64", (float,), {"__module__": "numpy"})(1.5), "numpy.float64", "emit value.item()"),
        (type("ndarray", (), {"__module__": "numpy"})(), "numpy.ndarray", "emit value.tolist()"),
        (samples.AlsoDict(), "tests.unit.transport.sample_classes.AlsoDict", "emit dict(value)"),
        (msgspec.msgpack.Ext(1, b""), "msgspec.msgpack.Ext", "dataclass"),
        (pickle.PickleBuffer(b""), "pickle.PickleBuffer", "dataclass"),
        (
            dt.datetime(2020, 1, 1, tzinfo=type("Zone", (dt.tzinfo,), {"__module__": "m"})()),
            "datetime.datetime",
            "its time zone is a m.Zone",
        ),
    ],
)
@pytest.mark.parametrize("nest", [lambda v: v, lambda v: [{"k": (v,)}]], ids=["bare", "nested"])
def test_a_value_that_cannot_travel_is_refused_with_place_and_cure(value: Any, type_name: str, cure: str, nest: Any) -> None:
    with pytest.raises(WireError) as caught:
        RowWrapper().wire_rows([("ok", 1), ("ok", nest(value))], "words", "late", ["word", "what"])
    error = caught.value
    assert (error.type_name, error.component, error.stream, error.field, error.row) == (type_name, "words", "late", "what", 1)
    assert cure in error.cure


def test_the_other_rows_of_a_batch_travel() -> None:
    rows = [(1,), (object(),), ((3,),), (object(),)]
    good, errors = RowWrapper().wire_each(rows, "c", "s", ["x"])
    assert good[0] == (1,)
    assert len(good) == 2
    assert [error.row for error in errors] == [1, 3]


def nest(levels: int, inner: Any, wrap: Any) -> Any:
    for _ in range(levels):
        inner = wrap(inner)
    return inner


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: (v,), lambda v: {"k": v}, lambda v: {1: v, (): 0}, samples.Point])
@pytest.mark.parametrize("beside", [[], [(1,)]], ids=["alone", "with others"])
def test_what_is_nested_too_deep_is_refused_alone(wrap: Any, beside: list[tuple[Any, ...]]) -> None:
    deep = nest(64, 2**70, wrap)
    assert travel([(deep,), *beside]) == [(deep,), *beside]
    rows = [(nest(5000, 1, wrap),), *beside]
    good, (error,) = RowWrapper().wire_each(rows, "words", "default", ["v"])
    assert good == beside
    assert "nested too deep, or contains itself; emit a flatter value" in str(error)


def test_a_list_that_contains_itself_does_so_at_the_other_end() -> None:
    loop: list[Any] = [1]
    loop.append({"again": loop})
    (came,) = travel([(loop,)])[0]
    assert came[0] == 1
    assert came[1]["again"] is came


def test_a_dataclass_that_contains_itself_is_refused() -> None:
    loop = samples.Point(1)
    loop.y = [loop]
    with pytest.raises(WireError, match="contains itself"):
        travel([(loop,)])


def test_a_field_without_value_has_none_at_the_other_end() -> None:
    value = samples.Derived(1)
    del value.area
    (came,) = travel([(value,)])[0]
    assert vars(came) == vars(value)


def test_anything_travels_where_pickling_is_allowed() -> None:
    rows = [(samples.Plain(3), [samples.Plain(4)], len)]
    assert travel(rows, allow_pickle=True) == rows
    with pytest.raises(WireError, match="cannot be pickled"):
        travel([(NoReduceError(),)], allow_pickle=True)


def test_pickles_are_refused_where_they_are_not_allowed() -> None:
    wrapper = RowWrapper(allow_pickle=True)
    rows = wrapper.wire_rows([(samples.Plain(1),)], "c", "s", ["x"])
    (frame,) = Encoder(wrapper).encode(Bundle([WireBatch(1, 2, 3, rows)]))
    with pytest.raises(ProtocolError, match=r"pasps\.wire\.pickle is off here"):
        Decoder().decode(frame[HEADER_BYTES:])


RAISED = [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), RecursionError("deep"), samples.MoodyError(1, 2), MemoryError()]


@pytest.fixture(params=RAISED, ids=lambda error: type(error).__name__)
def moods(request: pytest.FixtureRequest) -> Iterator[Callable[[str], None]]:
    """Lets the moody classes raise it in one of their methods."""
    yield lambda method: samples.MOODS.update({method: request.param})
    samples.MOODS.clear()


def test_what_a_type_raises_when_it_is_made_ready_costs_its_row_alone(moods: Callable[[str], None]) -> None:
    rows: list[tuple[Any, ...]] = [(1, "a"), (2, samples.Moody()), (3, samples.MoodyKey(4)), (5, "b")]
    moods("__reduce__")
    moods("__getattribute__")
    moods("__repr__")
    good, errors = RowWrapper(allow_pickle=True).wire_each(rows, "words", "default", ["n", "v"])
    assert good == [(1, "a"), (5, "b")]
    assert [error.row for error in errors] == [1, 2]
    for error in errors:
        assert "component 'words', stream 'default', field 'v'" in str(error)
        str(error).encode()


def test_what_a_type_raises_at_the_other_end_costs_its_row_alone(moods: Callable[[str], None]) -> None:
    wrapper, decoder, refused = RowWrapper(allow_pickle=True), Decoder(allow_pickle=True), list[Refusal]()
    key = samples.MoodyKey(1)
    rows: list[tuple[Any, ...]] = [(1,), (samples.Moody(),), ({key: 2},), ([{key}],), (frozenset({key}),), (6,)]
    wired = wrapper.wire_rows(rows, "words", "default", ["v"])
    (frame,) = Encoder(wrapper).encode(Bundle([WireBatch(1, 2, 3, wired, list(range(6)))]))
    moods("_again")
    moods("__hash__")
    bundle = decoder.decode(frame[HEADER_BYTES:], refused)
    assert isinstance(bundle, Bundle)
    assert bundle.batches[0].rows == [(1,), (6,)]
    assert [refusal.batch.roots for refusal in refused] == [[1], [2], [3], [4]]
    for refusal in refused:
        assert "at the other end" in str(refusal.error)
        str(refusal.error).encode()


def test_a_type_that_cannot_even_be_named_costs_its_row_alone() -> None:
    good, errors = RowWrapper().wire_each([(1,), (samples.Unnamed(),)], "words", "default", ["v"])
    assert good == [(1,)]
    assert "sample_classes.Unnamed" in str(errors[0])


@pytest.mark.parametrize("key", [None, True, 1.5, b"k", 2**70, "\ud800", (1, (2,)), samples.Color.RED, dt.date(2020, 1, 1)], ids=repr)
def test_dicts_keep_their_keys(key: Any) -> None:
    assert travel([({key: 1},), ([{key: {key: key}}],)]) == [({key: 1},), ([{key: {key: key}}],)]


@pytest.mark.parametrize("value", [samples.Text("x"), samples.Number(3), samples.Few((1, 2)), samples.Table(a=1)], ids=repr)
def test_subclasses_of_plain_types_are_refused_with_the_cure(value: Any) -> None:
    with pytest.raises(WireError, match=rf"emit {type(value).__mro__[1].__name__}\(value\)"):
        travel([(value,)])
    ((back,),) = travel([(value,)], allow_pickle=True)
    assert back == value


def test_a_class_whose_definition_is_larger_than_a_frame_is_refused() -> None:
    @dataclass
    class Local:
        value: int
        held = b"x" * 5000

    with pytest.raises(WireError, match=r"pickled, it takes .... bytes, more than a frame"):
        RowWrapper(most_frame_bytes=4096).wire_rows([(Local(1),)], "c", "s", ["x"])
