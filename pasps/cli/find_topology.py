"""Which topology is meant: one of a `pasps run` of this machine, or one of a cluster. All commands for topologies that run ask here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import TracebackType
from typing import Any, Protocol, Self

from pasps.cli.cluster_topology import ClusterTopology
from pasps.cli.control_client import ANSWER_SECONDS
from pasps.cli.find_cluster import find_cluster
from pasps.cli.find_run import NotRunningError, find_run, run_of_directory
from pasps.cli.local_topology import LocalTopology
from pasps.cli.master_client import MasterClient
from pasps.cli.topology_view import TopologyView
from pasps.errors import InvalidError, PaspsError
from pasps.topology.run_list import KnownRun


class AskedTopology(Protocol):
    """A topology that can be asked; a context manager. Blocks its caller."""

    name: str
    place: str
    """Its run directory, or its address at a master."""
    passing: tuple[type[PaspsError], ...]
    """Errors of `call` after which another call may do: whoever only watches goes on."""

    @property
    def known(self) -> KnownRun | TopologyView:
        """What was known of it when it was found."""

    def call(self, verb: str, arguments: Mapping[str, Any] | None = None, seconds: float | None = ANSWER_SECONDS) -> Any:
        """The result of a verb; None as `seconds` waits without end.

        Raises:
            TimeoutExpiredError: no answer in time. What was asked for may still happen.
            EndedMeanwhileError: it ended.
            PaspsError: what it answered, or why it cannot be asked.
        """

    def wait_until_over(self) -> None:
        """After its last answer: a few seconds at most, until others see too that it ended."""

    def how_it_ended(self) -> str:
        """What is known of the end of one that is over."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


def find_topology(wanted: str | None, master: str | None) -> AskedTopology:
    """The one that is meant by name or run directory, None when only one runs; with `master` one of that cluster.

    No network is touched when no cluster is known.

    Raises:
        NotRunningError: it does not run, or nothing does.
        InvalidError: several are meant.
        BusyError: it does not answer yet.
        PaspsError: the cluster that was named cannot be asked.
    """
    if master is None and run_of_directory(wanted) is not None:
        return LocalTopology(find_run(wanted))
    cluster = find_cluster(master)
    if cluster is None:
        return LocalTopology(_only_here(wanted))
    if master is not None:
        return ClusterTopology(cluster, choose_view(cluster.topologies(), wanted, cluster.url))
    try:
        local = find_run(wanted)
    except NotRunningError as missing:
        return ClusterTopology(cluster, _only_in_the_cluster(cluster, wanted, missing))
    try:
        views = cluster.topologies()
    except PaspsError:
        if wanted is None:
            raise  # the only one here need not be the only one
        return LocalTopology(local)
    also = [view for view in views if wanted in (None, view.name)]
    if also:
        raise InvalidError(_both_places(wanted, local, also, cluster.url))
    return LocalTopology(local)


def choose_view(views: Sequence[TopologyView], wanted: str | None, url: str) -> TopologyView:
    """The one of `views` of the cluster at `url`. Pure.

    Raises:
        NotRunningError: none.
        InvalidError: several.
    """
    if not views:
        what = "no topology runs" if wanted is None else f"no topology named {wanted!r} runs"
        raise NotRunningError(f"{what} in the cluster at {url}; submit one with `pasps submit FILE`")
    listed = "".join(f"\n  {view.name}  {view.state}" for view in views)
    if wanted is None:
        if len(views) == 1:
            return views[0]
        raise InvalidError(f"several topologies run in the cluster at {url}; say which by its name{listed}")
    for view in views:
        if view.name == wanted:
            return view
    near = get_close_matches(wanted, [view.name for view in views], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    raise NotRunningError(f"no topology named {wanted!r} runs in the cluster at {url}{hint} there is{listed}")


def _only_here(wanted: str | None) -> KnownRun:
    try:
        return find_run(wanted)
    except NotRunningError as missing:
        raise NotRunningError(f"{missing}\n(no cluster is known here; --master URL names one)") from missing


def _only_in_the_cluster(cluster: MasterClient, wanted: str | None, missing: NotRunningError) -> TopologyView:
    """Nothing here was meant; what is said then tells of both."""
    try:
        views = cluster.topologies()
    except PaspsError as error:
        problem = type(error).__new__(type(error))
        problem.args = (f"{missing}\nand {error}",)
        raise problem from error
    try:
        return choose_view(views, wanted, cluster.url)
    except NotRunningError as neither:
        raise NotRunningError(f"{missing}\nand {neither}") from neither


def _both_places(wanted: str | None, local: KnownRun, also: Sequence[TopologyView], url: str) -> str:
    what = "several topologies run" if wanted is None else f"topology {wanted!r} runs twice"
    cures = f"give the run directory of the one of this machine, or for the cluster's --master {url}"
    return "\n".join(
        [
            f"{what}, on this machine and in the cluster; say which: {cures}",
            f"  {local.record.name}  {local.directory}",
            *(f"  {view.name}  {url}" for view in also),
        ]
    )
