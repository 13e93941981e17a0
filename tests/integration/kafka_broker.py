"""A real Kafka of the tests' own: one broker with its controller (KRaft), on loopback; its data are gone with its directory.

Its jars are had as this machine is configured to have jars: by Maven where that is, else by the Ivy among Spark's jars. They are
kept in the user's cache directory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from pasps.cluster.launch.java import QUICK_JAVA, find_java, spark_home
from tests.integration.kafka_tasks import SECONDS, Brokers
from tests.integration.running import until
from tests.integration.zookeeper_server import free_port

VERSION = "4.3.1"
NEEDED = {"org.apache.kafka:kafka_2.13": VERSION, "org.apache.logging.log4j:log4j-slf4j-impl": "2.25.4"}
START_SECONDS = 60.0
_NOT_YET = frozenset(("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "GROUP_ID_NOT_FOUND"))

_POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>pasps</groupId><artifactId>tests</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>{}</dependencies></project>"""
_IVY = '<ivy-module version="2.0"><info organisation="pasps" module="tests"/><dependencies>{}</dependencies></ivy-module>'
_LOGGING = """<configuration><appenders><Console name="out"><PatternLayout pattern="%d %c{1} [%p] %msg%n"/></Console></appenders>
<loggers><root level="warn"><appender-ref ref="out"/></root></loggers></configuration>"""
_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{1}
listeners=PLAINTEXT://127.0.0.1:{0},CONTROLLER://127.0.0.1:{1}
advertised.listeners=PLAINTEXT://127.0.0.1:{0}
controller.listener.names=CONTROLLER
log.dirs={2}
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
"""
"""The last two: after a crash the controller lets the broker in only when its session has timed out, after nine seconds otherwise."""


class NoKafkaError(Exception):
    """The jars cannot be had here."""


def jars(seconds: float) -> Path:
    """The directory of Kafka's jars. The first time they are fetched, in so many seconds; what was fetched by then is kept.

    Raises:
        NoKafkaError: they were not there by then, or cannot be had.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pasps"
    place = cache / f"kafka-{VERSION}"
    if place.is_dir():
        return place
    cache.mkdir(parents=True, exist_ok=True)
    fetched = Path(tempfile.mkdtemp(prefix="kafka-", dir=cache))
    try:
        command = _maven(fetched) or _ivy(fetched, cache / "ivy")
        try:
            done = subprocess.run(command, cwd=fetched, timeout=seconds, capture_output=True, text=True, check=False)
        except subprocess.TimeoutExpired as error:
            raise NoKafkaError(f"{Path(command[0]).name} did not have the jars of Kafka {VERSION} after {seconds:g} s") from error
        found = fetched / "jars"
        if done.returncode or not list(found.glob("kafka_*.jar")):
            said = (done.stdout + done.stderr).strip()[-400:]
            raise NoKafkaError(f"{Path(command[0]).name} could not get the jars of Kafka {VERSION}: ... {said}")
        if not place.is_dir():  # else somebody was faster
            found.rename(place)
    finally:
        shutil.rmtree(fetched)
    shutil.rmtree(cache / "ivy", ignore_errors=True)
    return place


def _maven(directory: Path) -> list[str] | None:
    program = shutil.which("mvn")
    if program is None:
        return None
    form = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
    needed = [form.format(*name.split(":"), version) for name, version in NEEDED.items()]
    (directory / "pom.xml").write_text(_POM.format("".join(needed)))
    where = f"-DoutputDirectory={directory / 'jars'}"
    return [program, "-B", "-q", "dependency:copy-dependencies", "-DincludeScope=runtime", where]


def _ivy(directory: Path, cache: Path) -> list[str]:
    form = '<dependency org="{}" name="{}" rev="{}" conf="default->master,runtime"/>'
    needed = [form.format(*name.split(":"), version) for name, version in NEEDED.items()]
    (directory / "ivy.xml").write_text(_IVY.format("".join(needed)))
    where = f"{directory / 'jars'}/[artifact]-[revision].[ext]"
    program = [str(find_java()), "-cp", f"{spark_home() / 'jars'}/*", "org.apache.ivy.Main"]
    return [*program, "-cache", str(cache), "-ivy", str(directory / "ivy.xml"), "-retrieve", where]


class KafkaBroker(Brokers):
    """Not running yet. After `kill`, `start` brings it back with its data at the same port."""

    def __init__(self, directory: Path, libraries: Path) -> None:
        self._directory, self._libraries = directory, libraries
        self._settings = directory / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None
        port = free_port()
        self.brokers = f"127.0.0.1:{port}"
        directory.mkdir()
        (directory / "log4j2.xml").write_text(_LOGGING)
        self._settings.write_text(_PROPERTIES.format(port, free_port(), directory / "data"))
        name = urlsafe_b64encode(b"a Kafka of tests").decode().rstrip("=")
        made = self._run("kafka.tools.StorageTool", "format", "-t", name, "-c", str(self._settings))
        assert made.wait(START_SECONDS) == 0, self.log()
        self._admin = AdminClient({"bootstrap.servers": self.brokers, "log_level": 0, "reconnect.backoff.max.ms": 100})

    @property
    def pid(self) -> int:
        """Of its process."""
        assert self._process is not None
        return self._process.pid

    def _run(self, *words: str) -> subprocess.Popen[bytes]:
        options = [*QUICK_JAVA, "-Xmx512m", f"-Dlog4j2.configurationFile={self._directory / 'log4j2.xml'}"]
        with (self._directory / "log").open("ab") as log:
            return subprocess.Popen(
                [find_java(), *options, "-cp", f"{self._libraries}/*", *words], stdout=log, stderr=log, cwd=self._directory
            )

    def start(self) -> None:
        """Back when it answers."""
        self._process = self._run("kafka.Kafka", str(self._settings))
        until(self._answers, lambda: f"Kafka to answer: {self.log()}", START_SECONDS)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        try:
            return bool(self._admin.list_topics(timeout=1.0).brokers)
        except KafkaException:
            return False

    def log(self) -> str:
        """The end of what it wrote."""
        return (self._directory / "log").read_text(errors="replace")[-2000:]

    def kill(self) -> None:
        """As if its process had crashed."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(SECONDS)
            self._process = None

    def topic(self, name: str, partitions: int) -> None:
        for made in self._admin.create_topics([NewTopic(name, partitions, 1)]).values():
            made.result(SECONDS)

    def rebalances(self, group: str) -> bool:
        """Whether the group waits for members to join it again."""
        answer = self._describe(group)
        return answer is not None and answer.state in (ConsumerGroupState.PREPARING_REBALANCING, ConsumerGroupState.COMPLETING_REBALANCING)

    def members(self, group: str) -> int:
        """How many share the partitions; 0 while that is not settled."""
        answer = self._describe(group)
        return len(answer.members) if answer is not None and answer.state == ConsumerGroupState.STABLE else 0

    def _describe(self, group: str) -> Any:
        """None: the broker does not know yet, as when its first group has only just come."""
        try:
            return self._admin.describe_consumer_groups([group], request_timeout=SECONDS)[group].result(SECONDS)
        except KafkaException as error:
            if error.args[0].name() in _NOT_YET:
                return None
            raise
