"""Spark's own Java process, from its start to its end, and the session in it; see spark, which imports this when it is needed."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from pasps.data.spark import is_local
from pasps.data.spark_errors import CURES, errors_translated
from pasps.errors import BrokenError

_END_SECONDS = 10.0
_BREAK_SECONDS = 2.0
_REASON_LINES = 3
_FATAL = re.compile(r"\b(?:java\.lang\.)?((?:OutOfMemory|StackOverflow)Error(?:: [^\n]*)?)")
_COMPLAINT = re.compile(r"^(Error|Invalid|Exception in |(Caused by: )?[\w.$]+(Exception|Error):)| ERROR (?!SparkContext)")

for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    # pyspark writes errors to standard error too, as JSON with Java's stack; they are raised anyway
    PySparkLogger.getLogger(_name).disabled = True


def is_running() -> bool:
    """Whether somebody has started Spark in this process."""
    try:
        return SparkSession.active() is not None
    except PySparkRuntimeError:
        return False


@contextmanager
def shared_session(properties: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session of our own in the Spark that runs in this process, with those properties that a session has."""
    session = SparkSession.active().newSession()
    for key, value in properties.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    with errors_translated():
        yield session


@contextmanager
def own_session(properties: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session in a Java process of its own. What that process writes goes to a file, and is shown only if it does not start."""
    with tempfile.TemporaryFile() as words, _quiet_py4j():
        session, gateway = _started(properties, words)
        try:
            # here, since Spark's process is asked what it meant, and will be gone
            with errors_translated():
                yield session
        except (BrokenError, OSError) as error:
            if _is_of_connection(error) and _has_ended(gateway):
                raise BrokenError(_why_ended(words)) from error
            raise
        finally:
            _stop(session, gateway)


def _stop(session: SparkSession, gateway: Any) -> None:
    """End the session and its process, in a time that is bounded: a cluster that is gone may never answer."""

    def stop() -> None:
        with suppress(Exception):  # its process is ended in any case, under its hands if it takes too long
            session.stop()

    stopper = threading.Thread(target=stop, daemon=True)
    with warnings.catch_warnings():
        # pyspark warns of a process that has ended while it stopped; nobody can do anything about it
        warnings.simplefilter("ignore", RuntimeWarning)
        if gateway.proc.poll() is None:
            stopper.start()
            stopper.join(_END_SECONDS)
        _end(gateway)
        if stopper.ident is not None:
            stopper.join(_END_SECONDS)


@contextmanager
def _quiet_py4j() -> Iterator[None]:
    """py4j logs, with a stack, that Ctrl-C has ended a call, or that Spark's process has ended; both are raised anyway."""

    def wanted(record: logging.LogRecord) -> bool:
        return record.module not in ("java_gateway", "clientserver")

    loggers = [logging.getLogger(name) for name in (None, "py4j.java_gateway", "py4j.clientserver")]
    for logger in loggers:
        logger.addFilter(wanted)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(wanted)


@contextmanager
def _signals_later() -> Iterator[None]:
    """Ctrl-C and SIGTERM take effect after the block: pyspark would leave the process that it starts, and that would never end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for each in came:
        signal.raise_signal(each)


def _started(properties: Mapping[str, str], words: IO[bytes]) -> tuple[SparkSession, Any]:
    """The session, and the connection to its process."""
    conf = SparkConf(loadDefaults=False)
    for key, value in properties.items():
        conf.set(key, value)
    gateway: Any = None
    interrupted = signal.getsignal(signal.SIGINT)
    try:
        with _signals_later():
            gateway = launch_gateway(conf, {"stdout": words, "stderr": words})  # type: ignore[no-untyped-call]
        with warnings.catch_warnings():
            # pyspark warns of a pandas that is newer than it knows; no job here uses pandas
            warnings.simplefilter("ignore", FutureWarning)
            context = SparkContext(gateway=gateway, conf=conf)
        if threading.current_thread() is threading.main_thread():
            # pyspark's own handler calls Spark from within a call to Spark, which breaks the connection
            signal.signal(signal.SIGINT, interrupted)
        if is_local(properties["spark.master"]) and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable  # else it would be the first python3 of PATH
        return SparkSession(context), gateway
    except BaseException as error:
        reason = _reason(error, words)
        _end(gateway)
        if not isinstance(error, Exception):
            raise
        raise BrokenError(f"Spark does not start at {properties['spark.master']!r}: {reason}") from error


def _reason(error: BaseException, words: IO[bytes]) -> str:
    """What Spark's process complained of at last, else what Python knows."""
    words.seek(0)
    lines = [line.strip() for line in words.read().decode(errors="replace").splitlines()]
    said = [line for line in lines if _COMPLAINT.search(line)]
    told = [line for line in str(error).splitlines() if line.strip()]
    return "; ".join(said[-_REASON_LINES:]) or (told[-1].strip() if told else type(error).__name__)


def _is_of_connection(error: Exception) -> bool:
    cause = error.__cause__
    return isinstance(error, OSError) or (isinstance(cause, Py4JError) and not isinstance(cause, Py4JJavaError))


def _has_ended(gateway: Any) -> bool:
    """Whether Spark's process is gone: the connection to it breaks a moment before that."""
    try:
        gateway.proc.wait(_BREAK_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _why_ended(words: IO[bytes]) -> str:
    words.seek(0)
    said = _FATAL.findall(words.read().decode(errors="replace"))
    cures = [cure for sign, cure in CURES.items() if any(sign in text for text in said)]
    return "; ".join(["Spark's process has ended" + (f": {said[0]}" if said else ", and did not say why; was it killed?"), *cures])


def _end(gateway: Any) -> None:
    """End Spark's process, so that its memory is free, and a later session has a process with properties of its own."""
    # pyspark would keep it for the next session, and has no public way to let go
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    if gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(_END_SECONDS)
    except Exception:  # noqa: BLE001 - it is stuck, or something else waited for it: it must not be left
        gateway.proc.kill()
        with suppress(Exception):
            gateway.proc.wait(_END_SECONDS)
