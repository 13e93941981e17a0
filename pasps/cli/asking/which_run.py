"""Which run is meant: by the name of a topology, by a run directory, or by nothing at all where there is only one.

Every command asks here: `find_topology` for one that runs and can be asked, `find_past` for the newest, which may be over,
`find_kept` for what this machine keeps, `find_cluster` for a cluster as such. What none of them finds is refused with what there is.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import msgspec

from pasps.cli.asking.asked_topology import AskedTopology, ClusterTopology, LocalTopology, fetch_run_files, how_it_ended
from pasps.cli.exit_codes import NotRunningError
from pasps.cli.words import moment
from pasps.cluster.dev.processes import ProcessRef
from pasps.cluster.master.client import ClusterAddress, MasterClient
from pasps.cluster.master.records import EndedTopology, TopologyView
from pasps.cluster.store.tokens import TOKEN_VARIABLE
from pasps.errors import BusyError, InvalidError, PaspsError
from pasps.topology.run_list import KnownRun, base_directory, known_runs, run_in
from pasps.topology.run_record import FILE_NAME, RunState, host

# ---- one that runs


def find_topology(wanted: str | None, master: str | None) -> AskedTopology:
    """The one that runs and is meant by name or run directory, None when only one runs; with `master` one of that cluster.

    1. A run directory is one of this machine. 2. Without a cluster only this machine is looked at, and with `master` only that
    cluster. 3. Else both are: what is meant in both is refused. No network is touched when no cluster is known.

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


def find_run(wanted: str | None) -> KnownRun:
    """The one run of this machine that is meant, and lives.

    Raises:
        NotRunningError: it does not run, or nothing does.
        InvalidError: several are meant, or it runs on another host.
        BusyError: it does not answer yet.
    """
    run = run_of_directory(wanted) or choose_run(known_runs(base_directory()), wanted)
    if run.state.over:
        raise NotRunningError(f"topology {run.record.name!r} does not run any more; {how_it_ended(run)}")
    if run.record.host != host():
        raise InvalidError(f"topology {run.record.name!r} runs on host {run.record.host!r}; ask there")
    if run.state is RunState.STARTING and not os.path.exists(run.record.socket):
        raise BusyError(f"topology {run.record.name!r} (process {run.record.pid}) is still starting; try again in a moment")
    return run


def run_of_directory(wanted: str | None) -> KnownRun | None:
    """The run in a directory, if that is what was given.

    Raises:
        InvalidError: a directory of something else.
    """
    if wanted is None or (os.sep not in wanted and not (Path(wanted) / FILE_NAME).is_file()):
        return None
    return run_in(Path(wanted))


