"""Records of every format, written by hand, with what becomes of each."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Sequence
from typing import Any

from pasps.data.record_source import Kind
from tests.integration.trace_case import Case, Line, text
from tests.integration.trace_log_cases import BLANK, LOGS


def zstd(content: bytes) -> bytes:
    """Zstandard's format, without the compression: one frame of one raw block."""
    return b"\x28\xb5\x2f\xfd\xa0" + len(content).to_bytes(4, "little") + (len(content) << 3 | 1).to_bytes(3, "little") + content


PACKED = {"a/one.csv.gz": gzip.compress, "a/b/two.csv.bz2": bz2.compress, "three.csv.zst": zstd, "four.csv": bytes}
OBJECT = '{"user": {"at": "2024-02-29T10:00:00Z"}}'
HEADER: Line = ("id,time,what", Kind.HEADER)
CSV = {"format": "csv", "time_column": "time"}
CELLS: list[Line] = [
    HEADER,
    ("1,2024-02-29T23:59:59.999999Z,a", "2024-02-29 23:59:59.999999"),
    ('2,"2024-03-01 00:00:00","a, ""quoted"" b"', "2024-03-01 00:00:00"),
    ('"a,b",2024-02-28T00:00:00+02:00,', "2024-02-28 00:00:00+02:00"),
    ('3,2024-02-28 12:30,not "really" quoted', "2024-02-28 12:30"),
    ("11, 2024-02-28 13:30, blanks", "2024-02-28 13:30"),
    ('12, "2024-02-28 14:30" ,blanks and quotes', "2024-02-28 14:30"),
    ("13,\t2024-02-28 15:30\t,tabs", "2024-02-28 15:30"),
    ("4,,a", Kind.NO_TIME),
    ("14, ,a", Kind.NO_TIME),
    ('15, "",a', Kind.NO_TIME),
    ("5,yesterday,a", Kind.UNREADABLE),
    ("6,2024-02-30,a", Kind.UNREADABLE),
    ("7,12:30:00,a", Kind.UNREADABLE),
    ("8,2024-02-28", Kind.COLUMNS),
    ("9,2024-02-28,a,b", Kind.COLUMNS),
    ('10,2024-02-28,"never closed', Kind.CSV),
    HEADER,
    BLANK,
]
TABLES = (
    Case("csv", CELLS, CSV),
    Case("csv-crlf-bom", CELLS, CSV, files={"records.csv": b"\xef\xbb\xbf" + text(CELLS, "\r\n")}),
    Case(
        "csv-line-breaks-in-quotes",
        [
            HEADER,
            ('1,2024-02-29 01:00:00,"begins', Kind.CSV),
            ("2,2024-02-29 02:00:00,in a text", "2024-02-29 02:00:00"),
            ('ends"', Kind.CSV),
            ("3,2024-02-29 03:00:00,10%", "2024-02-29 03:00:00"),
            ("20%", Kind.COLUMNS),
        ],
        CSV,
        files={
            "records.csv": b'id,time,what\n1,2024-02-29 01:00:00,"begins\n2,2024-02-29 02:00:00,in a text\nends"\n'
            b"3,2024-02-29 03:00:00,10%\r20%\n"
        },
    ),
    Case(
        "csv-headers-that-agree",
        [HEADER, ("id,time,gr\xf6sse", Kind.HEADER), *CELLS[1:3], BLANK, BLANK, ("time,id,what", Kind.UNREADABLE)],
        CSV,
        files={
            "a.csv": b"\r\n \r\n" + text([HEADER, CELLS[1]], "\r\n"),
            "b.csv": "id,time,gr\xf6sse\n".encode("latin-1") + text([CELLS[2], ("time,id,what", "")]),
        },
    ),
    Case(
        "csv-no-header-first-lines",
        [
            ("garbage", Kind.COLUMNS),
            (f'2024-02-29;"{"x;" * 70_000}"', "2024-02-29"),
            (f"2024-02-29;{'x' * 200_000}", "2024-02-29"),
            ("2024-03-01;", "2024-03-01"),
        ],
        {"format": "csv", "time_column": "1", "delimiter": ";", "header": False},
    ),
    Case(
        "csv-no-header",
        [("a;2024-02-29 01:02:03;b", "2024-02-29 01:02:03"), ("a;2024-02-29 01:02:03", Kind.COLUMNS)],
        {"format": "csv", "time_column": "2", "delimiter": ";", "header": False},
    ),
    *(
        Case(
            f"csv-between-{name}",
            [
                (f"a{mark}2024-02-29 01:02:03{mark}", "2024-02-29 01:02:03"),
                (f'"a{mark}b"{mark}"2024-02-29 01:02:04"{mark}c', "2024-02-29 01:02:04"),
                (f"a{mark}{mark}b", Kind.NO_TIME),
                (f"a{mark}2024-02-29 01:02:03{mark}b{mark}", Kind.COLUMNS),
            ],
            {"format": "csv", "time_column": "2", "delimiter": mark, "header": False},
        )
        for name, mark in (("bars", "|"), ("tabs", "\t"), ("dots", "."), ("carets", "^"))
    ),
    Case(
        "csv-padded-for-a-pattern",
        [("x,29/02/2024 23:59:59 ", "2024-02-29 23:59:59"), ("x, 29/02/2024 23:59:59\t", "2024-02-29 23:59:59")],
        {"format": "csv", "time_column": "2", "time_format": "dd/MM/yyyy HH:mm:ss", "header": False},
    ),
    Case(
        "compressed-and-nested",
        [*[HEADER] * 4, *[(f"{i},2024-02-29 00:00:{i:02},x", f"2024-02-29 00:00:{i:02}") for i in range(40)]],
        CSV,
        files={
            name: pack(text([HEADER, *[(f"{i},2024-02-29 00:00:{i:02},x", "") for i in range(first, first + 10)]]))
            for first, (name, pack) in zip(range(0, 40, 10), PACKED.items(), strict=True)
        },
    ),
    Case(
        "dns",
        [
            ("SourceIP,TimeStamp,Duration,DoH", Kind.HEADER),
            ("1.2.3.4,2020-01-14 15:49:11,95.08,True", "2020-01-14 15:49:11"),
            ("1.2.3.4,2020-01-14 15:49:11,not used,True", "2020-01-14 15:49:11"),
            ("1.2.3.4,14.1.2020,1,True", Kind.UNREADABLE),
        ],
        {"format": "dns"},
    ),
    Case(
        "jsonl",
        [
            ('{"id": 1, "user": {"at": "2024-02-29T10:00:00Z"}}', "2024-02-29 10:00:00"),
            ('{"user": {"at": "2024-02-29T10:00:00Z", "says": "}{ and \\" } {"}}', "2024-02-29 10:00:00"),
            ('  {"user": {"at": "2024-02-29 12:00:00,250"}}  ', "2024-02-29 12:00:00.250"),
            ('\t{"user": {"at": "2024-02-29 12:00:00"}}\t', "2024-02-29 12:00:00"),
            ('{"user": {"at": null}}', Kind.NO_TIME),
            ('{"user": 7}', Kind.NO_TIME),
            ('{"delete": {"id": 1}}', Kind.NO_TIME),
            ('{"user": {"at": "soon"}}', Kind.UNREADABLE),
            (f'{OBJECT[:-1]}, "text": "cut he', Kind.JSON),
            (f'{OBJECT[:-1]}, "text": "cut here}}', Kind.JSON),
            (f'{OBJECT[:-1]}, "user": nobody}}', Kind.JSON),
            (f'{OBJECT[:-1]}, "deep": {"[" * 5000}{"]" * 5000}}}', Kind.JSON),
            *((OBJECT + between + OBJECT, Kind.JSON) for between in ("", " ", "  ", "\t", ",", ", ", "],[", "x")),
            *((OBJECT + more, Kind.JSON) for more in ("}", " garbage}", '{"a": 1}', ",", "]", ', "a": {}')),
            *((before + OBJECT, Kind.JSON) for before in ("{", "[", ", ", "1, ", '"a": ')),
            ("[1, 2]", Kind.JSON),
            ("no JSON", Kind.JSON),
            BLANK,
        ],
        {"format": "jsonl", "time_column": "user.at"},
    ),
    Case(
        "tweets",
        [
            ('{"created_at": "Tue May 16 21:05:09 +0000 2023", "text": "x"}', "2023-05-16 21:05:09"),
            ('{"data": {"created_at": "2023-05-16T21:05:09.000Z"}}', "2023-05-16 21:05:09"),
            ('{"created_at": "Tue May 42 21:05:09 +0000 2023"}', Kind.UNREADABLE),
            ('{"limit": {"track": 1}}', Kind.NO_TIME),
        ],
        {"format": "tweets"},
    ),
)


