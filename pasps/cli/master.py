"""`pasps master`: one master of a cluster, in this process until a signal ends it."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from pasps.cli import exit_codes
from pasps.cluster.master.settings import DEFAULT_PORT, LOOPBACK, Settings
from pasps.cluster.store.tokens import SIGNING_VARIABLE, TOKEN_VARIABLE, ZOOKEEPER_VARIABLE
from pasps.topology.run_list import base_directory

CURE = "pip install 'pasps[cluster]'"
_NEEDED = ("fastapi", "kazoo", "uvicorn")

_ABOUT = """\
Runs a master of a cluster: it takes topologies from `pasps submit`, starts a driver for each and watches over it. Several may run
against one ZooKeeper, and one of them leads. No tuple passes through a master: when it ends, topologies go on.
When it answers it prints one line, `master listening on http://HOST:PORT`; SIGTERM and Ctrl-C end it.

environment:
  PASPS_TOKEN            the secret that clients send; needed when others can reach this master, or when there are several.
                         Without it one is made, and kept in the file `token` in --home
  PASPS_SIGNING_KEY      what submissions are signed with in ZooKeeper, and what the secrets of drivers are made of, the same for all
                         masters (default: PASPS_TOKEN). With one the token may change, and what was submitted goes on
  PASPS_ZOOKEEPER_AUTH   user:password; what is written to ZooKeeper is then for this user only. Needed when others can reach this
                         master, and the same for all masters; --zookeeper wants a /CHROOT with it
  PASPS_PREDICTOR_TOKEN  the predictor's, for the drivers

examples:
  pasps master --spark spark://10.0.0.5:7077 --zookeeper 10.0.0.5:2181/pasps
  PASPS_TOKEN=... PASPS_ZOOKEEPER_AUTH=pasps:... pasps master --spark yarn --zookeeper h1:2181,h2:2181,h3:2181/pasps \\
    --packages gs://bucket/pasps --host 0.0.0.0 --bind 10.0.0.5

exit codes:
  0    ended by SIGTERM or Ctrl-C
  1    ZooKeeper cannot be reached, or something in pasps broke
  2    it cannot be started like this: a wrong option, an address that is taken, masters that do not fit together, or the extra
       is not installed
  7    another master uses --home"""


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of `pasps master`."""
    parser.description = _ABOUT
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    option = parser.add_argument
    option("--spark", metavar="URL", required=True, help="spark://HOST:PORT, or yarn: where workers run")
    option("--zookeeper", metavar="CONNECT", required=True, help="HOST:PORT[,HOST:PORT...][/CHROOT]")
    option("--host", default=LOOPBACK, help=f"the address to listen on (default: {LOOPBACK})")
    option("--port", type=int, default=DEFAULT_PORT, help=f"0 takes a free one (default: {DEFAULT_PORT})")
    option("--home", metavar="DIR", type=Path, help="this master's own directory (default: master in $PASPS_HOME or ~/.local/state/pasps)")
    option("--packages", metavar="LOCATION", help="a path that all nodes share, gs:// or hdfs://; needed when there are several masters")
    option("--bind", metavar="HOST", default=LOOPBACK, help=f"the address that drivers and workers listen on (default: {LOOPBACK})")
    option("--advertise", metavar="HOST", help="the name under which others reach this machine")
    option("--predictor", metavar="URL", help="the predictor that drivers ask")
    option("--ready", action="store_true", help="keep a driver ready for the next submission, which starts sooner; it takes 300 MB")


def master(options: argparse.Namespace) -> int:
    """Returns when a signal ended it."""
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        print(f"pasps master: {', '.join(missing)} not installed; run: {CURE}", file=sys.stderr, flush=True)
        return exit_codes.INVALID
    settings = settings_of(options, os.environ)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("kazoo").setLevel(logging.ERROR)
    # only a machine that runs a master needs what this module imports
    importlib.import_module("pasps.cluster.master.serve").serve(settings, announce)
    return exit_codes.OK


def announce(line: str) -> None:
    """The one line on standard output."""
    print(line, flush=True)


def settings_of(options: argparse.Namespace, environment: Mapping[str, str]) -> Settings:
    """The options, with the secrets of the environment.

    Raises:
        InvalidError: a value that cannot be.
    """
    return Settings(
        spark=options.spark,
        zookeeper=options.zookeeper,
        home=options.home or base_directory() / "master",
        host=options.host,
        port=options.port,
        packages=options.packages,
        bind=options.bind,
        advertise=options.advertise,
        predictor=options.predictor,
        ready=options.ready,
        token=environment.get(TOKEN_VARIABLE) or None,
        signing_key=environment.get(SIGNING_VARIABLE) or None,
        zookeeper_auth=environment.get(ZOOKEEPER_VARIABLE) or None,
    )
