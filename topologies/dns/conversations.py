"""Synthetic DNS traffic: conversations of clients with a resolver, interleaved by time, as wire messages; the same for a seed.

Events come in windows of `WINDOW`. A window's plan says which message of which conversation each of its events is; it is made
from the seed and the window's number alone, so any event can be made in any process, without those before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Literal

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from topologies.dns.domain_names import carrier, generated, reverse, site, visited

Kind = Literal["benign", "dga", "tunnel"]

WINDOW = 600
WINDOW_SECONDS = 60.0
_BEGIN = 1_700_000_000.0
_SERVERS = ("192.0.2.53", "198.51.100.53", "203.0.113.53")
_MALFORMED_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Conversation:
    """A client and a resolver for some seconds, for one purpose; lookup i takes place at `times[i]` and is answered `rtt[i]` later."""

    kind: Kind
    flow: str
    tag: str
    times: tuple[float, ...]
    rtt: tuple[float, ...]
    sites: tuple[str, ...]
    load: int


@dataclass(frozen=True, slots=True)
class Planned:
    """Which message an event is, and when it was on the wire."""

    conversation: Conversation
    lookup: int
    is_answer: bool
    at: float


@dataclass(frozen=True, slots=True)
class Lookup:
    """One question with its answer."""

    name: str
    record: str
    code: dns.rcode.Rcode = dns.rcode.NOERROR
    texts: tuple[str, ...] = ()


def message(seed: int, event: int) -> tuple[str, float, bytes]:
    """Flow, time in seconds since the epoch, and wire format of an event; one in a hundred is damaged."""
    plan = planned(seed, event)
    wire = _wire(plan)
    dice = Random(f"damage:{seed}:{event}")
    if dice.random() < _MALFORMED_SHARE:
        wire = damaged(wire, dice)
    return plan.conversation.flow, plan.at, wire


def planned(seed: int, event: int) -> Planned:
    """What the event is."""
    window, place = divmod(event, WINDOW)
    return _plan(seed, window)[place]


@lru_cache(maxsize=16)
def _plan(seed: int, window: int) -> tuple[Planned, ...]:
    """The window's messages, by time."""
    dice = Random(f"window:{seed}:{window}")
    messages: list[Planned] = []
    for place in range(WINDOW):
        if len(messages) >= WINDOW:
            break
        talk = _conversation(dice, f"{seed}:{window}:{place}", window, place)
        for lookup, (at, rtt) in enumerate(zip(talk.times, talk.rtt, strict=True)):
            messages += [Planned(talk, lookup, False, at), Planned(talk, lookup, True, at + rtt)]
    return tuple(sorted(messages[:WINDOW], key=lambda planned: planned.at))


def _conversation(dice: Random, tag: str, window: int, place: int) -> Conversation:
    kind: Kind = dice.choices(("benign", "dga", "tunnel"), (6, 2, 2))[0]
    lookups = dice.randint(12, 50)
    begin = _BEGIN + window * WINDOW_SECONDS + dice.random() * WINDOW_SECONDS / 4
    mean_gap = {"benign": 0.9, "dga": 0.5, "tunnel": 0.3}[kind] * dice.uniform(0.5, 1.5)
    times = [begin]
    for _ in range(lookups - 1):
        # people load a page, which asks for several names at once, and then read; machines keep a pace
        gap = dice.expovariate(1 / mean_gap) if kind == "benign" else mean_gap * dice.uniform(0.6, 1.4)
        times.append(times[-1] + (0.01 if kind == "benign" and dice.random() < 0.5 else gap))
    number = (window * 64 + place) % (1 << 24)
    client = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    return Conversation(
        kind=kind,
        flow=f"{client}>{dice.choice(_SERVERS)}",
        tag=tag,
        times=tuple(round(time, 6) for time in times),
        rtt=tuple(round(dice.uniform(0.004, 0.08), 6) for _ in times),
        sites=tuple(site(dice) for _ in range(dice.randint(2, 6) if kind == "benign" else 1)),
        load=dice.randint(16, 110),
    )


