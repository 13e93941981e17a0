"""The request that every client sends: 100 samples of a bursty minute, 30 steps to predict."""

from __future__ import annotations

import json
import math

HORIZON = 30
SAMPLES = [round(100 + 50 * math.sin(step / 8) + step * 7919 % 13 + (200 if step % 37 > 30 else 0), 3) for step in range(100)]


def request(path: str) -> bytes:
    """A whole HTTP request, as existing controllers send it; both services take it."""
    body = json.dumps({"samples": SAMPLES, "prediction_number": HORIZON}).encode()
    head = f"POST /{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
