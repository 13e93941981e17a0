"""The client of the masters' HTTP API, against a server that keeps the contract, and against what does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pasps.cli import exit_codes
from pasps.cluster.master.client import ClusterAddress, MasterAwayError, MasterClient, RefusedTokenError
from pasps.cluster.master.failures import UnknownTopologyError
from pasps.cluster.master.http_exchange import LostError
from pasps.cluster.master.records import EndedTopology, Submitted
from pasps.errors import BrokenError, BusyError, InvalidError, PaspsError, ProtocolError, TimeoutExpiredError, TopologyError
from tests.integration.fake_master import TOKEN, Master, RefusalError, nobody, serving

pytestmark = pytest.mark.integration


@pytest.fixture
def master() -> Iterator[Master]:
    with serving(Master()) as found:
        found.add("counting")
        yield found


def client(url: str, token: str | None = TOKEN) -> MasterClient:
    return MasterClient(ClusterAddress(url, token, "--master"))


def test_topologies_come_as_records(master: Master) -> None:
    master.add("a-first", "waiting", "2 more places", driver=None, workers=None)
    first, second = client(master.url).topologies()
    assert (first.name, first.state, first.detail, first.workers, first.process) == ("a-first", "waiting", "2 more places", None, "-")
    assert (second.name, second.process, second.desired.state) == ("counting", "41 on node-1", "active")
    assert client(master.url + "/").topology("counting") == second


def test_those_that_ended_come_the_oldest_first(master: Master) -> None:
    master.ended = [{"name": "b", "submitted": 1.0, "ended": 9.0, "summary": {"left": {}}}, {"name": "a", "submitted": 1.0, "ended": 2.0}]
    assert client(master.url).ended() == [EndedTopology("a", 1.0, 2.0), EndedTopology("b", 1.0, 9.0, {"left": {}})]


def test_a_verb_is_passed_on_with_its_arguments(master: Master) -> None:
    master.verbs["scale"] = lambda arguments: {"asked": arguments}
    assert client(master.url).call("counting", "scale", {"bolts": {"check": 3}}) == {"asked": {"bolts": {"check": 3}}}
    assert master.asked == [("POST", "/v1/topologies/counting/verbs/scale", f"Bearer {TOKEN}", b'{"bolts":{"check":3}}')]


def test_names_are_quoted(master: Master) -> None:
    with pytest.raises(UnknownTopologyError, match="there is no topology") as caught:
        client(master.url).topology("a/../b?c")
    assert exit_codes.code_of(caught.value) == exit_codes.NOT_RUNNING
    assert master.paths() == ["GET /v1/topologies/a%2F..%2Fb%3Fc"]


def test_a_package_is_sent_whole(master: Master, tmp_path: Path) -> None:
    package, said = tmp_path / "package.zip", list[str]()
    package.write_bytes(b"PK" * 100_000)
    assert client(master.url).submit(package, said.append) == Submitted("counting", 2)
    assert master.asked[0][3] == package.read_bytes()
    assert said == [f"sending 200,000 bytes to the master at {master.url} (--master)", "sent; the master checks it"]


def test_a_rebalance_says_all_of_it(master: Master) -> None:
    client(master.url).rebalance("counting", None, {"check": 8}, 2.5)
    assert master.bodies() == [{"workers": None, "pools": {"check": 8}, "wait": 2.5}]


# ---- another one leads


def test_a_follower_sends_to_the_leader_which_is_asked_from_then_on(master: Master) -> None:
    with serving(Master(leader=master.url)) as follower:
        asking = client(f"{follower.url},{master.url}")
        assert asking.topologies()[0].name == asking.topology("counting").name == "counting"
        assert follower.paths() == ["GET /v1/topologies"]
        assert [token for _, _, token, _ in master.asked] == [f"Bearer {TOKEN}"] * 2


def test_a_package_goes_to_the_leader_too(master: Master, tmp_path: Path) -> None:
    package = tmp_path / "package.zip"
    package.write_bytes(b"PK" * 1000)
    with serving(Master(leader=master.url)) as follower:
        assert client(f"{follower.url},{master.url}").submit(package).name == "counting"
    assert master.asked[0][3] == package.read_bytes()


def test_when_the_leader_is_gone_the_given_address_is_asked_again(master: Master) -> None:
    with serving(Master()) as follower:
        with serving(Master()) as first:
            asking = client(f"{follower.url},{first.url},{master.url}")
            follower.leader = first.url
            assert asking.topologies() == []
        follower.leader = master.url
        assert asking.topologies()[0].name == "counting"


def test_a_leader_that_cannot_be_reached_from_here_is_named() -> None:
    leader = nobody()
    with serving(Master(leader=leader)) as follower:
        for _ in range(2):
            with pytest.raises(
                MasterAwayError, match=f"says that {leader} leads, which cannot be reached: .*; give an address of the leader"
            ):
                client(f"{follower.url},{leader}").topologies()


def test_masters_that_send_to_each_other_are_not_followed_for_ever() -> None:
    with serving(Master()) as one, serving(Master()) as other:
        one.leader, other.leader = other.url, one.url
        with pytest.raises(MasterAwayError, match="send to each other; there is no leader now"):
            client(f"{one.url},{other.url}").topologies()
        assert len(one.asked) + len(other.asked) == 5


def test_of_several_masters_the_first_that_can_be_reached_is_asked(master: Master) -> None:
    assert client(f"{nobody()}, {nobody()}/,{master.url}/").topologies()[0].name == "counting"
    one, other = nobody(), nobody()
    with pytest.raises(MasterAwayError, match=f"cannot be reached: {one}: Connection refused; {other}: Connection refused"):
        client(f"{one},{other}").topologies()


def test_neither_token_nor_package_follows_a_redirect_to_whom_the_user_did_not_name(tmp_path: Path) -> None:
    package = tmp_path / "package.zip"
    package.write_bytes(b"PK" * 1000)
    with serving(Master()) as thief, serving(Master(leader=thief.url)) as follower:
        asking = client(follower.url)
        said = f"says that {thief.url} leads, which is not among the addresses given, so nothing .*--master {follower.url},{thief.url} "
        for ask in (asking.topologies, lambda: asking.submit(package), lambda: asking.call("counting", "status")):
            with pytest.raises(MasterAwayError, match=said):
                ask()
        assert thief.asked == []


@pytest.mark.parametrize(
    "location", ["https://{0}", "http://{0}.evil.example", "http://evil@{0}x", "//evil.example:1", "ftp://{0}", "http://{0}@evil:1"]
)
def test_a_redirect_to_something_like_a_master_is_not_followed(master: Master, location: str) -> None:
    host = master.url.removeprefix("http://")
    raw = f"HTTP/1.1 307 X\r\nLocation: {location.format(host)}/v1/topologies\r\nContent-Length: 0\r\n\r\n".encode()
    with serving(Master(raw=raw)) as odd, pytest.raises(MasterAwayError, match="is not among the addresses given"):
        client(f"{odd.url},{master.url}").topologies()
    assert master.asked == []


def test_a_redirect_to_nowhere_is_no_answer() -> None:
    with (
        serving(Master(raw=b"HTTP/1.1 307 X\r\nLocation: \r\nContent-Length: 0\r\n\r\n")) as odd,
        pytest.raises(ProtocolError, match="is no address"),
    ):
        client(odd.url).topologies()


# ---- errors


def test_a_master_that_is_down_is_said_with_its_cure() -> None:
    url = nobody()
    with pytest.raises(MasterAwayError, match="Connection refused; start a development cluster with `pasps cluster up`") as caught:
        client(url).topologies()
    assert str(caught.value).startswith(f"the master at {url} (--master) cannot be reached: ")
    assert not client(url).is_up()


def test_a_token_that_is_missing_or_wrong_is_said(master: Master) -> None:
    with pytest.raises(RefusedTokenError, match=r"\(--master\) wants a token; set PASPS_TOKEN"):
        client(master.url, None).topologies()
    with pytest.raises(RefusedTokenError, match="does not take this token; set PASPS_TOKEN"):
        client(master.url, "other").topologies()
    assert client(master.url, None).is_up()


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (RefusalError(404, "InvalidError", "it is not there"), UnknownTopologyError),
        (RefusalError(422, "TopologyError", "it cannot run"), TopologyError),
        (RefusalError(422, "RefusedPackageError", "it is none"), InvalidError),
        (RefusalError(409, "BusyError", "somebody else does"), BusyError),
        (RefusalError(409, "NameInUseError", "somebody else does"), BusyError),
        (RefusalError(503, "BrokenError", "no master leads now"), MasterAwayError),
        (RefusalError(504, "TimeoutExpiredError", "not in time"), TimeoutExpiredError),
        (RefusalError(502, "WorkerStartError", "its worker"), BrokenError),
        (RefusalError(500, "BrokenError", "the master failed"), BrokenError),
    ],
)
def test_what_is_refused_is_raised_as_what_it_was(master: Master, refusal: RefusalError, kind: type[PaspsError]) -> None:
    master.refusal = refusal
    with pytest.raises(kind, match=refusal.text):
        client(master.url).call("counting", "status")


def test_a_name_in_use_is_the_callers_to_change(master: Master, tmp_path: Path) -> None:
    master.refusal = RefusalError(409, "BusyError", "there is a topology 'counting' already")
    (tmp_path / "package.zip").touch()
    with pytest.raises(InvalidError, match="there is a topology 'counting' already"):
        client(master.url).submit(tmp_path / "package.zip")


def test_a_slow_answer_is_not_waited_for(master: Master) -> None:
    master.silent = threading.Event()
    with pytest.raises(TimeoutExpiredError, match=r"no answer within 0\.05 s; it is busy or stopped"):
        client(master.url).call("counting", "status", seconds=0.05)
    master.silent.set()


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 ", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"])
def test_one_that_comes_in_drops_is_waited_for_no_longer_than_another(begin: bytes) -> None:
    with serving(Master(raw=begin, drops=b".")) as slow, pytest.raises(TimeoutExpiredError, match=r"no answer within 0\.2 s"):
        client(slow.url).call("counting", "status", seconds=0.2)


@pytest.mark.parametrize(
    ("raw", "kind", "said"),
    [
        (b"SSH-2.0-OpenSSH\r\n", ProtocolError, "speaks no HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<p>", ProtocolError, "status 200, b'<p>'; is it the address of a pasps master"),
        (b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}", ProtocolError, "status 404"),
        (b"HTTP/1.1 302 No\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n", ProtocolError, "status 302"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", ProtocolError, "answered without 'topologies'"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{"topologies": [{}]}\n', ProtocolError, "of another version of pasps"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{", LostError, "closed the connection before its whole answer was here"),
        (b"", LostError, "closed the connection before its whole answer was here"),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(raw: bytes, kind: type[PaspsError], said: str) -> None:
    with serving(Master(raw=raw)) as odd:
        with pytest.raises(kind, match=said):
            client(odd.url).topologies()
        assert not client(odd.url).is_up()


@pytest.mark.parametrize("url", ["localhost:7700", "ftp://a", "http://", "http://a:x", "http://a:70000", "http://u:p@a", "http://a b", ""])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidError, match=r"--master '.*': expected the address of a master, for example http://"):
        client(url)


def test_what_is_no_token_is_refused() -> None:
    with pytest.raises(InvalidError, match="PASPS_TOKEN: expected a token of printable ASCII"):
        client("http://a", "töken")