def _times(name: str, lines: Sequence[Line], **request: Any) -> Case:
    """Times alone, each a line."""
    step, span = request.pop("step", 1_000_000), request.pop("span", None)
    return Case(name, lines, {"format": "regex", "pattern": "^(?<time>.*)$", **request}, step, span=span)


def _as_they_are(*times: str) -> list[Line]:
    return [(time, time) for time in times]


SPRING = _as_they_are("2024-03-31 01:59:59", "2024-03-31 02:00:00", "2024-03-31 02:30:00", "2024-03-31 03:00:00", "2024-03-31 03:30:00")
AUTUMN = _as_they_are("2024-10-27 01:59:59", "2024-10-27 02:00:00", "2024-10-27 02:59:59", "2024-10-27 03:00:00", "2024-10-27")
ZONED = _as_they_are("2024-10-27T02:30:00+02:00", "2024-10-27T02:30:00+01:00", "2024-10-27T00:30:00Z")
SOME = _as_they_are(
    "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z", "1969-12-31T23:59:52Z", "2000-02-29T00:00:00Z", "1600-02-29T12:00:00Z"
)
TIMES = (
    _times("berlin", SPRING + AUTUMN + ZONED, time_zone="Europe/Berlin"),
    _times("steps-of-7-seconds", SOME, step=7_000_000),
    _times("steps-of-half-a-second", [*SOME, ("2024-02-29T00:00:00.500Z", "2024-02-29T00:00:00.500Z")], step=500_000),
    _times("steps-of-a-day", SOME, step=86_400_000_000),
    _times(
        "years",
        [
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999"),
            ("0001-01-01T00:00:00+01:00", Kind.UNREADABLE),
            ("9999-12-31T23:59:59-01:00", Kind.UNREADABLE),
        ],
    ),
    _times(
        "cut",
        [
            ("2024-02-29 10", "2024-02-29 10:00:00"),
            ("2024-02-29T10:20", "2024-02-29 10:20:00"),
            ("2024-02-29 9:20:30", "2024-02-29 09:20:30"),
            ("2024-02-29T10:20:30.5", "2024-02-29 10:20:30.500"),
            ("2024-02-29T10:20:30+05", "2024-02-29 10:20:30+05:00"),
            *((time, Kind.UNREADABLE) for time in ("2024-02-2", "2024-02-29T", "2024-02-29 1", "2024-02-29 10:2", "2024-02-29T10:20:3")),
            *((f"2024-02-29T10:20:30{zone}", Kind.UNREADABLE) for zone in ("+", "+0", "+05:", "-05:3")),
            *((f"2024-02-29 10:20:{cut}", Kind.UNREADABLE) for cut in ("30.1+01:3", "30.1-01:3", "30.1+1", "30.1-1", "3 ")),
        ],
    ),
    _times(
        "within",
        _as_they_are("2024-02-29 00:00:00", "2024-02-29 23:59:59.999999", "2024-03-01 00:00:00", "2024-02-28 23:59:59.999999"),
        span=("2024-02-29", "2024-03-01"),
    ),
    _times(
        "seconds",
        [
            ("1709251199", "2024-02-29T23:59:59+00:00"),
            ("1709251199.999999", "2024-02-29T23:59:59.999999+00:00"),
            ("-0.5", "1969-12-31T23:59:59.500+00:00"),
            ("1.7e9", "2023-11-14T22:13:20+00:00"),
            ("NaN", Kind.UNREADABLE),
            ("Infinity", Kind.UNREADABLE),
            ("1709251199000", Kind.UNREADABLE),
            *((text, Kind.UNREADABLE) for text in ("2024-02-29", "1709251199d", "1709251199f", "0x1p30", "1.7e", "-")),
        ],
        time_format="seconds",
    ),
    _times("millis", [("1709251199999", "2024-02-29T23:59:59.999+00:00"), ("-1", "1969-12-31T23:59:59.999+00:00")], time_format="millis"),
    _times("micros", [("1709251199999999", "2024-02-29T23:59:59.999999+00:00"), ("1.5", Kind.UNREADABLE)], time_format="micros"),
    _times(
        "nanos",
        [
            ("1709251199999999999", "2024-02-29T23:59:59.999999+00:00"),
            ("-1", "1969-12-31T23:59:59.999999+00:00"),
            ("-1000", "1969-12-31T23:59:59.999999+00:00"),
            ("9223372036854775807", "2262-04-11T23:47:16.854775+00:00"),
            ("-9223372036854775000", "1677-09-21T00:12:43.145225+00:00"),
            ("-9223372036854775808", Kind.UNREADABLE),
            ("9223372036854775808", Kind.UNREADABLE),
        ],
        time_format="nanos",
    ),
    _times(
        "years-of-a-pattern",
        [
            ("2024-07-01", "2024-07-01"),
            *((f"{year}-01-01", Kind.UNREADABLE) for year in (0, 10001, 290000, 999999999, -999999999, 9999999999)),
        ],
        time_format="y-MM-dd",
        time_zone="Europe/Berlin",
    ),
    _times(
        "steps-from-the-year-1-on",
        [
            ("0001-01-03T23:59:59Z", Kind.UNREADABLE),
            ("0001-01-04T00:00:00Z", "0001-01-04T00:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ],
        step=7 * 86_400_000_000,
    ),
    Case("nothing", [], CSV),
)

CASES = (*LOGS, *TABLES, *TIMES)
