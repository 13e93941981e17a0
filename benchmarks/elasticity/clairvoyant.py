"""One who knows what comes, for a live run: a predictor service that answers with the trace's own rows.

It knows the rows and not where in them events fall, as the simulator's. When the trace began it learns from the run's own samples.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from statistics import median

from benchmarks.elasticity.traces import Prepared, in_the_trace
from pasps.control.run_log import Sample
from pasps.errors import InvalidError
from pasps.report.run_files import RunFiles
from pasps.simulation.arrivals import Arrivals


def began_at(samples: Sequence[Sample], trace: Prepared) -> float | None:
    """When a run's trace began, in seconds since the epoch; None before two samples tell."""
    whole = [sample for sample in samples if sample.complete]
    if not any(before.due < after.due < trace.events for before, after in pairwise(whole)):
        return None
    return median(sample.time - at for sample, at in zip(whole, in_the_trace(whole, trace), strict=True))


def expected(trace: Prepared, seconds: float, horizon: int) -> list[float]:
    """Events of each of the seconds that follow a moment of the trace, as the rows have it."""
    arrivals = Arrivals(trace.counts, trace.row_seconds)
    return [arrivals.expected(max(0.0, seconds + ahead), max(0.0, seconds + ahead + 1.0)) for ahead in range(horizon)]


@contextmanager
def serving(trace: Prepared, run_directory: Path) -> Iterator[str]:
    """Serve the run of that directory; gives the address for `pasps.predictor.url`."""

    class Handler(BaseHTTPRequestHandler):
        """`POST /v1/predict`; nobody is told more, and asked before the trace began it has no answer yet."""

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/predict":
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            began = _began(run_directory, trace)
            if began is None:
                self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
                return
            body = json.dumps({"predictions": expected(trace, time.time() - began, question["horizon"])}).encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # the standard library's names
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def _began(run_directory: Path, trace: Prepared) -> float | None:
    try:
        return began_at(list(RunFiles(run_directory).samples), trace)
    except InvalidError:  # it has left no sample yet
        return None
