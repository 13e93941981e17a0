from __future__ import annotations

from pathlib import Path

import pytest

from pasps.errors import InvalidError
from pasps.worker import place as worker_place
from pasps.worker.messages import LogText, ReadLog
from pasps.worker.place import address_to_bind, log_text


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "w0.log"
    path.write_bytes(b"one\ntwo\nthree\n")
    return path


# ---- the interface


@pytest.mark.parametrize(
    ("wanted", "bound"),
    [
        ("", "10.1.2.3"),
        ("0.0.0.0", "0.0.0.0"),
        ("node7", "node7"),
        ("127.0.0.0/8", "127.0.0.1"),
        ("127.0.0.1/8", "127.0.0.1"),
        ("127.0.0.0/31", "127.0.0.1"),
        ("127.0.0.1/32", "127.0.0.1"),
    ],
)
def test_a_worker_listens_where_it_is_told_in_a_network_or_where_its_controller_reached_it(wanted: str, bound: str) -> None:
    assert address_to_bind(wanted, "10.1.2.3") == bound


@pytest.mark.parametrize("wanted", ["10.0.0.0/33", "node7/8", "/", "10.0.0/8"])
def test_what_is_no_network_is_refused(wanted: str) -> None:
    with pytest.raises(InvalidError, match=r"pasps\.worker\.host: expected an address or a network"):
        address_to_bind(wanted, "127.0.0.1")


def test_a_machine_that_is_not_in_the_network_is_refused() -> None:
    with pytest.raises(InvalidError, match=r"pasps\.worker\.host: .*203\.0\.113\.0/24"):
        address_to_bind("203.0.113.0/24", "127.0.0.1")


# ---- the log


@pytest.mark.parametrize(
    ("lines", "text"),
    [(1, "three\n"), (2, "two\nthree\n"), (3, "one\ntwo\nthree\n"), (10_000, "one\ntwo\nthree\n")],
)
def test_the_last_lines_and_where_they_end(log: Path, lines: int, text: str) -> None:
    assert log_text(log, ReadLog(5, None, lines)) == LogText(5, text, 14)


def test_who_goes_on_where_it_was_gets_what_came_since(log: Path) -> None:
    first = log_text(log, ReadLog(1, None, 1))
    assert log_text(log, ReadLog(2, first.offset, 1)) == LogText(2, "", 14)
    with log.open("ab") as file:
        file.write(b"four\nfi")
    assert log_text(log, ReadLog(3, first.offset, 1)) == LogText(3, "four\nfi", 21)


def test_from_the_beginning(log: Path) -> None:
    assert log_text(log, ReadLog(1, 0, 1)).text == "one\ntwo\nthree\n"


def test_a_log_that_was_begun_anew_is_read_from_its_last_lines(log: Path) -> None:
    assert log_text(log, ReadLog(1, 1000, 2)) == LogText(1, "two\nthree\n", 14)


def test_a_long_log_comes_in_parts_and_no_part_is_lost(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_place, "_MOST_LOG_BYTES", 5)
    text, offset = "", 0
    for _ in range(3):
        part = log_text(log, ReadLog(1, offset, 1))
        text, offset = text + part.text, part.offset
    assert text == "one\ntwo\nthree\n"
    assert log_text(log, ReadLog(1, offset, 1)).text == ""
    assert log_text(log, ReadLog(1, None, 3)).text == "hree\n"


def test_of_many_lines_no_more_is_read_than_they_may_have(log: Path) -> None:
    log.write_text("".join(f"{number}\n" for number in range(5000)))
    text = log_text(log, ReadLog(1, None, 3)).text
    assert text == "4997\n4998\n4999\n"


def test_long_lines_are_given_whole(log: Path) -> None:
    log.write_text("short\n" + 500 * "a" + "\n" + 500 * "b" + "\n")
    text = log_text(log, ReadLog(1, None, 2)).text
    assert text == 500 * "a" + "\n" + 500 * "b" + "\n"


def test_what_is_no_text_is_shown_as_far_as_it_can_be(log: Path) -> None:
    log.write_bytes(b"\xff\xfe\n")
    assert log_text(log, ReadLog(1, None, 1)).text == "\ufffd\ufffd\n"


@pytest.mark.parametrize("most", [4, 5, 6, 7, 8])
def test_a_character_that_lies_across_two_parts_is_read_whole(log: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(worker_place, "_MOST_LOG_BYTES", most)
    whole = "a\u00e9\u20ac\U0001f600z\u20ac\u20ac\n"
    log.write_text(whole, encoding="utf-8")
    text, offset = "", 0
    for _ in range(len(whole)):
        part = log_text(log, ReadLog(1, offset, 1))
        text, offset = text + part.text, part.offset
    assert text == whole


@pytest.mark.parametrize("asked", [ReadLog(1, None, 5), ReadLog(1, 0, 5)])
def test_a_character_that_is_being_written_is_read_when_it_is_whole(log: Path, asked: ReadLog) -> None:
    euro = "\u20ac".encode()
    log.write_bytes(b"costs " + euro[:2])
    first = log_text(log, asked)
    assert first.text == "costs "
    with log.open("ab") as file:
        file.write(euro[2:] + b" 5\n")
    assert log_text(log, ReadLog(2, first.offset, 1)).text == "\u20ac 5\n"


def test_what_is_shown_of_a_line_that_is_too_long_begins_with_a_whole_character(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_place, "_MOST_LOG_BYTES", 8)
    log.write_text(20 * "\u20ac" + "\n", encoding="utf-8")
    assert log_text(log, ReadLog(1, None, 1)).text == "\u20ac\u20ac\n"


def test_an_empty_log_is_empty(log: Path) -> None:
    log.write_bytes(b"")
    assert log_text(log, ReadLog(1, None, 10)) == LogText(1, "", 0)


def test_a_log_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    said = log_text(tmp_path / "none.log", ReadLog(4, 7, 1))
    assert (said.number, said.offset) == (4, 0)
    assert "none.log cannot be read" in said.text


def test_a_worker_that_writes_to_its_parents_terminal_has_no_log() -> None:
    assert log_text(None, ReadLog(4, 7, 1)) == LogText(4, "", 0)
