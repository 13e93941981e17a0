from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pasps.data.build_totals import key_files


@given(st.sets(st.text(max_size=200)))
def test_each_key_has_a_file_of_its_own_on_every_file_system(keys: set[str]) -> None:
    files = key_files(keys)
    assert set(files) == keys
    assert len({file.casefold() for file in files.values()}) == len(keys)
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*\.csv", file) and len(file) < 120 for file in files.values())


def test_a_plain_key_is_its_file() -> None:
    files = key_files(["INFO", "dfs.DataNode", "info", "a/b", ""])
    assert (files["INFO"], files["dfs.DataNode"]) == ("INFO.csv", "dfs.DataNode.csv")
    assert re.fullmatch(r"info-[0-9a-f]{8}\.csv", files["info"])
    assert re.fullmatch(r"a_b-[0-9a-f]{8}\.csv", files["a/b"])
    assert re.fullmatch(r"none-[0-9a-f]{8}\.csv", files[""])
