"""Which topology is meant by the commands that also read what is over: the newest of that name, one that runs before others."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pasps.cli.cluster_topology import ClusterTopology
from pasps.cli.find_cluster import find_cluster
from pasps.cli.find_run import NotRunningError, moment, run_of_directory
from pasps.cli.find_topology import choose_view
from pasps.cli.topology_view import EndedTopology, TopologyView
from pasps.errors import InvalidError, PaspsError
from pasps.topology.run_list import KnownRun, base_directory, known_runs, run_in

Past = ClusterTopology | KnownRun
"""One that a cluster has, or what one that ended there left on this machine."""


def find_past(wanted: str | None, master: str | None, *, or_newest: bool = False) -> tuple[Past, bool] | None:
    """The topology of a cluster that is meant, and whether `wanted` names it; None: a run of this machine is meant.

    With `or_newest` the newest one is meant also by what names none. No network is touched when no cluster is known.

    Raises:
        InvalidError: it runs here and there, it ended there and what it left is not here, or with `master` it does not run there.
        PaspsError: the cluster that was named cannot be asked, and nothing of this machine is named.
    """
    if master is None and _is_directory(wanted):
        return None
    cluster = find_cluster(master)
    if cluster is None:
        return None
    runs = known_runs(base_directory()) if master is None else []
    try:
        living = cluster.topologies()
        views: list[TopologyView | EndedTopology] = [*living, *cluster.ended()]
    except PaspsError:
        if wanted is not None and choose_past(runs, [], wanted) is not None:
            return None
        raise
    found = choose_past(runs, views, wanted)
    is_named = found is not None
    if found is None and or_newest:
        found = choose_past(runs, views, None)
    if isinstance(found, TopologyView):
        return ClusterTopology(cluster, found), is_named
    if isinstance(found, EndedTopology):
        return _left_of(found, cluster.url, [run for run in runs if run.record.name == found.name]), is_named
    if found is None and master is not None:
        try:
            choose_view(living, wanted, cluster.url)
        except NotRunningError as error:
            raise InvalidError(str(error)) from error
    return None


def choose_past(
    runs: Sequence[KnownRun], views: Sequence[TopologyView | EndedTopology], wanted: str | None
) -> KnownRun | TopologyView | EndedTopology | None:
    """The newest that `wanted` names, one that lives before others; None: nothing. Pure.

    Raises:
        InvalidError: one that lives here and one of the cluster have that name.
    """
    here = [run for run in runs if wanted in (None, run.record.name, run.entry.name)]
    there = [view for view in views if wanted in (None, view.name)]
    living = [run for run in here if not run.state.over]
    if wanted is not None and living and any(isinstance(view, TopologyView) for view in there):
        cures = f"give the run directory {living[-1].directory}, or for the cluster's --master URL"
        raise InvalidError(f"topology {wanted!r} runs twice, on this machine and in the cluster; say which: {cures}")
    candidates: list[KnownRun | TopologyView | EndedTopology] = [*here, *there]
    return max(candidates, key=_rank, default=None)


def _rank(one: KnownRun | TopologyView | EndedTopology) -> tuple[bool, float]:
    match one:
        case TopologyView():
            return not one.is_over, one.submitted
        case EndedTopology():
            return False, one.submitted or 0.0
    return not one.state.over, one.record.started


def _left_of(ended: EndedTopology, url: str, here: Sequence[KnownRun]) -> KnownRun:
    """What it left on this machine, where its driver ran here.

    Raises:
        InvalidError: it is not here; says how to see the newest of the runs `here` that have its name.
    """
    directory = str((ended.summary or {}).get("run_dir") or "")
    with suppress(InvalidError):
        run = run_in(Path(directory))
        # the same path may be somebody else's here
        if directory and run.record.name == ended.name and run.record.started >= (ended.submitted or 0.0):
            return run
    when = "" if ended.ended is None else f" at {moment(ended.ended)}"
    where = f"what it left is in {directory} on its driver's machine" if directory else "it left nothing"
    older = f"; for the older run of this machine give its directory {here[-1].directory}" if here else ""
    raise InvalidError(f"topology {ended.name!r} ended in the cluster at {url}{when}, and {where}{older}")


def _is_directory(wanted: str | None) -> bool:
    with suppress(InvalidError):
        return run_of_directory(wanted) is not None
    return True
