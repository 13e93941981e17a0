"""Policies by name: ours, those of packages, and what is said when there is none."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from pasps.control import policies
from pasps.control.policies import BUILT_IN, Policy, policy_named, policy_names
from pasps.control.policies.static import Options, plan
from pasps.errors import ConfigError

MINE = Policy("mine", "a test's own", plan, Options)
NO_POLICY = 3
NAMES = """
    pasps pa-sps presps ra-sps dabs incremental rlearning srea spea cba optimal ds2 threshold static
""".split()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that bring a policy, one that cannot be imported, one that has not what it says, and one that is something else."""
    here = __name__
    points = EntryPoints(
        EntryPoint(name, value, policies.GROUP)
        for name, value in [
            ("mine", f"{here}:MINE"),
            ("gone", "no.such.module:POLICY"),
            ("empty", f"{here}:NOTHING"),
            ("number", f"{here}:NO_POLICY"),
            ("older", "tests.unit.control.policy_of_one_parameter:POLICY"),
            ("oldest", "tests.unit.control.policy_with_flags:POLICY"),
            ("static", f"{here}:NO_POLICY"),
        ]
    )
    monkeypatch.setattr(policies, "entry_points", points.select)


@pytest.mark.parametrize("name", NAMES)
def test_ours_are_found_by_name(name: str) -> None:
    assert policy_named(name).name == name
    assert policy_named(name) is BUILT_IN[name]


def test_an_unknown_name_is_refused_with_the_nearest_or_with_all() -> None:
    with pytest.raises(ConfigError, match=r"'pasps\.policy' names no policy: 'pa_sps'; did you mean 'pa-sps'\?"):
        policy_named("pa_sps")
    with pytest.raises(ConfigError, match=f"names no policy: 'qqq'; there are {', '.join(NAMES)}"):
        policy_named("qqq")


@pytest.mark.usefixtures("installed")
def test_a_package_s_own_is_found_and_cannot_take_a_name_of_ours() -> None:
    assert policy_named("mine").about == "a test's own"
    assert policy_named("static") is BUILT_IN["static"]
    assert policy_names() == [*NAMES, "empty", "gone", "mine", "number", "older", "oldest"]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gone", r"names 'gone', and no\.such\.module:POLICY does not load: ModuleNotFoundError"),
        ("empty", "names 'empty', and .*:NOTHING does not load: AttributeError"),
        ("older", r"its plan is called as plan\(situation, options\), which it does not take"),
        ("oldest", r"does not load: TypeError.*; say Policy\(name, about, plan, options, Needs\("),
        ("number", r"names 'number', and .*:NO_POLICY is 3, no pasps\.control\.policies\.Policy"),
    ],
)
def test_one_that_does_not_load_or_is_none_is_refused(name: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        policy_named(name)
