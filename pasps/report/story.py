"""What happened in a run, in a few words: the headline numbers, a sentence, and what a reader must be warned of. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pasps.report.measures import Measures
from pasps.report.run_files import RunFiles
from pasps.report.words import count_text, length_text, of_text, seconds_text, share_text


@dataclass(frozen=True, slots=True)
class Headline:
    """One number that is shown large, what it is, and what to read it against."""

    value: str
    name: str
    beside: str


def headlines(measures: Measures) -> list[Headline]:
    """The numbers to look at first; only those that are known."""
    replicas, events, latency = measures.replicas, measures.events, measures.latency
    found = []
    if measures.saved_resources is not None:
        beside = f"{count_text(replicas.seconds)} of {count_text(replicas.most_seconds)} replica-seconds used"
        found.append(Headline(share_text(measures.saved_resources), "resources saved", beside))
    if latency is not None:
        found.append(
            Headline(seconds_text(latency.p99), "latency, p99", f"mean {seconds_text(latency.mean)}, p50 {seconds_text(latency.p50)}")
        )
    if events.share is not None:
        least = "at least " if events.at_most else ""
        beside = f"{least}{count_text(events.unfinished)} of {count_text(events.received)} left" if events.unfinished else "nothing left"
        # 99.99% must not read as everything
        share = min(events.share, 0.9999) if events.unfinished else events.share
        text = f"{share:.2%}" if share < 1 else share_text(share)
        found.append(Headline(f"≤ {text}" if events.at_most else text, "processed", beside))
    if measures.input_error.value is not None:
        beside = f"of the input, mean of {of_text(measures.input_error.counted, 'interval')}"
        found.append(Headline(share_text(measures.input_error.value), "prediction error", beside))
    moves = replicas.activations + replicas.deactivations
    beside = f"{replicas.activations:,} on, {replicas.deactivations:,} off"
    found.append(Headline(f"{moves:,}", "replicas switched", beside))
    return found


def sentence(measures: Measures) -> str:
    """What happened, for somebody who reads nothing else."""
    replicas, events, latency = measures.replicas, measures.events, measures.latency
    parts = [f"In {length_text(measures.seconds)}, {of_text(events.received, 'event')} became due"]
    if events.share is not None:
        number = f"{'at most ' if events.at_most else ''}{count_text(events.processed)}"
        parts[0] += f" and {number if events.unfinished or events.at_most else 'all'} were processed"
    if latency is not None:
        parts.append(f"half of them within {seconds_text(latency.p50)}, 99% within {seconds_text(latency.p99)}")
    text = ", ".join(parts) + "."
    mean_active = replicas.seconds / measures.seconds if measures.seconds else 0.0
    pools = sum(bolt.pool for bolt in measures.bolts.values())
    moves = replicas.activations + replicas.deactivations
    if moves:
        text += f" Replicas were switched {of_text(moves, 'time')}; {mean_active:.1f} of {pools} worked on average."
    elif pools:
        text += f" Replicas stayed as they were; {mean_active:.1f} of {pools} worked on average."
    return text


def warnings(files: RunFiles, measures: Measures) -> Iterator[str]:
    """What makes the numbers less than they seem. To be asked after the files were read."""
    if not files.ended:
        yield "There is no summary: the run was killed, or it is not over. The report shows it until its last sample."
    for name, log in (("metrics", files.samples), ("decisions", files.records)):
        if log.unreadable:
            yield f"{of_text(log.unreadable, 'line')} of {name}.jsonl could not be read; nothing of it is in the numbers."
    if measures.incomplete_samples:
        yield (
            f"{of_text(measures.incomplete_samples, 'sample')} of {measures.samples + measures.incomplete_samples:,} lacked a worker's "
            "counts and went into no number."
        )
    if measures.events.at_most:
        yield (
            "More was emitted again than failed, as after a worker with a spout died: what had been acked may have been acked again, so "
            "what was processed is the most that it can have been."
        )
    if measures.events.output.kind == "unknown":
        yield "Nothing was tracked and no decision was written, so it is not known what was processed."
    elif measures.events.output.kind == "executed":
        yield f"Nothing was tracked: output is what {', '.join(measures.events.output.bolts)} executed, and latency is not known."
