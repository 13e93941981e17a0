"""Asks the masters of a cluster over HTTP. Blocks its caller, never longer than it said.

What it is told comes as the records of which `app` made it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from pasps.clock import Clock, SystemClock
from pasps.cluster.master.failures import UnknownTopologyError
from pasps.cluster.master.http_exchange import MOST_ANSWER_BYTES, Answer, HttpRequest, LostError, NotConnectedError, exchange
from pasps.cluster.master.records import EndedTopology, Rebalance, Submitted, TopologyView
from pasps.cluster.store.tokens import TOKEN_VARIABLE
from pasps.errors import BrokenError, BusyError, InvalidError, PaspsError, ProtocolError, TimeoutExpiredError
from pasps.topology.verbs import error_of

_T = TypeVar("_T")

ANSWER_SECONDS = 10.0
SUBMIT_SECONDS = 180.0
"""From the end of the upload: the master imports the topology before it answers."""
_MOST_REDIRECTS = 4
_TOPOLOGIES = "/v1/topologies"
_VARIABLE = "PASPS_MASTER"
_PORTS = {"http": 80, "https": 443}
_OTHER_WAY = "give an address of the leader that can be reached from here, or ask again when another has taken over"
_HEALTH = "/healthz"


def read(value: Any, kind: type[_T], what: str) -> _T:
    """A record out of what came as JSON.

    Raises:
        ProtocolError: it is something else; begins with `what`.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{what}: expected {kind}, perhaps it is of another version of pasps: {error}") from error


class MasterAwayError(BrokenError):
    """No master answers now, or the one that does cannot act now; it may later."""


class RefusedTokenError(InvalidError):
    """The master does not take the token, or wants one."""


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """Where a cluster's masters are, "URL" or "URL,URL"; `said_by` is the option, variable or file that says so."""

    master: str
    token: str | None = field(repr=False)
    said_by: str


