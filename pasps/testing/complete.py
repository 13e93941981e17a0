"""The shortest way to test a topology: lists in, what every component emitted out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pasps.errors import InvalidError
from pasps.runtime.batch import Row
from pasps.testing.journal import Report
from pasps.testing.stand_ins import Inputs
from pasps.testing.step_run import StepOptions, StepRun
from pasps.testing.tally import ComponentCounts


@dataclass(frozen=True)
class CompletedTopology:
    """What came of a run.

    `emitted[component][stream]` are the rows in order, `acked[spout]` and `failed[spout]` tuple ids in order (a row's id is
    its place among the rows of its list), `errors` the reports of exceptions with their tracebacks (`text`), at most as many
    as the configuration lets a component report. `seconds` is how long it took by the fake clock.
    """

    emitted: Mapping[str, Mapping[str, list[Row]]]
    acked: Mapping[str, list[Any]]
    failed: Mapping[str, list[Any]]
    errors: list[Report]
    counts: Mapping[str, ComponentCounts]
    seconds: float

    def rows(self, component: str, stream: str = "default") -> list[Row]:
        """What a component emitted to one stream; empty when it emitted nothing there. InvalidError: there is no such component."""
        if component not in self.counts:
            raise InvalidError(f"there is no component {component!r} in this topology; it has {', '.join(sorted(self.counts))}")
        return self.emitted.get(component, {}).get(stream, [])


def complete_topology(
    topology: Any,
    inputs: Inputs | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    workers: int = 1,
    check_wire: bool = True,
    tracked: bool = True,
    replays: int = 0,
    most_seconds: float = 600.0,
) -> CompletedTopology:
    """Run a topology to its end, in this process and in fake time, and give what came of it. Deterministic; never sleeps.

    Spouts named in `inputs` are replaced by ones that emit the rows there (a list of values each; see also `OnStream`, `EOF`,
    `ABORT`, `PAUSE`); of several tasks each emits some of them in turn. Other spouts run as they are, until EndOfInput.

    Args:
        topology: A `Topology` class, or what `TopologyBuilder.create_topology` returned.
        inputs: A list for each spout to replace.
        config: Laid over the topology's own.
        workers: How many workers share the topology.
        check_wire: Fail every row that could not travel to another worker, whether or not it has to. What passes is handed on as
            in a worker: by reference within it, as a copy between two.
        tracked: Whether list spouts emit with tuple ids.
        replays: How often a row that failed is emitted again; what a dead worker takes with it always is.
        most_seconds: How much fake time may pass.

    Raises:
        InvalidError: `inputs` does not fit the topology.
        DrainTimeoutError: it did not come to an end; says what was left.
    """
    options = StepOptions(tracked=tracked, replays=replays, check_wire=check_wire)
    with StepRun(topology, workers, inputs=inputs, config=config, options=options) as run:
        start = run.clock.peek()
        run.run_to_end(most_seconds)
        return CompletedTopology(
            run.emitted, run.verdicts.acked, run.verdicts.failed, run.journal.of("error"), run.counts(), run.clock.peek() - start
        )
