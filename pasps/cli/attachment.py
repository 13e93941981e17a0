"""What goes along with a run beside its view: whoever decides on replicas, or keeps more of it than is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pasps.topology.local_cluster import RunningTopology
from pasps.topology.run_directory import RunDirectory
from pasps.topology.topology_verbs import TopologyVerbs


class Attachment(Protocol):
    """Given to `supervise`."""

    def started(self, running: RunningTopology, verbs: TopologyVerbs, directory: RunDirectory) -> None:
        """The topology was submitted and its socket answers; its spouts do not emit yet. Once, on the main thread.

        Verbs are added on the event loop's behalf here; `running.on_controller` runs what has to be there. It ends with the topology.
        """

    def frame_extra(self) -> Mapping[str, Any] | None:
        """What is said as `elastic` in frames and in `status`: JSON. From any thread, several times a second; must not block."""


class Alone:
    """Nothing goes along."""

    def started(self, running: RunningTopology, verbs: TopologyVerbs, directory: RunDirectory) -> None:
        """See `Attachment`."""

    def frame_extra(self) -> Mapping[str, Any] | None:
        """See `Attachment`."""
        return None