def _browse(dice: Random, talk: Conversation) -> Lookup:
    roll = dice.random()
    name = visited(dice, dice.choice(talk.sites))
    if roll < 0.05:
        return Lookup(reverse(dice), "PTR", dice.choice((dns.rcode.NOERROR, dns.rcode.NXDOMAIN)))
    if roll < 0.09:
        return Lookup(dice.choice(talk.sites), "TXT", texts=("v=spf1 include:mail.example ~all",))
    if roll < 0.14:
        return Lookup(name, "A", dns.rcode.NXDOMAIN)
    if roll < 0.15:
        return Lookup(name, "A", dns.rcode.SERVFAIL)
    return Lookup(name, dice.choice(("A", "A", "AAAA", "HTTPS")))


def _seek(dice: Random, talk: Conversation) -> Lookup:
    return Lookup(generated(dice), "A", dns.rcode.NXDOMAIN if dice.random() < 0.93 else dns.rcode.NOERROR)


def _carry(dice: Random, talk: Conversation) -> Lookup:
    """Data goes out in the name, and comes back in the record."""
    name = carrier(dice, talk.sites[0], max(8, talk.load + dice.randint(-8, 8)))
    record = dice.choice(("TXT", "TXT", "NULL", "CNAME"))
    return Lookup(name, record, texts=tuple(dice.randbytes(60).hex() for _ in range(dice.randint(1, 3))))


_LOOKUPS: dict[Kind, Callable[[Random, Conversation], Lookup]] = {"benign": _browse, "dga": _seek, "tunnel": _carry}


def _wire(plan: Planned) -> bytes:
    """The message's bytes; the answer repeats its question, as answers do."""
    dice = Random(f"lookup:{plan.conversation.tag}:{plan.lookup}")
    lookup = _LOOKUPS[plan.conversation.kind](dice, plan.conversation)
    query = dns.message.make_query(lookup.name, lookup.record, id=dice.randrange(1 << 16))
    if not plan.is_answer:
        return query.to_wire()
    answer = dns.message.make_response(query)
    answer.set_rcode(lookup.code)
    answer.flags |= dns.flags.RA
    if lookup.code == dns.rcode.NOERROR:
        answer.answer.append(_records(dice, query, lookup))
    return answer.to_wire(want_shuffle=False)  # the same each time


def _records(dice: Random, query: dns.message.Message, lookup: Lookup) -> dns.rrset.RRset:
    values: dict[str, Callable[[], list[str]]] = {
        "A": lambda: [f"192.0.2.{dice.randint(1, 254)}" for _ in range(dice.randint(1, 3))],
        "AAAA": lambda: [f"2001:db8::{dice.randint(1, 65_535):x}"],
        "HTTPS": lambda: ["1 . alpn=h2,h3"],
        "PTR": lambda: [f"host-{dice.randint(1, 99)}.net.example."],
        "CNAME": lambda: [f"{''.join(lookup.texts)[:60]}.{lookup.name.rpartition('.')[2]}."],
        "TXT": lambda: [" ".join(f'"{text}"' for text in lookup.texts)],
        "NULL": lambda: [f"\\# {len(''.join(lookup.texts)) // 2} {''.join(lookup.texts)}"],
    }
    return dns.rrset.from_text_list(query.question[0].name, dice.choice((60, 300, 3600)), "IN", lookup.record, values[lookup.record]())


def damaged(wire: bytes, dice: Random) -> bytes:
    """A message as networks and attackers spoil them: cut off, with a name that points at itself, with bytes too many, or noise."""
    return dice.choice(
        (
            lambda: wire[: dice.randint(0, len(wire) - 1)],
            lambda: wire[:4] + b"\x00\x01" + bytes(6) + b"\xc0\x0c\x00\x01\x00\x01",
            lambda: wire + dice.randbytes(dice.randint(1, 9)),
            lambda: dice.randbytes(dice.randint(1, 8)),
        )
    )()
