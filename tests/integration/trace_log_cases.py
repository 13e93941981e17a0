"""Lines of logs of every format, written by hand, with what becomes of each."""

from __future__ import annotations

from pasps.data.record_source import Kind
from tests.integration.trace_case import Case, Line

BLANK: Line = ("", Kind.BLANK)
NONSENSE: Line = ("no time is in here", Kind.NO_TIME)


def _cut(time: str) -> list[Line]:
    """The beginning of a line up to the end of its time, cut everywhere."""
    return [(time[:end], Kind.NO_TIME) for end in range(1, len(time))]


LOGS = (
    Case(
        "hdfs",
        [
            ("230517 081530 17 INFO dfs.DataNode: x", "2023-05-17 08:15:30"),
            ("230517 081530 18 WARN dfs.DataNode: out of order and twice", "2023-05-17 08:15:30"),
            ("080229 235959 1 INFO a: leap day", "2008-02-29 23:59:59"),
            ("070229 235959 1 INFO a: no leap year", Kind.UNREADABLE),
            ("230517 241530 1 INFO a: no such hour", Kind.UNREADABLE),
            ("230517 081531", "2023-05-17 08:15:31"),
            ("230517 0815307 1 INFO a: a digit too many", Kind.NO_TIME),
            ("\tat a.stack.Trace(Of.java:1)", Kind.NO_TIME),
            *_cut("230517 081530"),
            BLANK,
            ("   \t", Kind.BLANK),
            NONSENSE,
        ],
        {"format": "hdfs"},
    ),
    Case(
        "spark",
        [
            ("21/08/03 09:25:50 INFO executor.Executor: x", "2021-08-03 09:25:50"),
            ("21/08/03 00:00:00 WARN a.B: midnight", "2021-08-03 00:00:00"),
            ("21/08/03 00:00:00.5 WARN a.B: x", "2021-08-03 00:00:00"),
            ("21/13/03 00:00:00 WARN a.B: no such month", Kind.UNREADABLE),
            ("21/08/03 09:25:507 WARN a.B: a digit too many", Kind.UNREADABLE),
            *_cut("21/08/03 09:25:50"),
            NONSENSE,
        ],
        {"format": "spark"},
    ),
    Case(
        "openssh",
        [
            ("Nov 17 16:08:32 host sshd[1]: x", "2015-11-17 16:08:32"),
            ("Jan  1 00:00:00 host sshd[1]: one digit", "2015-01-01 00:00:00"),
            ("Feb 29 00:00:00 host sshd[1]: not that year", Kind.UNREADABLE),
            ("Nob 17 16:08:32 host sshd[1]: no such month", Kind.UNREADABLE),
            ("May 1", Kind.NO_TIME),
            ("Dec  1 was the last", Kind.NO_TIME),
            *_cut("Nov 17 16:08:32"),
            NONSENSE,
        ],
        {"format": "openssh", "year": 2015},
    ),
    Case(
        "apache",
        [
            ("[Tue May 16 21:05:09 2023] [notice] x", "2023-05-16 21:05:09"),
            ("[Tue May 16 21:05:09.123456 2023] [core:error] [pid 1] x", "2023-05-16 21:05:09.123456"),
            ("[Tue May 36 21:05:09 2023] [notice] x", Kind.UNREADABLE),
            ("[client 1.2.3.4] the time is missing", Kind.NO_TIME),
            ("[Tue May 16 21:05 2023] [notice] x", Kind.NO_TIME),
            ("[Tue May 16 2023] [notice] x", Kind.NO_TIME),
            *_cut("[Tue May 16 21:05:09.123456 2023]"),
            NONSENSE,
        ],
        {"format": "apache"},
    ),
    Case(
        "apache-access",
        [
            ('1.2.3.4 - - [16/May/2023:21:05:09 -0700] "GET / HTTP/1.0" 200 1', "2023-05-16 21:05:09-07:00"),
            ('1.2.3.4 - u [16/May/2023:21:05:09 +0530] "GET /[x] HTTP/1.0" 404 1 "-" "[y]"', "2023-05-16 21:05:09+05:30"),
            ('1.2.3.4 - - [46/May/2023:21:05:09 -0700] "GET / HTTP/1.0" 200 1', Kind.UNREADABLE),
            *_cut("1.2.3.4 - - [16/May/2023:21:05:09 -0700]"),
            NONSENSE,
        ],
        {"format": "apache-access"},
    ),
    Case(
        "bgl",
        [
            ("- 1684311330 2023.05.17 R01 2023-05-17-01.15.30.250000 R01 RAS KERNEL INFO x", "2023-05-17 08:15:30"),
            ("APPREAD -1 1969.12.31 R02 x", "1969-12-31 23:59:59"),
            ("- 99999999999999999999 2023.05.17 R02 x", Kind.UNREADABLE),
            ("Caused 3 errors here", Kind.NO_TIME),
            ("total 5d x", Kind.NO_TIME),
            *_cut("- 1684311330 2023.05.17"),
            NONSENSE,
        ],
        {"format": "bgl"},
    ),
    Case(
        "thunderbird",
        [("- 1684271109 2023.05.16 node7 May 16 14:05:09 node7/node7 crond[1]: x", "2023-05-16 21:05:09"), NONSENSE],
        {"format": "thunderbird"},
    ),
    Case(
        "regex",
        [
            ("a at 29/02/2024 23:59; x", "2024-02-29 23:59:00+01:00"),
            ("b at 30/02/2024 23:59; x", Kind.UNREADABLE),
            ("c at ; x", Kind.NO_TIME),
            NONSENSE,
        ],
        {"format": "regex", "pattern": "at (?P<time>[^;]*);", "time_format": "dd/MM/yyyy HH:mm", "time_zone": "Europe/Berlin"},
    ),
    Case(
        "pattern-of-java",
        [("été (1) 2024-02-29", "2024-02-29"), ("2 (1) 2024-02-29", Kind.NO_TIME)],
        {"format": "regex", "pattern": r"^\p{L}++ \Q(\E(\d)\) (?<time>\S+)$"},
    ),
    Case(
        "pattern-with-zone",
        [("29/Feb/2024:23:59:59 -0800", "2024-02-29 23:59:59-08:00")],
        {"format": "regex", "pattern": "^(?<time>.*)$", "time_format": "dd/MMM/yyyy:HH:mm:ss Z", "time_zone": "Asia/Tokyo"},
    ),
)
