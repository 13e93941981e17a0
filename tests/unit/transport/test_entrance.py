"""What a door takes for itself; how it treats who comes is in tests/integration."""

from __future__ import annotations

import resource

import pytest

from pasps.transport.entrance import share_of_files


@pytest.mark.parametrize(("files", "most"), [(256, 64), (1024, 256), (1 << 20, 1024), (resource.RLIM_INFINITY, 1024), (2, 4)], ids=str)
def test_connections_leave_files_to_others(files: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert share_of_files(4, 1024) == most
