"""The first step: from bytes on the wire to what the later steps look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype

from pasps import bolt


@dataclass(frozen=True, slots=True)
class Message:
    """A DNS message, as far as it could be read.

    Attributes:
        size: Bytes on the wire.
        is_answer: Otherwise it is a query.
        name: What is asked for, lower case, without the last dot; of several questions the first, "" without one. Bytes that are no
            printable ASCII are written as a backslash and three digits.
        record: The type asked for, as "TXT" or "TYPE65280"; "" without a question.
        code: The response code, as "NXDOMAIN"; "" in a query.
        problem: Why it could not be read; then the fields above it, but the size, are empty. None otherwise.
    """

    size: int
    is_answer: bool = False
    name: str = ""
    record: str = ""
    code: str = ""
    problem: str | None = None


def read_message(wire: bytes) -> Message:
    """The message in `wire`; what is none is a `Message` with a problem, whatever the bytes are."""
    try:
        # signatures are not looked at: this is somebody else's traffic
        found = dns.message.from_wire(wire, keyring=False)
    except dns.exception.DNSException as error:
        return Message(len(wire), problem=f"{type(error).__name__}: {error}")
    is_answer = bool(found.flags & dns.flags.QR)
    code = dns.rcode.to_text(found.rcode()) if is_answer else ""
    if not found.question:
        return Message(len(wire), is_answer, code=code)
    question = found.question[0]
    return Message(len(wire), is_answer, question.name.to_text(omit_final_dot=True).lower(), _record(question.rdtype), code)


@cache
def _record(rdtype: int) -> str:
    return dns.rdatatype.to_text(dns.rdatatype.RdataType.make(rdtype))


@bolt(outputs=["event", "flow", "at", "message"])
def parse(event: int, flow: str, at: float, wire: bytes) -> tuple[int, str, float, Message]:
    """The message in place of its bytes."""
    return event, flow, at, read_message(wire)
