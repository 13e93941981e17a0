"""Redis Streams in real workers, and the commands of a member, over a real Redis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from pasps import LocalCluster, RunningTopology, Topology, TopologyContext
from pasps.clock import SystemClock
from pasps.connectors.read_ahead import Event
from pasps.connectors.redis_client import FIRST, AwayError, NoGroupError, RedisGroup, RedisSettings, RefusedError, settings_of
from pasps.connectors.redis_reader import RedisReader
from pasps.connectors.redis_streams import RedisEntry, RedisStreamSpout
from tests.integration.broker_bolts import Slow
from tests.integration.redis_server import RedisServer
from tests.integration.running import config, kill, rows, spout_worker, until, until_replaced, written
from tests.integration.topologies import WriteDown

pytestmark = pytest.mark.integration

ROOM = 64 << 20
NOT_ACKED = (
    r"Redis .*; (\d+) entries of stream 'numbers' that are done (?:could not be acked|are not acked as far as is known), "
    r"and come again at the next start"
)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _empty(redis: RedisServer) -> None:
    redis.client.flushall()


class Numbers(RedisStreamSpout):
    outputs = ("n",)

    def values(self, record: RedisEntry) -> tuple[int]:
        return (int(record.fields["n"]),)


class Flow(Topology):
    numbers = Numbers.spec(par=2)
    slow = Slow.spec(inputs=[numbers], par=4)
    sink = WriteDown.spec(inputs=[slow])


def add(redis: RedisServer, numbers: range) -> list[str]:
    pipeline = redis.client.pipeline(transaction=False)
    for n in numbers:
        pipeline.xadd("numbers", {"n": n})
    return [str(found) for found in pipeline.execute()]


def complete(running: RunningTopology, directory: Path, total: int) -> None:
    def missing() -> set[int]:
        return set(range(total)) - {row[0] for row in rows(directory)}

    until(lambda: not missing(), lambda: f"{sorted(missing())[:5]} ...: {running.stats()}, {[e.text for e in running.errors]}")


def test_every_entry_comes_through_the_death_of_a_worker_and_of_redis(tmp_path: Path, redis: RedisServer) -> None:
    total = 1500
    add(redis, range(total))
    keys = {"redis.url": redis.url, "redis.stream": "numbers", "redis.group": "flow", "redis.pending": 200}
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Flow, config=config(tmp_path, **keys))
        until(lambda: written(tmp_path) >= 300, lambda: f"300 lines: {running.stats()}")
        victim = spout_worker(running)
        kill(victim)
        until_replaced(running, victim)
        until(lambda: written(tmp_path) >= 900, lambda: f"900 lines: {running.stats()}")
        redis.kill()
        until(lambda: running.errors, "an error that says so")
        assert f"Redis at 127.0.0.1:{redis.port}: " in running.errors[-1].text
        redis.start()
        complete(running, tmp_path, total)
        until(lambda: redis.client.xpending("numbers", "flow")["pending"] == 0, "all to be acked")
        known = until(lambda: c if (c := running.stats().components["numbers"]).knows_backlog else None, "the backlog of both tasks")
        assert known.restarts > 0
        until(lambda: running.stats().components["numbers"].backlog == 0, "no backlog")
        running.kill()


class OneTask(Topology):
    numbers = Numbers.spec()
    slow = Slow.spec(inputs=[numbers])
    sink = WriteDown.spec(inputs=[slow])


def test_what_could_not_be_acked_before_the_end_is_among_the_errors(tmp_path: Path, redis: RedisServer) -> None:
    add(redis, range(2000))
    keys = {"redis.url": redis.url, "redis.stream": "numbers", "redis.group": "flow", "redis.pending": 200}
    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(OneTask, config=config(tmp_path, **keys))
        until(lambda: written(tmp_path) >= 100, lambda: f"100 lines: {running.stats()}")
        redis.kill()
        try:
            until(lambda: running.errors, "an error that says so")
            enough = written(tmp_path) + 50  # of the 1,200 that it has
            until(lambda: written(tmp_path) >= enough, lambda: f"more lines: {running.stats()}")
            running.kill()
            found = [re.fullmatch(NOT_ACKED, error.text.strip()) for error in running.errors]
        finally:
            redis.start()
    (told,) = [match for match in found if match]
    assert int(told[1]) >= 50
    # they are where the next start finds them
    assert redis.client.xpending("numbers", "flow")["pending"] >= int(told[1])


def test_a_redis_that_answers_nothing_any_more_does_not_keep_the_end_from_being_told(redis: RedisServer) -> None:
    add(redis, range(5))
    reader = RedisReader(settings(redis), SystemClock(), RedisGroup(settings(redis)))
    reader.start()
    events: list[Event] = []
    until(lambda: events.extend(reader.take(10, ROOM)) or len(events) == 5, "the entries")
    with redis.frozen():
        for event in events:
            reader.done(event)
        reader.close(0.2)
        told = [re.fullmatch(NOT_ACKED, problem) for problem in reader.news()]
    reader.close()  # else it may meet the next test's Redis
    assert [match[1] for match in told if match] == ["5"]


# ---- the commands, one by one


class Context:
    topology_name, component_id = "flow", "numbers"

    def __init__(self, index: int) -> None:
        self.task_index = index

    def component_tasks(self, _: str) -> list[int]:
        return [1, 2]


def settings(redis: RedisServer, index: int = 0, **more: Any) -> RedisSettings:
    keys = {"redis.url": redis.url, "redis.stream": "numbers", "redis.group": "flow", **more}
    return settings_of(keys, cast("TopologyContext", Context(index)))


def ids(entries: list[RedisEntry]) -> list[str]:
    return [entry.id for entry in entries]


def test_a_group_is_made_with_its_stream_and_read(redis: RedisServer) -> None:
    group = RedisGroup(settings(redis))
    assert (group.newest(), group.join(FIRST), group.join(FIRST)) == (None, True, False)
    assert (group.newest(), group.given(), group.lag(), group.fresh(10, 0.001)) == ("0-0", "0-0", 0, [])
    added = add(redis, range(5))
    assert (group.newest(), group.lag(), group.pending()) == (added[-1], 5, 0)
    entries = group.fresh(3, 0.001)
    assert (ids(entries), dict(entries[2].fields), group.given()) == (added[:3], {"n": b"2"}, added[2])
    assert (group.lag(), group.pending(), ids(group.own(FIRST, 10)), ids(group.own(added[0], 1))) == (2, 3, added[:3], [added[1]])
    group.ack(added[:2])
    assert (group.pending(), ids(group.own(FIRST, 10))) == (1, [added[2]])
    group.close()
    assert group.pending() == 1, "it connects again"
    group.close()


def test_what_others_left_is_claimed_and_what_was_deleted_is_told(redis: RedisServer) -> None:
    dead, group = RedisGroup(settings(redis, 1)), RedisGroup(settings(redis, 0))
    group.join(FIRST)
    added = add(redis, range(6))
    dead.fresh(10, 0.001)
    assert group.claim(60.0, FIRST, 10) == (FIRST, [], 0)
    redis.client.xdel("numbers", added[1], added[5])
    after, entries, deleted = group.claim(0.0, FIRST, 3)
    assert (ids(entries), deleted) == ([added[0], added[2]], 1)
    after, entries, deleted = group.claim(0.0, after, 3)
    assert (after, ids(entries), deleted) == (FIRST, [added[3], added[4]], 1)
    assert (group.pending(), dead.pending()) == (4, 0)
    dead.hold(added[2:4])
    assert (group.pending(), dead.pending()) == (2, 2)
    redis.client.xdel("numbers", added[0])
    assert [(entry.id, dict(entry.fields)) for entry in group.own(FIRST, 10)] == [(added[0], {}), (added[4], {"n": b"4"})]
    for member in (dead, group):
        member.close()


def test_what_is_given_up_is_copied_or_refused_with_what_to_do(redis: RedisServer) -> None:
    group = RedisGroup(settings(redis))
    group.join(FIRST)
    add(redis, range(1))
    (entry,) = group.fresh(1, 0.001)
    redis.client.set("dead", "text")
    with pytest.raises(RefusedError, match=r"the key 'dead' holds .* no stream; correct 'redis\.dead\.stream'"):
        group.copy(entry, "dead", b"failed 2 times")
    redis.client.delete("dead")
    group.copy(entry, "dead", b"failed 2 times")
    ((_, letter),) = redis.client.xrange("dead")
    assert letter == {"n": "0", "pasps.stream": "numbers", "pasps.id": entry.id, "pasps.reason": "failed 2 times"}
    assert group.pending() == 1
    group.close()


def test_what_is_given_up_stays_pending_until_its_stream_takes_it(redis: RedisServer) -> None:
    redis.client.set("dead", "text")
    add(redis, range(1))
    keys = settings(redis, **{"redis.dead.stream": "dead"})
    reader = RedisReader(keys, SystemClock(), RedisGroup(keys))

    def pending() -> int:
        return int(redis.client.xpending("numbers", "flow")["pending"])

    reader.start()
    try:
        (event,) = until(lambda: reader.take(10, ROOM), "the entry")
        reader.set_aside(event, "failed")
        (problem,) = until(reader.news, "what is wrong")
        assert "WRONGTYPE" in problem
        add(redis, range(1, 2))
        (other,) = until(lambda: reader.take(10, ROOM), "the other entry")
        reader.done(other)
        until(lambda: pending() == 1, "its ack")
        redis.client.delete("dead")
        until(lambda: pending() == 0, "the entry's ack")
        assert (redis.client.xlen("dead"), reader.parting()) == (1, (0, 0))
    finally:
        reader.close()


def test_a_lag_that_redis_does_not_know_is_none(redis: RedisServer) -> None:
    group = RedisGroup(settings(redis))
    added = add(redis, range(5))
    group.join(added[2])
    assert group.lag() is None
    group.close()


def test_what_is_wrong_is_said_with_what_to_do(redis: RedisServer, tmp_path: Path) -> None:
    group = RedisGroup(settings(redis))
    for call in (lambda: group.fresh(1, 0.001), group.lag, group.pending, lambda: group.claim(1.0, FIRST, 1)):
        with pytest.raises(NoGroupError):
            call()
    redis.client.set("numbers", "text")
    with pytest.raises(AwayError, match="the key 'numbers' holds something that is no stream"):
        group.join(FIRST)
    group.close()
    redis.client.acl_setuser("ann", enabled=True, passwords=["+secret"], keys=["orders"], commands=["+xgroup"])
    (tmp_path / "password").write_text("wrong")
    url = redis.url.replace("//", "//ann@")
    for password, words in (("wrong", "correct the user in 'redis.url', and the password in"), ("secret", "needs the stream commands")):
        (tmp_path / "password").write_text(password)
        member = RedisGroup(settings(redis, **{"redis.url": url, "redis.password.file": str(tmp_path / "password")}))
        with pytest.raises(AwayError, match=words) as raised:
            member.join(FIRST)
        assert "secret" not in str(raised.value)
        member.close()


def test_a_user_needs_no_more_rights_than_the_documentation_says(redis: RedisServer, tmp_path: Path) -> None:
    rights = ["xgroup", "xreadgroup", "xack", "xclaim", "xautoclaim", "xinfo", "xadd"]
    commands = [f"+{name}" for name in rights]
    redis.client.acl_setuser("bob", enabled=True, passwords=["+secret"], keys=["numbers", "dead"], commands=commands, reset=True)
    (tmp_path / "password").write_text("secret")
    url = redis.url.replace("//", "//bob@")
    group = RedisGroup(settings(redis, **{"redis.url": url, "redis.password.file": str(tmp_path / "password")}))
    add(redis, range(3))
    assert group.join(FIRST)
    entries = group.fresh(10, 0.001)
    group.hold(ids(entries))
    group.ack(ids(entries[:1]))
    group.copy(entries[1], "dead", b"failed")
    assert (group.newest(), group.lag(), group.pending(), ids(group.own(FIRST, 10))) == (entries[2].id, 0, 2, ids(entries[1:]))
    assert ids(group.claim(0.0, FIRST, 10)[1]) == ids(entries[1:])
    group.close()


def test_a_redis_that_is_not_there_is_told_of(redis: RedisServer) -> None:
    with RedisServer.free_port() as port:
        group = RedisGroup(settings(redis, **{"redis.url": f"redis://127.0.0.1:{port}"}))
        with pytest.raises(AwayError, match=f"Redis at 127.0.0.1:{port}: Error 111 connecting"):
            group.join(FIRST)


def test_entries_come_at_once_and_acks_are_sent_though_nothing_comes(redis: RedisServer) -> None:
    reader = RedisReader(settings(redis), SystemClock(), RedisGroup(settings(redis)))
    reader.start()
    try:
        until(lambda: reader.backlog() == 0, "the group")
        add(redis, range(3))
        events = until(lambda: reader.take(10, ROOM), "the entries")
        for event in events:
            reader.done(event)
        until(lambda: redis.client.xpending("numbers", "flow")["pending"] == 3 - len(events), "the acks")
    finally:
        reader.close()


def test_what_comes_while_the_group_is_gone_is_read_though_nothing_was_before(redis: RedisServer) -> None:
    add(redis, range(1))
    keys = settings(redis, **{"redis.start": "latest"})
    reader = RedisReader(keys, SystemClock(), RedisGroup(keys))
    reader.start()
    try:
        until(lambda: reader.backlog() == 0, "the group")
        pipeline = redis.client.pipeline(transaction=True)
        pipeline.xgroup_destroy("numbers", "flow")
        pipeline.xadd("numbers", {"n": 1})
        pipeline.execute()
        (event,) = until(lambda: reader.take(10, ROOM), "the entry")
        assert event.record.fields == {"n": b"1"}
        (problem,) = reader.news()
        assert "the group 'flow' of stream 'numbers' was gone" in problem
    finally:
        reader.close()


def test_without_a_redis_server_the_tests_say_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AssertionError, match="apt-get install redis-server"):
        RedisServer(tmp_path)
