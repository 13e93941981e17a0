"""What a reader holds, and how much more it asks for."""

from __future__ import annotations

from pasps.connectors.read_ahead import Ahead, Tally

MIB = 1 << 20


def filled(count: int, size: int) -> Ahead[int]:
    ahead: Ahead[int] = Ahead()
    for number in range(count):
        ahead.put(number, size)
    return ahead


def read(ahead: Ahead[int], count: int, size: int) -> None:
    """So many come, and are taken."""
    for number in range(count):
        ahead.put(number, size)
    while ahead:
        ahead.pop()


def test_items_come_out_in_order() -> None:
    ahead = filled(3, 10)
    assert (len(ahead), [ahead.pop() for _ in range(3)], len(ahead)) == (3, [0, 1, 2], 0)


def test_of_what_nobody_knows_few_are_asked_for_and_of_small_ones_more_and_more() -> None:
    ahead: Ahead[int] = Ahead()
    asked = []
    for _ in range(8):
        asked.append(ahead.room())
        read(ahead, asked[-1], 100)
    assert asked == [16, 32, 64, 128, 256, 512, 1000, 1000]


def test_of_large_ones_fewer_are_asked_for_at_once() -> None:
    ahead: Ahead[int] = Ahead()
    for _ in range(10):
        read(ahead, ahead.room(), 100)
    assert ahead.room() == 1000
    read(ahead, 10, 4 * MIB)
    assert ahead.room() == 4


def test_there_is_no_room_beyond_a_number_or_some_bytes() -> None:
    assert filled(999, 1).room() == 1
    assert filled(1000, 1).room() == 0
    assert filled(15, MIB).room() == 1
    assert filled(16, MIB).room() == 0


def test_one_is_asked_for_however_large_they_are() -> None:
    ahead: Ahead[int] = Ahead()
    read(ahead, 1, 500 * MIB)
    assert ahead.room() == 1


def test_asked_again_it_says_the_same() -> None:
    ahead = filled(2, MIB)
    assert [ahead.room() for _ in range(3)] == [14, 14, 14]


def test_it_is_low_when_half_of_both_is_free() -> None:
    assert filled(500, 1).is_low()
    assert not filled(501, 1).is_low()
    assert filled(8, MIB).is_low()
    ahead = filled(9, MIB)
    assert not ahead.is_low()
    ahead.pop()
    assert ahead.is_low()


def test_a_tally_knows_what_is_left() -> None:
    tally = Tally()
    for size in (10, 20, 30):
        tally.put(size)
    tally.gone(20)
    assert tally.now() == (2, 40)