def choose_run(runs: Sequence[KnownRun], wanted: str | None) -> KnownRun:
    """The one of `runs`; a name means one that lives, the name of a run directory also one that does not. Pure.

    Raises:
        NotRunningError: none.
        InvalidError: several.
    """
    living = [run for run in runs if not run.state.over]
    if not living and wanted is None:
        raise NotRunningError("no topology runs; start one with `pasps run FILE`")
    meant = living if wanted is None else [run for run in living if run.record.name == wanted]
    meant = meant or [run for run in runs if wanted in (run.directory.name, run.entry.name)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        what = "several topologies run" if wanted is None else f"several runs are named {wanted!r}"
        raise InvalidError(f"{what}; say which by its run directory{_listed(meant)}")
    problem = f"no topology named {wanted!r} runs"
    before = [run for run in runs if run.record.name == wanted]
    if before:
        problem += f"; of the last one: {how_it_ended(before[-1])}"
    if not living:
        raise NotRunningError(problem if before else f"{problem}, nor does any other")
    hint = _hint(str(wanted), [run.record.name for run in living])
    raise NotRunningError(f"{problem}{hint} there is{_listed(living)}")


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
    hint = _hint(wanted, [view.name for view in views])
    raise NotRunningError(f"no topology named {wanted!r} runs in the cluster at {url}{hint} there is{listed}")


def _hint(wanted: str, names: Sequence[str]) -> str:
    near = get_close_matches(wanted, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else ";"


def _listed(runs: Sequence[KnownRun]) -> str:
    return "".join(f"\n  {run.record.name}  {run.directory}" for run in runs)


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


# ---- the newest, which may be over


@dataclass(frozen=True, slots=True)
class Past:
    """One that a cluster has, or what one left on this machine. `is_named` is False where nothing was, and the newest is meant."""

    run: ClusterTopology | KnownRun
    is_named: bool

    @property
    def place(self) -> str:
        """Its address at a master, or its run directory."""
        return self.run.place if isinstance(self.run, ClusterTopology) else str(self.run.directory)

    @contextmanager
    def files(self) -> Iterator[Path]:
        """A directory with its files: its own, or where it is of a cluster one to which they are brought for so long."""
        if isinstance(self.run, KnownRun):
            yield self.run.directory
            return
        with tempfile.TemporaryDirectory(prefix="pasps-run-") as scratch:
            fetch_run_files(self.run, Path(scratch))
            yield Path(scratch)


def find_past(wanted: str | None, master: str | None, *, or_newest: bool = False, latest: bool = False) -> Past | None:
    """The newest topology that `wanted` names, one that runs before others; with `latest`, of this machine's, the one begun last.

    Where it names none the newest run of this machine is found, None when there is none; with `or_newest` one of a cluster too.
    No network is touched when no cluster is known.

    Raises:
        InvalidError: it runs here and there, it ended there and what it left is not here, or with `master` it does not run there.
        PaspsError: the cluster that was named cannot be asked, and nothing of this machine is named.
    """
    if master is None and (given := run_of_directory(wanted)) is not None:
        return Past(given, is_named=True)
    cluster = find_cluster(master)
    if cluster is None:
        return find_past_here(wanted, latest=latest)
    runs = known_runs(base_directory()) if master is None else []
    try:
        living = cluster.topologies()
        views: list[TopologyView | EndedTopology] = [*living, *cluster.ended()]
    except PaspsError:
        if wanted is not None and choose_past(runs, [], wanted) is not None:
            return find_past_here(wanted, latest=latest)
        raise
    found = choose_past(runs, views, wanted)
    is_named = found is not None
    if found is None and or_newest:
        found = choose_past(runs, views, None)
    if isinstance(found, TopologyView):
        return Past(ClusterTopology(cluster, found), is_named)
    if isinstance(found, EndedTopology):
        return Past(_left_of(found, cluster.url, [run for run in runs if run.record.name == found.name]), is_named)
    if found is None and master is not None:
        try:
            choose_view(living, wanted, cluster.url)
        except NotRunningError as error:
            raise InvalidError(str(error)) from error
    return find_past_here(wanted, latest=latest)


def find_past_here(wanted: str | None, *, latest: bool = False) -> Past | None:
    """As `find_past` where no cluster is known."""
    if (given := run_of_directory(wanted)) is not None:
        return Past(given, is_named=True)
    runs = known_runs(base_directory())
    named = [run for run in runs if wanted in (None, run.record.name, run.entry.name)]
    found = max(named or runs, key=lambda run: (not latest and not run.state.over, run.record.started), default=None)
    return None if found is None else Past(found, bool(named))


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
            return False, one.submitted
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
        if directory and run.record.name == ended.name and run.record.started >= ended.submitted:
            return run
    where = f"what it left is in {directory} on its driver's machine" if directory else "it left nothing"
    older = f"; for the older run of this machine give its directory {here[-1].directory}" if here else ""
    raise InvalidError(f"topology {ended.name!r} ended in the cluster at {url} at {moment(ended.ended)}, and {where}{older}")


def no_run() -> InvalidError:
    """What is said where the newest run is meant and there is none."""
    return InvalidError(f"there is no run in {base_directory()}; start one with `pasps run FILE`, or give a run directory")


def no_such_run(wanted: str | None, cure: str) -> InvalidError:
    """What is said of a name that has to be one."""
    return InvalidError(f"{wanted!r} is neither a run directory nor a topology that ran here; {cure}")


# ---- what this machine keeps


def find_kept(wanted: str, known: Sequence[KnownRun], *, newest: bool) -> KnownRun:
    """The one of `known` that is meant; a name that several have means their `newest`, or nothing.

    Raises:
        InvalidError: there is none, or there are several.
    """
    directory = run_of_directory(wanted)
    if directory is not None:
        # the entry says whether the directory is one of ours
        return next((run for run in known if run.directory == directory.directory), directory)
    exact = [run for run in known if wanted in (run.entry.name, run.directory.name)]
    named = exact or [run for run in known if run.record.name == wanted]
    if len(named) > 1 and not newest:
        listed = "".join(f"\n  {run.directory}" for run in named)
        raise InvalidError(f"there are {len(named)} runs of {wanted!r}; say which by its run directory{listed}")
    if not named:
        near = get_close_matches(wanted, [name for run in known for name in (run.entry.name, run.record.name)], n=1)
        raise InvalidError(f"there is no run {wanted!r} here; " + (f"did you mean {near[0]!r}?" if near else "`pasps runs` lists them"))
    return named[-1]


# ---- a cluster

MASTER_VARIABLE = "PASPS_MASTER"
NO_CLUSTER = f"no cluster is known here; start one with `pasps cluster up`, or give its address with --master URL or {MASTER_VARIABLE}"


def find_cluster(given: str | None, environment: Mapping[str, str] = os.environ) -> MasterClient | None:
    """The cluster that is meant, None when none is known; nobody is asked unless a development cluster was started here.

    Raises:
        InvalidError: the address, or the token, is none.
    """
    token = environment.get(TOKEN_VARIABLE, "").strip() or None
    developed = development_cluster(cluster_file(base_directory(environment)))
    said = ("--master", given) if given is not None else (MASTER_VARIABLE, environment.get(MASTER_VARIABLE, "").strip())
    if said[1]:
        if token is None and developed is not None and developed.master == said[1].rstrip("/"):
            token = developed.token
        return MasterClient(ClusterAddress(said[1], token, said[0]))
    if given is not None:
        raise InvalidError("--master: expected the address of a master, got nothing")
    if developed is None:
        return None
    client = MasterClient(developed)
    return client if client.is_up() else None


def the_cluster(given: str | None) -> MasterClient:
    """The same, for commands that need one.

    Raises:
        InvalidError: none is known.
    """
    found = find_cluster(given)
    if found is None:
        raise InvalidError(NO_CLUSTER)
    return found


def cluster_file(base: Path) -> Path:
    """Where `pasps cluster up` writes down what it started."""
    return base / "cluster" / "cluster.json"


class _Told(msgspec.Struct):
    """What is of use here of a `ClusterState`."""

    master: str
    token: str | None
    processes: dict[str, ProcessRef]


def development_cluster(path: Path) -> ClusterAddress | None:
    """What that file says; None: there is none that can be read, or its master is dead, and who listens in its place may be anybody."""
    try:
        told = msgspec.json.decode(path.read_bytes(), type=_Told)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    master = told.processes.get("master")
    if master is None or not master.alive:
        return None
    return ClusterAddress(told.master.rstrip("/"), told.token or None, "the development cluster of this machine")