class MasterClient:
    """Keeps no connection. Remembers who leads, and asks at the given addresses again when that one is gone.

    Follows redirects among the given addresses alone: what a master says of another one comes from ZooKeeper, and the token must not
    go wherever somebody writes there.
    """

    def __init__(self, address: ClusterAddress, clock: Clock | None = None) -> None:
        """Checks the address and the token, and asks nobody.

        Raises:
            InvalidError: it is no address, or no token.
        """
        self.address = address
        self._urls = _checked_urls(address)
        self._token = _authorization(address)
        self._clock = clock or SystemClock()
        self._leader: str | None = None

    @property
    def url(self) -> str:
        """The address of the first."""
        return self._urls[0]

    def is_up(self) -> bool:
        """Whether a master of pasps answers there; needs no token, raises nothing."""
        try:
            answer, _ = self._ask("GET", _HEALTH, None, ANSWER_SECONDS, MOST_ANSWER_BYTES)
            told = msgspec.json.decode(answer.body)
        except (PaspsError, msgspec.DecodeError, UnicodeDecodeError):
            return False
        # its status says whether the store can be reached, which is another question
        return isinstance(told, dict) and "leads" in told

    def topologies(self) -> list[TopologyView]:
        """All of the cluster, by name.

        Raises:
            MasterAwayError: no master answers, or none leads.
            RefusedTokenError: it does not take the token.
            TimeoutExpiredError: no answer in time.
            ProtocolError: what answers there is no master of this version.
        """
        told = self._field("topologies", self._json("GET", _TOPOLOGIES))
        return sorted(read(told, list[TopologyView], self._whose()), key=lambda view: view.name)

    def topology(self, name: str) -> TopologyView:
        """One of them. Raises as `topologies` does, and UnknownTopologyError when there is none of that name."""
        return read(self._json("GET", _of(name)), TopologyView, self._whose())

    def ended(self) -> list[EndedTopology]:
        """The last that are over, the oldest first. Raises as `topologies` does."""
        told = read(self._field("ended", self._json("GET", "/v1/ended")), list[EndedTopology], self._whose())
        return sorted(told, key=lambda view: view.ended)

    def call(self, name: str, verb: str, arguments: Mapping[str, Any] | None = None, seconds: float | None = ANSWER_SECONDS) -> Any:
        """The result of a verb of a topology; None as `seconds` waits without end.

        Raises:
            UnknownTopologyError: there is no such topology.
            PaspsError: what the topology answered, or as `topologies` does.
        """
        told = self._json("POST", f"{_of(name)}/verbs/{quote(verb, safe='')}", dict(arguments or {}), seconds)
        return self._field("result", told)

    def submit(self, package: Path, say: Callable[[str], None] = lambda _: None) -> Submitted:
        """Hand over a package. When it is back the topology is kept by the cluster, and starts.

        Raises:
            InvalidError: the package is refused, or its name is in use.
            LostError: the connection broke; whether it was submitted is not known.
            PaspsError: as `topologies` does.
        """
        say(f"sending {package.stat().st_size:,} bytes to {self._whose()}")
        try:
            sent = partial(say, "sent; the master checks it")
            answer, base = self._ask("POST", _TOPOLOGIES, package, SUBMIT_SECONDS, MOST_ANSWER_BYTES, sent)
            told = self._checked(answer, base)
        except BusyError as error:
            raise InvalidError(str(error)) from error
        return read(told, Submitted, self._whose())

    def rebalance(self, name: str, workers: int | None, pools: Mapping[str, int], wait: float | None) -> Any:
        """Give a topology other workers or pools; back when that was checked and written down: its workers are about to be restarted.

        Raises:
            UnknownTopologyError: there is no such topology.
            PaspsError: it is refused, or as `topologies` does.
        """
        # its package is checked again, as when it was submitted
        return self._json("POST", f"{_of(name)}/rebalance", Rebalance(workers, dict(pools), wait), SUBMIT_SECONDS)

    def _json(self, method: str, path: str, body: Any = None, seconds: float | None = ANSWER_SECONDS) -> Any:
        answer, base = self._ask(method, path, None if body is None else msgspec.json.encode(body), seconds, MOST_ANSWER_BYTES)
        return self._checked(answer, base)

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | Path | None,
        seconds: float | None,
        most: int,
        sent: Callable[[], None] | None = None,
    ) -> tuple[Answer, str]:
        """The answer of the master that leads, and its address."""
        content = {} if body is None else {"Content-Type": "application/zip" if isinstance(body, Path) else "application/json"}
        # whoever listens there may ask for nothing, and is only asked whether it is there
        token = {} if path == _HEALTH else self._token
        request = HttpRequest(method, {"Accept": "application/json", **token, **content}, body, most, sent)
        base, redirects = self._leader or self.url, 0
        away: dict[str, NotConnectedError] = {}
        while True:
            try:
                answer = exchange(base + path, request, seconds, self._clock)
            except NotConnectedError as error:
                away[base], self._leader = error, None
                others = [url for url in self._urls if url not in away]
                if not others:
                    raise self._nobody(away) from error
                base = others[0]  # another one may lead by now, or know who does
                continue
            except LostError as error:
                raise LostError(f"{self._whose(base)}: {error}") from error
            except TimeoutExpiredError as late:
                raise TimeoutExpiredError(f"{self._whose(base)}: {late}; it is busy or stopped") from late
            except ProtocolError as error:
                raise ProtocolError(f"{self._whose(base)}: {error}; is it the address of a pasps master?") from error
            if answer.status not in (307, 308):
                self._leader = base
                return answer, base
            redirects += 1
            if redirects > _MOST_REDIRECTS:
                raise MasterAwayError(f"{self._whose()} and others send to each other; there is no leader now, try again in a moment")
            leader, self._leader = self._redirected(base, path, answer), None
            if leader in away:
                raise MasterAwayError(
                    f"{self._whose(base)} says that {leader} leads, which cannot be reached: {away[leader]}; {_OTHER_WAY}"
                )
            base = leader

    def _redirected(self, base: str, path: str, answer: Answer) -> str:
        """Which of the given addresses is the leader's, out of where a follower sends to."""
        target = urljoin(base + path, answer.location or "")
        if not answer.location or not urlsplit(target).hostname:
            raise ProtocolError(f"{self._whose(base)} sends to {answer.location!r}, which is no address")
        leader = target.partition("?")[0].removesuffix(path).rstrip("/")
        for url in self._urls:
            if _origin(url) == _origin(leader):
                return url
        given = ",".join(self._urls)
        raise MasterAwayError(
            f"{self._whose(base)} says that {leader} leads, which is not among the addresses given, so nothing is sent there; if it is a "
            f"master of the cluster give both, --master {given},{leader} (or {_VARIABLE}), or its address through a tunnel"
        )

    def _nobody(self, away: Mapping[str, NotConnectedError]) -> MasterAwayError:
        said = "; ".join(f"{url}: {error}" for url, error in away.items()) if len(away) > 1 else str(*away.values())
        cure = "start a development cluster with `pasps cluster up`, or give another address with --master URL"
        return MasterAwayError(f"{self._whose()} cannot be reached: {said}; {cure}")

    def _checked(self, answer: Answer, base: str) -> Any:
        """What a good answer says; raises for the others."""
        try:
            told = msgspec.json.decode(answer.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            told = None
        if answer.status in (401, 403):
            raise self._refused()
        if 200 <= answer.status < 300 and told is not None:
            return told
        error = told.get("error") if isinstance(told, dict) else None
        if not isinstance(error, dict):
            said = f"status {answer.status}, {answer.body[:80]!r}"
            raise ProtocolError(f"{self._whose(base)} answered with {said}; is it the address of a pasps master?")
        text = str(error.get("text"))
        if answer.status == 404:
            raise UnknownTopologyError(text)
        if answer.status == 503:
            raise MasterAwayError(f"{self._whose(base)}: {text}")
        raise _refusal(answer.status, error.get("kind"), text)

    def _refused(self) -> RefusedTokenError:
        problem = "wants a token" if self.address.token is None else "does not take this token"
        where = "which is in the file `token` in its home when it was started without one"
        return RefusedTokenError(f"{self._whose()} {problem}; set {TOKEN_VARIABLE} to its own, {where}")

    def _field(self, name: str, told: Any) -> Any:
        if not isinstance(told, dict) or name not in told:
            raise ProtocolError(f"{self._whose()} answered without {name!r}; is it of another version of pasps?")
        return told[name]

    def _whose(self, base: str | None = None) -> str:
        return f"the master at {base or self.url} ({self.address.said_by})" if base in (None, self.url) else f"the master at {base}"


def _refusal(status: int, kind: object, text: str) -> PaspsError:
    """What was answered; of a kind that only masters know the status says whose fault it is."""
    error = error_of(kind, text)
    if type(error) is not BrokenError or not 400 <= status < 500:
        return error
    return BusyError(text) if status == 409 else InvalidError(text)


def _of(name: str) -> str:
    return f"{_TOPOLOGIES}/{quote(name, safe='')}"


def _origin(url: str) -> tuple[str, str | None, int]:
    """What an address has in common with others of the same server; of what is no address, with nobody."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return url, None, 0


def _checked_urls(address: ClusterAddress) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_checked_url(address, url.strip().rstrip("/")) for url in address.master.split(",")))


def _checked_url(address: ClusterAddress, url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0 and url.isprintable()
    except ValueError:
        good = False
    if not good or " " in url or parts.query or parts.fragment or parts.username is not None:
        raise InvalidError(f"{address.said_by} {url!r}: expected the address of a master, for example http://127.0.0.1:8627")
    return url


def _authorization(address: ClusterAddress) -> dict[str, str]:
    if address.token is None:
        return {}
    if not (address.token.isascii() and address.token.isprintable()):
        raise InvalidError(f"{TOKEN_VARIABLE}: expected a token of printable ASCII characters")
    return {"Authorization": f"Bearer {address.token}"}
