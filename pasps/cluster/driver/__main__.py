"""`python -m pasps.cluster.driver`: see `driver`.

Started while the package of its topology is still checked it gets everything ready that runs no code of the user's: what is to be
loaded, and Spark's Java. Then it waits for its orders. Without any it ends, and leaves nothing.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
from types import ModuleType

from pasps.clock import SystemClock
from pasps.cluster.driver.options import DriverOptions, Secrets, parsed, told_orders, told_secrets, waits_for
from pasps.cluster.launch.spark_java import SparkJava, begin_java
from pasps.cluster.store.zookeeper_store import open_store
from pasps.errors import PaspsError
from pasps.garbage import collect_seldom

_log = logging.getLogger("pasps.driver")


async def _drive(driver: ModuleType, options: DriverOptions, secrets: Secrets, java: SparkJava | None) -> int:
    try:
        store = await open_store(options.zookeeper, secrets.access)
    except PaspsError as error:
        _log.error("%s", error)
        return int(driver.CRASHED)
    try:
        return int(await driver.Driver(options, store, secrets, SystemClock(), java).run())
    finally:
        await store.close()


def warmed(java: SparkJava) -> SparkJava | None:
    """It, with everything loaded that an application needs; None when it is of no use."""
    try:
        java.warm()
    except Exception as error:  # noqa: BLE001 - whatever py4j raises; the driver starts another one when it has its orders
        _log.warning("Spark's process cannot be got ready: %s", error)
        java.end()
        return None
    return java


def _run() -> int:
    waiting = waits_for(sys.argv[1:])
    options = None if waiting is not None else parsed()
    about = waiting or options
    assert about is not None
    # at once: it takes longer than all that is to be loaded and read before it is needed
    java = begin_java() if about.spark.startswith("spark://") else None
    driver = importlib.import_module("pasps.cluster.driver.driver")
    if waiting is not None and waiting.warm and java is not None:
        java = warmed(java)
    said = sys.stdin.buffer.read()
    try:
        if options is not None:
            secrets = told_secrets(said)
        elif said:
            orders = told_orders(said)
            options, secrets = parsed(orders.words), orders.secrets
            os.chdir(options.home)
            if java is not None and java.ended:  # it may have waited for days
                java.end()
                java = None
        else:  # the package was refused, or its master has ended
            if java is not None:
                java.end()
            return int(driver.ENDED)
    except PaspsError as error:
        _log.error("%s", error)
        return int(driver.CRASHED)
    collect_seldom()
    return asyncio.run(_drive(driver, options, secrets, java))


def main() -> None:
    """Entry point of the process."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=os.environ.get("PASPS_LOG", "INFO"))
    for name in ("py4j", "kazoo", "pyspark"):
        logging.getLogger(name).setLevel(logging.WARNING)
    code = _run()
    logging.shutdown()
    sys.stdout.flush()
    # threads that wait for Spark must not keep the process
    os._exit(code)


if __name__ == "__main__":
    main()
