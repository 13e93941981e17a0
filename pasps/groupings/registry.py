"""From a subscription to the splitter that serves it, called once for each sender and edge, and to the observer of each receiving task."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from pasps.api.blueprint import Edge
from pasps.api.groupings import Kind
from pasps.api.splitting import Observer, Receiver, Sender, Splitter
from pasps.clock import Clock
from pasps.groupings.custom import CustomSplitter
from pasps.groupings.keys import FieldsSplitter, PartialKeySplitter
from pasps.groupings.load_aware import LoadAwareSplitter
from pasps.groupings.load_aware_paper import LoadAwarePaperSplitter
from pasps.groupings.load_aware_storm import LoadAwareStormSplitter
from pasps.groupings.osg import OsgObserver, OsgSplitter
from pasps.groupings.registered import CheckedSplitter, checked_observer
from pasps.groupings.shuffle import AllSplitter, DirectSplitter, GlobalSplitter, RandomSplitter, ShuffleSplitter


def make_splitter(
    edge: Edge,
    fields: tuple[str, ...],
    first_task: int,
    source_task: int,
    band_seconds: float,
    clock: Clock,
    random: Random,
    context: Any = None,
) -> Splitter:
    """The splitter of one sender, task `source_task`, on `edge`; its `refresh` must be called before the first `split`.

    Args:
        fields: the fields of the edge's stream.
        first_task: the lowest task id of the edge's target.
        band_seconds: how much more work a replica in the same worker may have and still be preferred; 0 turns it off.
        random: the sender's own, so that senders start at different replicas.
        context: given to `prepare` of a custom grouping.

    Raises:
        GroupingError: a key field that the stream has not, a custom object that cannot be copied, or a type whose splitter is none.
    """
    spec = edge.grouping
    at = Sender(edge.source, edge.stream, edge.target, fields, spec.fields, spec.options, source_task, clock, random)
    match spec.kind:
        case Kind.LOAD_AWARE:
            return LoadAwareSplitter(band_seconds, clock, random)
        case Kind.LOAD_AWARE_PAPER:
            return LoadAwarePaperSplitter(random)
        case Kind.LOAD_AWARE_STORM:
            return LoadAwareStormSplitter(clock, random)
        case Kind.SHUFFLE:
            return ShuffleSplitter(random)
        case Kind.LOCAL_OR_SHUFFLE:
            return ShuffleSplitter(random, local=True)
        case Kind.NONE:
            return RandomSplitter(random)
        case Kind.GLOBAL:
            return GlobalSplitter()
        case Kind.ALL:
            return AllSplitter()
        case Kind.DIRECT:
            return DirectSplitter(edge.source, edge.stream, edge.target)
        case Kind.FIELDS:
            return FieldsSplitter(edge.source, edge.stream, fields, spec.fields)
        case Kind.PARTIAL_KEY:
            return PartialKeySplitter(edge.source, edge.stream, fields, spec.fields)
        case Kind.CUSTOM:
            return CustomSplitter(spec.custom, edge.source, edge.stream, first_task, source_task, clock, context)
        case Kind.OSG:
            return OsgSplitter(at)
        case Kind.REGISTERED:
            assert spec.type is not None
            return CheckedSplitter(spec.type, at)


def make_observer(edge: Edge, fields: tuple[str, ...], index: int, send: Callable[[bytes, int | None], None]) -> Observer:
    """The observer at task `index` of the edge's target; what it tells goes through `send`, with the sender, or None for all.

    Of an edge whose grouping is `observed` alone.

    Raises:
        GroupingError: a type whose observer is none.
    """
    spec = edge.grouping
    at = Receiver(edge.source, edge.stream, edge.target, fields, spec.fields, spec.options, index, send)
    return OsgObserver(at) if spec.type is None else checked_observer(spec.type, at)
