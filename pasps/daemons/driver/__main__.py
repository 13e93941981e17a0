"""`python -m pasps.daemons.driver`: see `driver`."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys

from pasps.clock import SystemClock
from pasps.cluster.spark_java import begin_java
from pasps.cluster.zookeeper_store import open_store
from pasps.daemons.driver.options import parsed, told_secrets
from pasps.errors import PaspsError

_log = logging.getLogger("pasps.driver")


async def _run() -> int:
    options = parsed()
    # at once: it takes longer than all that is to be loaded and read before it is needed
    java = begin_java() if options.spark.startswith("spark://") else None
    driver = importlib.import_module("pasps.daemons.driver.driver")
    try:
        secrets = told_secrets(sys.stdin.buffer.read())
        store = await open_store(options.zookeeper, secrets.access)
    except PaspsError as error:
        _log.error("%s", error)
        return int(driver.CRASHED)
    try:
        return int(await driver.Driver(options, store, secrets, SystemClock(), java).run())
    finally:
        await store.close()


def main() -> None:
    """Entry point of the process."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=os.environ.get("PASPS_LOG", "INFO"))
    for name in ("py4j", "kazoo", "pyspark"):
        logging.getLogger(name).setLevel(logging.WARNING)
    code = asyncio.run(_run())
    logging.shutdown()
    sys.stdout.flush()
    # threads that wait for Spark must not keep the process
    os._exit(code)


if __name__ == "__main__":
    main()
