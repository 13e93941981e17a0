"""When nothing fails, what went in comes out, once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from pasps import LocalCluster, Stats
from tests.integration.running import config, finish
from tests.integration.topologies import WordCount

TOTAL = 1_000_000


def counts_of(directory: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for path in directory.glob("counts-*.json"):
        counts = json.loads(path.read_text())
        assert not found.keys() & counts.keys(), "a word was counted by two tasks"
        found.update(counts)
    return found


def check_adds_up(stats: Stats) -> None:
    assert stats.complete
    for component in stats.components.values():
        assert component.emitted == sum(replica.emitted for replica in component.replicas.values())
        assert component.executed == sum(replica.executed for replica in component.replicas.values())
        assert component.acked == sum(replica.acked for replica in component.replicas.values())
        assert component.failed == sum(replica.failed for replica in component.replicas.values())
        assert component.executed == sum(edge.executed for edge in component.edges)


def test_a_million_words_are_counted_exactly(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(WordCount, config=config(tmp_path, total=TOTAL))
        finish(running)
        stats = running.stats()
        running.kill()
    assert counts_of(tmp_path) == Counter({f"W{i}": len(range(i, TOTAL, 97)) for i in range(97)})
    assert (stats.emitted_first, stats.replayed, stats.acked, stats.failed, stats.pending) == (TOTAL, 0, TOTAL, 0, 0)
    assert stats.complete_latency.count == TOTAL
    for name in ("up", "same", "count"):
        component = stats.components[name]
        assert (component.executed, component.acked, component.failed, component.queued) == (TOTAL, TOTAL, 0, 0), name
        assert component.emitted == (0 if name == "count" else TOTAL)
        assert [(edge.received, edge.executed) for edge in component.edges] == [(TOTAL, TOTAL)], name
        assert sum(1 for replica in component.replicas.values() if replica.executed) == component.active == 2
    check_adds_up(stats)
