"""How two processes, workers mostly, prove to each other that they hold the same secret, without sending it.

Pure: generators that take and give payloads; `tcp` drives them, and `greet` and `admit` over whatever else can read and write.

    dialer                                      listener
    HELLO    identity, nonce          ─────▶
                                      ◀─────    CHALLENGE  identity, nonce
    PROOF    HMAC("dialer", both)     ─────▶    checks it, and that the incarnation is not an old one
                                      ◀─────    WELCOME    HMAC("listener", both)

Each proof is an HMAC-SHA256 over its role, both identities and both nonces, so none can be replayed or reflected; the listener
gives its own only to a dialer that has proved itself. At any point either side may answer REFUSE with its reason, and is gone.
It proves who opened the connection; it does not encrypt what follows.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Generator
from typing import Annotated, cast

import msgspec

from pasps.errors import AuthenticationError, PaspsError, ProtocolError
from pasps.transport.frames import HEADER_BYTES, seal

VERSION = 2
MAGIC = b"PASPS"
NONCE_BYTES = 32
MOST_HANDSHAKE_BYTES = 1024
"""Largest payload that anybody who can reach the port may send."""

HELLO, CHALLENGE, PROOF, WELCOME, REFUSE = range(1, 6)
_KINDS = {HELLO: "HELLO", CHALLENGE: "CHALLENGE", PROOF: "PROOF", WELCOME: "WELCOME", REFUSE: "REFUSE"}

# as long as a topology's name may be where it is defined (`api/validate`)
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
_Bytes32 = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class Identity(msgspec.Struct, frozen=True, array_like=True):
    """Who a worker is; its incarnation grows each time that it is started anew."""

    topology: _Name
    worker: _Name
    incarnation: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]

    def __str__(self) -> str:
        return f"{self.worker}-{self.incarnation} of {self.topology!r}"


class Introduction(msgspec.Struct, frozen=True, array_like=True):
    """Body of HELLO and of CHALLENGE."""

    identity: Identity
    nonce: _Bytes32


class Incarnations:
    """The highest incarnation of each worker that has proved itself; one for all connections of a worker."""

    def __init__(self) -> None:
        self._highest: dict[str, int] = {}

    def admit(self, peer: Identity) -> None:
        """Notes an authenticated peer.

        Raises:
            AuthenticationError: a higher incarnation of it is known, so this one should have ended.
        """
        highest = self._highest.get(peer.worker, -1)
        # the same one again is no older process: its connection was lost, and is made anew
        if peer.incarnation < highest:
            raise AuthenticationError(f"worker {peer}: expected incarnation {highest} or later; an older process of it is still running")
        self._highest[peer.worker] = peer.incarnation


Steps = Generator[bytes | None, memoryview | bytes, tuple[Identity, bytes | None]]
"""`next` gives the first payload to send, or None; `send(payload received)` the next one; it returns the peer and a last payload."""


def dialer(me: Identity, secret: bytes, nonce: bytes, seen: Incarnations, expect: str | None = None) -> Steps:
    """The side that connects; `expect` is the worker that it wants to find, None for any.

    Raises:
        ProtocolError: the peer does not speak this protocol, or another version of it.
        AuthenticationError: it refused, is not the one expected, or could not prove that it holds the secret.
    """
    theirs = _introduction(_body((yield _message(HELLO, _encode(Introduction(me, nonce)))), CHALLENGE), CHALLENGE)
    peer = theirs.identity
    _check_identity(me, nonce, theirs)
    if expect is not None and peer.worker != expect:
        raise AuthenticationError(f"worker {peer}: expected worker {expect!r} at this address")
    transcript = _transcript(Introduction(me, nonce), theirs)
    welcome = _body((yield _message(PROOF, _proof(secret, b"dialer", transcript))), WELCOME)
    _check_proof(welcome, secret, b"listener", transcript, peer)
    seen.admit(peer)
    return peer, None


def listener(me: Identity, secret: bytes, nonce: bytes, seen: Incarnations) -> Steps:
    """The side that is connected to; raises as `dialer` does."""
    theirs = _introduction(_body((yield None), HELLO), HELLO)
    _check_identity(me, nonce, theirs)
    transcript = _transcript(theirs, Introduction(me, nonce))
    proof = _body((yield _message(CHALLENGE, _encode(Introduction(me, nonce)))), PROOF)
    _check_proof(proof, secret, b"dialer", transcript, theirs.identity)
    # only now: an incarnation that nobody has proved must not shut the true one out
    seen.admit(theirs.identity)
    return theirs.identity, _message(WELCOME, _proof(secret, b"listener", transcript))


Read = Callable[[int], Awaitable[bytes]]
"""Gives exactly so many bytes."""
Write = Callable[[bytes], Awaitable[object]]


async def greet(me: Identity, secret: bytes, expect: str, read: Read, write: Write) -> Identity:
    """As `dialer`, over a connection that nobody makes again: the peer. Time is the caller's to limit.

    Raises:
        ProtocolError, AuthenticationError: as that does; the peer is told.
        ConnectionError: it ended the connection.
        Exception: what else `read` and `write` raise.
    """
    return await _shake(dialer(me, secret, secrets.token_bytes(NONCE_BYTES), Incarnations(), expect), read, write)


async def admit(me: Identity, secret: bytes, read: Read, write: Write) -> Identity:
    """As `listener`, and otherwise as `greet`: no incarnation is too old here."""
    return await _shake(listener(me, secret, secrets.token_bytes(NONCE_BYTES), Incarnations()), read, write)


async def _shake(steps: Steps, read: Read, write: Write) -> Identity:

    async def say(payload: bytes | None) -> None:
        if payload is not None:
            await write(bytes(seal(bytearray(HEADER_BYTES) + payload)))

    try:
        said = next(steps)
        while True:
            await say(said)
            size = int.from_bytes(await read(HEADER_BYTES), "big")
            if size > MOST_HANDSHAKE_BYTES:
                raise ProtocolError(f"frame of {size} bytes: expected the handshake of a peer, at most {MOST_HANDSHAKE_BYTES}")
            said = steps.send(await read(size))
    except StopIteration as end:
        peer, last = end.value
        await say(last)
        return cast(Identity, peer)
    except (ProtocolError, AuthenticationError) as error:
        with contextlib.suppress(OSError):
            await say(refusal(error))
        raise
    except asyncio.IncompleteReadError as error:
        raise ConnectionResetError("the other side ended the connection before it had proved itself") from error


def refusal(error: PaspsError) -> bytes:
    """What to send before closing, so that the other side can say why."""
    return _message(REFUSE, str(error).encode("utf-8", "replace")[:300])


_encode = msgspec.msgpack.Encoder().encode
_decode_introduction = msgspec.msgpack.Decoder(Introduction).decode


def _message(kind: int, body: bytes) -> bytes:
    return MAGIC + VERSION.to_bytes(2, "big") + bytes([kind]) + body


def _body(payload: memoryview | bytes, expected: int) -> bytes:
    data = bytes(payload)
    head = len(MAGIC)
    if len(data) > MOST_HANDSHAKE_BYTES or len(data) < head + 3 or data[:head] != MAGIC:
        raise ProtocolError(f"expected the {_KINDS[expected]} of a worker, got {data[:20]!r}")
    version, kind, body = int.from_bytes(data[head : head + 2], "big"), data[head + 2], data[head + 3 :]
    if version != VERSION:
        raise ProtocolError(f"peer speaks protocol version {version}, this worker {VERSION}; install the same pasps on every host")
    if kind == REFUSE:
        raise AuthenticationError(f"peer refused: {body[:300].decode('utf-8', 'replace')}")
    if kind != expected:
        raise ProtocolError(f"expected {_KINDS[expected]}, got {_KINDS.get(kind, kind)}")
    return body


def _introduction(body: bytes, kind: int) -> Introduction:
    try:
        return _decode_introduction(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"malformed {_KINDS[kind]}: {error}") from error


def _check_identity(me: Identity, nonce: bytes, theirs: Introduction) -> None:
    peer = theirs.identity
    if peer.topology != me.topology:
        raise AuthenticationError(f"worker {peer}: expected a worker of topology {me.topology!r}")
    if peer.worker == me.worker or hmac.compare_digest(theirs.nonce, nonce):
        raise AuthenticationError(f"worker {peer}: a worker does not connect to itself")


def _transcript(dialing: Introduction, listening: Introduction) -> bytes:
    # encoded, not joined: each part says its own length, so no two pairs of introductions give the same bytes
    return _encode([VERSION, dialing, listening])


def _proof(secret: bytes, role: bytes, transcript: bytes) -> bytes:
    return hmac.new(secret, role + b"\0" + transcript, hashlib.sha256).digest()


def _check_proof(proof: bytes, secret: bytes, role: bytes, transcript: bytes, peer: Identity) -> None:
    if not hmac.compare_digest(proof, _proof(secret, role, transcript)):
        raise AuthenticationError(f"peer that says it is worker {peer}: it does not hold the topology's secret")
