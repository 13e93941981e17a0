"""A plain Flask service that fits in the handler, as the published one does, served by Werkzeug's threads."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence

from flask import Flask, Response, jsonify, request
from werkzeug.serving import make_server

from benchmarks.predictor_subjects.bare_fit import FITS, Fit


def create() -> Flask:
    """A route for each model of the published service."""
    app = Flask(__name__)
    for path, fit in FITS.items():
        app.add_url_rule(f"/{path}", path, _handler(fit), methods=["POST"])
    return app


def _handler(fit: Fit) -> Callable[[], Response]:
    def predict() -> Response:
        asked = request.get_json()
        predictions: Sequence[float] = list(fit(asked["samples"], asked["prediction_number"]))
        answer: Response = jsonify({"avg_prediction": sum(predictions) / len(predictions), "predictions": predictions})
        return answer

    return predict


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    """Serve on a free port until killed, or until standard input ends."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    for fit in FITS.values():
        fit([float(step % 7) for step in range(20)], 3)  # loads the libraries before the first request
    server = make_server("127.0.0.1", 0, create(), threaded=True)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
