"""The directory of a development cluster: whose it is, who works on it, and what is cleared away when."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pasps.cluster.dev.state import FILE_NAME
from pasps.errors import BrokenError, BusyError, InvalidError

LOCK_NAME = "cluster.lock"
LOGS, ZOOKEEPER, SPARK, MASTER, PACKAGES = "logs", "zookeeper", "spark", "master", "packages"
ARTIFACTS = "artifacts"
"""Trained models that its predictor serves. Whoever trains writes them there, and they stay when the cluster is taken down."""
RECOVERY = f"{SPARK}/recovery"


class ClusterHome:
    """One home. Of what is in it only `clear` and `clear_data` remove anything, and only what a cluster made."""

    def __init__(self, path: Path) -> None:
        """Nothing is made or read yet."""
        # the mark of its processes is compared by letter
        self.path = Path(os.path.realpath(path))

    def log(self, part: str) -> Path:
        """Where that part's output goes."""
        return self.path / LOGS / f"{part}.log"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Made, if need be, and nobody else brings this cluster up or down meanwhile. An empty one that was made is removed again.

        Raises:
            InvalidError: it is no directory, or holds what no cluster made.
            BusyError: somebody else does right now.
            BrokenError: it cannot be made or written to.
        """
        try:
            made = self._claim()
            descriptor = self._lock()
        except OSError as error:
            raise BrokenError(f"--home {self.path} cannot be made: {error.strerror or error}; give another one") from error
        try:
            yield
        finally:
            if set(os.listdir(self.path)) == {LOCK_NAME}:
                (self.path / LOCK_NAME).unlink()
                if made:
                    self.path.rmdir()
            os.close(descriptor)

    def prepare(self, spark_defaults: str) -> None:
        """Make the directories that parts want to find, and the file that Spark reads in them, which has its secret."""
        for name in (LOGS, ZOOKEEPER, f"{SPARK}/conf", f"{SPARK}/local", RECOVERY, MASTER, PACKAGES, ARTIFACTS):
            (self.path / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(os.open(self.path / SPARK / "conf" / "spark-defaults.conf", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as file:
            file.write(spark_defaults)

    def clear_recovery(self) -> None:
        """Forget what Spark's master wrote of workers that are all gone: it would wait for them."""
        shutil.rmtree(self.path / RECOVERY, ignore_errors=True)

    def clear_data(self) -> None:
        """Remove what only a cluster that is up needs; logs stay, and what its topologies left."""
        for name in (ZOOKEEPER, SPARK, PACKAGES):
            shutil.rmtree(self.path / name, ignore_errors=True)
        with suppress(OSError):
            (self.path / FILE_NAME).unlink()
        for name in (LOGS, MASTER, ARTIFACTS):
            with suppress(OSError):
                (self.path / name).rmdir()  # when it is empty

    def clear(self) -> None:
        """Remove what an earlier cluster left."""
        for name in (LOGS, MASTER):
            shutil.rmtree(self.path / name, ignore_errors=True)
        self.clear_data()

    def _claim(self) -> bool:
        """Whether it had to be made."""
        made = not self.path.exists()
        if not made and not self.path.is_dir():
            raise InvalidError(f"--home {self.path}: expected a directory, this is a file")
        if not made and not (self.path / LOCK_NAME).exists() and any(self.path.iterdir()):
            raise InvalidError(f"--home {self.path}: it holds what no cluster made; give an empty directory or a new one")
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path.chmod(0o700)
        return made

    def _lock(self) -> int:
        path = self.path / LOCK_NAME
        while True:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # whoever held it may have removed it meanwhile: then this is a lock that nobody else sees
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), path.stat()):
                        return descriptor
            except BlockingIOError:
                os.close(descriptor)
                raise BusyError(f"another command brings the cluster in {self.path} up or down right now; try again") from None
            os.close(descriptor)
