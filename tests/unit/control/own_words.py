"""What tells a policy's explanations from those of any other: for the tests of each in the simulator and live."""

from __future__ import annotations

from pasps.control.policies import BUILT_IN

FOLLOWING = [name for name in BUILT_IN if name != "static"]
"""The policies that follow the load."""
OWN_WORDS = {
    "pasps": "events expected in the next",
    "pa-sps": "[Eq. 2]",
    "presps": "as just came in",
    "ra-sps": "overloaded",
    "dabs": "idealK",
    "incremental": "of their time on events",
    "rlearning": "became due for it in the last 30 s",
    "srea": "events of the next {td}",
    "spea": "events of the next {td}",
    "cba": "above what the fewest replicas cost themselves",
    "optimal": "above what the fewest replicas cost themselves",
    "ds2": "a replica's true rate is",
    "threshold": "% is the target",
}


def own_words(policy: str, td: str) -> str:
    """What is said of a decision by this policy alone; `td` is its interval as texts have it, `30 s` say."""
    return OWN_WORDS[policy].format(td=td)
