"""Every answer that is no forecast, as one tree; each class carries the HTTP status that tells whose fault it is.

PredictorError
├── RequestError                  your request is wrong: change it and send it again
│   ├── InvalidRequestError  422  a field
│   │   └── ArtifactError         a trained model that is not there, or not what it says
│   ├── MediaTypeError       415  not sent as JSON
│   ├── TooLargeError        413  more bytes than are read
│   ├── TooSlowError         408  the body did not arrive in time
│   └── ClientGoneError      499  nobody waits for the answer any more
├── ModelError               502  the model failed on this input: use another
├── UnavailableError         503  nobody was free, or the process ended twice: try again
└── FitTimeoutError          504  the fit was stopped at its deadline

`SettingsError`, `TrainingError` and `FitProcessLostError` never reach a client.
"""

from __future__ import annotations


class PredictorError(Exception):
    """Root of what a client can be told; `detail` says what was expected, what was got and what to do."""

    status = 500
    retry_after_seconds: int | None = None

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(detail)


class RequestError(PredictorError):
    """The client's fault."""

    status = 400


class InvalidRequestError(RequestError):
    """A field that is missing, unknown or has a value that no model can use."""

    status = 422


class ArtifactError(InvalidRequestError):
    """There is no trained model of that name, its files are not what they say, or it cannot forecast what is asked."""


class MediaTypeError(RequestError):
    """The body does not say that it is JSON."""

    status = 415


class TooLargeError(RequestError):
    """More bytes than a request may have; the rest is not read."""

    status = 413


class TooSlowError(RequestError):
    """The body stopped arriving."""

    status = 408


class ClientGoneError(RequestError):
    """The client closed its connection; this answer is written to nobody."""

    status = 499


class ModelError(PredictorError):
    """The model raised, or gave what no forecast can be: NaN, infinity, a wrong length."""

    status = 502


class UnavailableError(PredictorError):
    """No process was free in time, the one that had the fit ended twice, or the service is ending."""

    status = 503
    retry_after_seconds = 1


class FitTimeoutError(PredictorError):
    """The fit took longer than `--fit-timeout`; its process was ended and replaced."""

    status = 504


class SettingsError(ValueError):
    """The service cannot be started like this."""


class TrainingError(ValueError):
    """No model can be trained like this, or from this trace."""


class FitProcessLostError(Exception):
    """A process that fits has ended, with or without a fit."""
