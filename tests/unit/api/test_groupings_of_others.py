"""Groupings that somebody else has written: found by name, their fields and options checked where they are used."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from pasps import Bolt, EndOfInput, Grouping, GroupingSpec, Spout, Topology, TopologyBuilder
from pasps.api import splitting
from pasps.api.groupings import Kind, OsgOptions
from pasps.errors import GroupingError, InvalidError, TopologyError
from pasps.groupings import MOST_PAYLOAD_BYTES, Carrying, GroupingType, Receiver, option


@dataclass(frozen=True)
class Options:
    share: float = option(0.5, "how much", above=0, most=1)
    most: int | None = option(None, "how many", least=1)


@dataclass(frozen=True)
class FromFile:
    table: str | None = option(None, "what to do", file=True)


def made(at: Any) -> Any:
    raise NotImplementedError


MINE = GroupingType("mine", "a test's own", made, options=Options, takes_fields=True)
PLAIN = GroupingType("plain", "a test's own", made, "any")
NO_TYPE = 3


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    here = __name__
    points = EntryPoints(
        EntryPoint(name, value, splitting.GROUP)
        for name, value in [
            ("mine", f"{here}:MINE"),
            ("plain", f"{here}:PLAIN"),
            ("gone", "no.such.module:GROUPING"),
            ("number", f"{here}:NO_TYPE"),
            ("shuffle", f"{here}:PLAIN"),
        ]
    )
    monkeypatch.setattr(splitting, "entry_points", points.select)


# ---- of()


@pytest.mark.usefixtures("installed")
def test_a_package_s_own_is_found_by_its_name() -> None:
    spec = Grouping.of("mine", "word", share=1, most=3)
    assert spec == GroupingSpec(Kind.REGISTERED, ("word",), options=Options(1.0, 3), type=MINE)
    assert type(spec.options.share) is float
    assert str(spec) == "mine(word)"
    assert Grouping.of("mine", ["a", "b"]).fields == ("a", "b")
    assert str(Grouping.of("plain")) == "plain"


def test_without_a_package_the_type_itself_will_do() -> None:
    assert Grouping.of(MINE, "word").options == Options()
    assert pickle.loads(pickle.dumps(Grouping.of(MINE, "word"))) == Grouping.of(MINE, "word")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mien", r"no package brings a grouping 'mien'; did you mean 'mine'\?"),
        ("Mine", r"no package brings a grouping 'Mine'; did you mean 'mine'\?"),
        ("qqq", "no package brings a grouping 'qqq'; installed packages bring 'gone', 'mine', 'number', 'plain', 'shuffle'"),
        ("shufle", "did you mean"),
        ("shuffle", "grouping 'shuffle' is one of pasps itself; write Grouping.SHUFFLE"),
        ("osg", r"write Grouping\.osg\(\.\.\.\)"),
        ("custom", r"write Grouping\.custom\(\.\.\.\)"),
        ("patial_key", r"did you mean Grouping\.partial_key\(\.\.\.\)\?"),
        ("gone", r"grouping 'gone': no\.such\.module:GROUPING does not load: ModuleNotFoundError\(.*\); mend that package, or install"),
        ("number", r"grouping 'number': .*:NO_TYPE is 3, no pasps\.groupings\.GroupingType"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(name: str, said: str) -> None:
    with pytest.raises(GroupingError, match=said):
        Grouping.of(name)


def test_with_no_package_at_all_there_is_none() -> None:
    with pytest.raises(GroupingError, match="no package brings a grouping 'qqq'; installed packages bring none"):
        Grouping.of("qqq")


@pytest.mark.parametrize(
    ("which", "names", "options", "said"),
    [
        (MINE, (), {}, "grouping 'mine' needs at least one field name"),
        (MINE, ("",), {}, "field names must be non-empty strings"),
        (PLAIN, ("word",), {}, "grouping 'plain' goes by no fields, got 'word'; leave them out"),
        (MINE, ("word",), {"shar": 1}, r"grouping 'mine' has no option 'shar'; did you mean 'share'\?"),
        (MINE, ("word",), {"window": 1}, "grouping 'mine' has no option 'window'; it has share, most"),
        (PLAIN, (), {"share": 1}, "grouping 'plain' has no option 'share'; it has none"),
        (MINE, ("word",), {"share": 2}, r"grouping 'mine': option 'share' must be a number above 0 and at most 1, got 2 \(int\)"),
        (MINE, ("word",), {"most": 1.5}, "option 'most' must be an integer of at least 1, or null, got 1.5"),
        (3, (), {}, r"of\(\) takes a grouping's name, or a pasps\.groupings\.GroupingType, got 3"),
        (made, (), {}, r"of\(\) takes a grouping's name"),
    ],
)
def test_fields_and_options_that_it_does_not_take_are_refused(which: Any, names: Any, options: Any, said: str) -> None:
    with pytest.raises(GroupingError, match=said):
        Grouping.of(which, *names, **options)


class Numbers(Spout):
    outputs = ["number"]

    def next_tuple(self) -> None:
        raise EndOfInput


class Keep(Bolt):
    def process(self, tup: Any) -> None: ...


def test_a_key_field_that_the_stream_has_not_is_refused_where_the_topology_is_defined() -> None:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("keep", Keep).grouping("numbers", Grouping.of(MINE, "word"))
    with pytest.raises(TopologyError, match=r"mine\(word\) names field 'word', which 'numbers' does not emit; its fields are 'number'"):
        builder.create_topology("wrong")


@pytest.mark.parametrize(("receivers", "keyed", "any_replica"), [("any", False, True), ("replica", False, False), ("task", True, False)])
def test_whom_it_addresses_decides_what_its_bolt_is(receivers: Any, keyed: bool, any_replica: bool) -> None:
    class Built(Topology):
        numbers = Numbers.spec()
        keep = Keep.spec(inputs={numbers: Grouping.of(GroupingType("mine", "a test's own", made, receivers))})

    plan = Built.blueprint().components["keep"]
    assert (plan.keyed, plan.any_replica, plan.observed) == (keyed, any_replica, False)


# ---- the record


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "Mine"}, "a grouping's name has small letters"),
        ({"name": ""}, "a grouping's name has small letters"),
        ({"splitter": 3}, "grouping 'mine': expected something to call that makes a splitter"),
        ({"observer": 3}, "and an observer or None"),
        ({"receivers": "all"}, "expected receivers of 'any', 'replica' or 'task', got 'all'"),
        ({"observer": made, "receivers": "any"}, "who looks at what a replica executed must name it; give it receivers='replica'"),
        ({"options": int}, "expected a frozen dataclass of options, got <class 'int'>"),
        ({"options": FromFile}, "option 'table' is a file, which nobody reads for a grouping; let it be a text"),
    ],
)
def test_a_record_that_cannot_be_is_refused_where_it_is_made(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidError, match=said):
        GroupingType(**{"name": "mine", "about": "a test's own", "splitter": made, **change})


# ---- payloads


def test_a_payload_is_bytes_and_not_too_many() -> None:
    sent: list[Any] = []
    receiver = Receiver("a", "default", "b", (), (), None, 0, lambda payload, sender: sent.append((payload, sender)))
    receiver.tell(b"x")
    receiver.tell(b"x" * MOST_PAYLOAD_BYTES, 7)
    assert [(len(payload), sender) for payload, sender in sent] == [(1, None), (MOST_PAYLOAD_BYTES, 7)]
    long = b"x" * (MOST_PAYLOAD_BYTES + 1)
    for wrong, said in [("x", "a payload is bytes, got 'x'"), (long, "a payload of 65537 bytes, expected at most 65536")]:
        with pytest.raises(GroupingError, match=said):
            receiver.tell(wrong)  # type: ignore[arg-type]
        with pytest.raises(GroupingError, match=said):
            Carrying([3], {3: wrong})  # type: ignore[dict-item]


def test_a_payload_belongs_to_a_row_that_is_picked() -> None:
    assert Carrying(range(3), {2: b"x"}) == [0, 1, 2]
    with pytest.raises(GroupingError, match=r"payloads of rows \[3\], expected some of \[0, 1, 2\]"):
        Carrying(range(3), {3: b"x"})


# ---- osg()


def test_osg_is_the_paper_s_unless_it_is_told_otherwise() -> None:
    spec = Grouping.osg("value")
    assert (spec.kind, spec.fields, spec.options) == (Kind.OSG, ("value",), OsgOptions(0.05, 0.05, 0.05, 1024, True))
    assert (spec.options.rows, spec.options.columns) == (5, 55)
    assert (spec.receivers, spec.observed, str(spec)) == ("replica", True, "osg(value)")
    other = Grouping.osg("a", "b", epsilon=0.7, delta=0.25, mu=0.1, window=10, resync=False).options
    assert (other.rows, other.columns) == (2, 4), "the paper's example"


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        ((), {}, r"osg\(\) needs at least one field name"),
        (("a",), {"epsilom": 0.1}, r"osg\(\) has no option 'epsilom'; did you mean 'epsilon'\?"),
        (("a",), {"epsilon": 0}, r"osg\(\): option 'epsilon' must be a number of at least 0.01 and at most 1, got 0"),
        (("a",), {"delta": 1}, "option 'delta' must be a number of at least 0.001 and at most 0.5, got 1"),
        (("a",), {"mu": 0}, "option 'mu' must be a number above 0"),
        (("a",), {"window": 0}, "option 'window' must be an integer of at least 1"),
        (("a",), {"resync": 1}, "option 'resync' must be true or false"),
    ],
)
def test_osg_with_what_cannot_be_is_refused(names: Any, options: Any, said: str) -> None:
    with pytest.raises(GroupingError, match=said):
        Grouping.osg(*names, **options)
