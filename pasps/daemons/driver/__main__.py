"""`python -m pasps.daemons.driver`: see `driver`."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from pasps.clock import SystemClock
from pasps.cluster.tokens import TOKEN_VARIABLE
from pasps.cluster.zookeeper_store import open_store
from pasps.daemons.driver.driver import Driver
from pasps.daemons.driver.ending import CRASHED
from pasps.daemons.driver.options import Secrets, parsed
from pasps.daemons.predictor_process import TOKEN_VARIABLE as PREDICTOR_TOKEN_VARIABLE
from pasps.errors import PaspsError

AUTH_VARIABLE = "PASPS_ZOOKEEPER_AUTH"

_log = logging.getLogger("pasps.driver")


async def _run() -> int:
    options = parsed()
    # out of the environment, which the topology's own code can read
    token, credentials = os.environ.pop(TOKEN_VARIABLE, ""), os.environ.pop(AUTH_VARIABLE, None)
    secrets = Secrets(token, credentials, os.environ.pop(PREDICTOR_TOKEN_VARIABLE, None))
    try:
        store = await open_store(options.zookeeper, credentials)
    except PaspsError as error:
        _log.error("%s", error)
        return CRASHED
    try:
        return await Driver(options, store, secrets, SystemClock()).run()
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
