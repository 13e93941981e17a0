"""What a master refuses or cannot do, beyond the errors that everybody knows."""

from __future__ import annotations

from pasps.errors import BrokenError, BusyError, InvalidError


class UnknownTopologyError(InvalidError):
    """No topology has this name. A client is told the same by the status of an answer."""


class BodyTooLargeError(InvalidError):
    """A body with more bytes than are taken."""


class NotLeadingError(BrokenError):
    """This master does not lead, and knows of none that does."""


class DriverUnreachableError(BrokenError):
    """The driver of a topology gave no answer: it starts, is gone, or cannot be reached from here."""


class NameInUseError(BusyError):
    """A topology of this name is there."""


class RefusedPackageError(InvalidError):
    """A package whose topology cannot be made; `kind` is the word of the check: package, file, dependency, topology, config, ..."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        super().__init__(text)


def unknown_topology(name: str) -> UnknownTopologyError:
    """What is said of a name that no topology has."""
    return UnknownTopologyError(f"there is no topology {name[:100]!r}; `pasps list` shows all of them")
