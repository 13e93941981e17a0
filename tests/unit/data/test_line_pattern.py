from __future__ import annotations

import pytest

from pasps.data.record_source import java_pattern, pattern_groups
from pasps.errors import InvalidError


def test_groups_may_be_named_as_java_or_python_does() -> None:
    assert pattern_groups(r"(a)(?<time>b)(?P<user>c)(?<=d)(?<!e)(?:f)(?=g)(?i)(?>h)(?<last>i)") == {"time": 2, "user": 3, "last": 4}
    assert java_pattern(r"(?P<time>b)(?<user>c)") == r"(?<time>b)(?<user>c)"


@pytest.mark.parametrize(
    "before", [r"\(", r"[(]", r"[^(]", r"[](]", r"[^](]", r"[\](]", r"[a[(]b(]", r"[a-z&&[^(]]", r"\Q([\E", r"\\\(", r"\p{L}++", r"a]"]
)
def test_what_begins_no_group_is_not_counted(before: str) -> None:
    assert pattern_groups(before + r"(x)(?<time>.*)") == {"time": 2}


@pytest.mark.parametrize("pattern", ["(.*)", "", r"\(?<time>", r"\Q(?<time>.*)"])
def test_a_pattern_without_a_time_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidError, match="expected a group for the time"):
        pattern_groups(pattern)
