from __future__ import annotations

import os

from pasps.cli.views.output import MOST_LINES, Diverted, LineCatcher


def test_a_diverted_descriptor_goes_elsewhere_and_comes_back() -> None:
    (own_read, own), (other_read, other) = os.pipe(), os.pipe()
    with Diverted([own], other) as diverted:
        os.write(own, b"user ")
        os.write(diverted.original(own), b"view ")
    os.write(own, b"after")
    assert (os.read(own_read, 100), os.read(other_read, 100)) == (b"view after", b"user ")
    for descriptor in (own_read, own, other_read, other):
        os.close(descriptor)


def test_lines_are_kept_until_they_are_taken() -> None:
    catcher = LineCatcher()
    os.write(catcher.descriptor, "one\nzwei \u00e4\nhalf".encode())
    catcher.close()
    assert catcher.take() == ["one", "zwei ä", "half"]
    assert catcher.take() == []


def test_of_too_many_lines_the_last_ones_are_kept() -> None:
    catcher = LineCatcher()
    with os.fdopen(os.dup(catcher.descriptor), "w") as out:
        out.writelines(f"{n}\n" for n in range(MOST_LINES + 20))
    catcher.close()
    lines = catcher.take()
    assert lines[0] == "(20 lines of output left out)"
    assert (lines[1], lines[-1]) == ("20", str(MOST_LINES + 19))
