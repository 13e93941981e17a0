"""Files wherever Spark reads and writes them: this machine, hdfs://, gs://; through the Hadoop file systems in Spark's process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pasps.errors import BrokenError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def shown(path: str) -> str:
    """A path as people write it: without the scheme, if it is of this machine."""
    return path.removeprefix("file:")


class HadoopFiles:
    """The file system that a path is on. Paths are texts; what a method raises is Spark's (see spark_errors)."""

    def __init__(self, session: SparkSession, path: str) -> None:
        context = session.sparkContext
        # pyspark itself has no way to files
        self._jvm: Any = context._jvm  # noqa: SLF001
        hadoop = context._jsc.hadoopConfiguration()  # noqa: SLF001
        wanted = self._path(path)
        found = wanted.getFileSystem(hadoop)
        self.path = str(found.makeQualified(wanted).toString())
        """The path with its scheme, from the root."""
        # the local one keeps a hidden file of checksums beside each file: of no use to whoever gets them
        self._files = found.getRawFileSystem() if found.getScheme() == "file" else found

    def exists(self, path: str) -> bool:
        """Whether something is there."""
        return bool(self._files.exists(self._path(path)))

    def is_directory(self, path: str) -> bool:
        """Whether a directory is there."""
        return self.exists(path) and bool(self._files.getFileStatus(self._path(path)).isDirectory())

    def names(self, path: str) -> list[str]:
        """What is in a directory, in order."""
        return sorted(str(status.getPath().getName()) for status in self._files.listStatus(self._path(path)))

    def matching(self) -> list[str]:
        """What there is under the path, which may be a pattern; each with its scheme, from the root."""
        found = self._files.globStatus(self._path(self.path))
        return [] if found is None else [str(status.getPath().toString()) for status in found]

    def make_directory(self, path: str) -> None:
        """Make it, and those it is in.

        Raises:
            BrokenError: it cannot be made; file systems seldom say why.
        """
        if not self._files.mkdirs(self._path(path)):
            raise BrokenError(f"the directory {shown(path)} cannot be made; is there room, and the right to write?")

    def move(self, source: str, target: str) -> None:
        """Rename; there must be nothing at `target`.

        Raises:
            BrokenError: it does not work.
        """
        if not self._files.rename(self._path(source), self._path(target)):
            raise BrokenError(f"{shown(source)} cannot be renamed to {shown(target)}; is there room, and the right to write?")

    def delete(self, path: str) -> None:
        """Delete it with all that is in it, if it is there."""
        self._files.delete(self._path(path), True)

    def write(self, path: str, text: str) -> None:
        """Make or replace a file."""
        stream = self._files.create(self._path(path), True)
        stream.write(bytearray(text.encode()))
        stream.close()

    @contextmanager
    def written(self, path: str) -> Iterator[Path]:
        """A file of this machine to be filled in the block; after it, it is at `path`.

        Raises:
            BrokenError: it cannot be written.
        """
        with TemporaryDirectory(prefix="pasps-") as scratch:
            is_here = shown(path) != path
            here = Path(shown(path)) if is_here else Path(scratch) / "part"
            try:
                yield here
            except OSError as error:
                why = error.strerror or error
                raise BrokenError(f"{shown(path)} cannot be written: {why}; is there room, and the right to write?") from error
            if not is_here:
                self._files.copyFromLocalFile(self._path(here.as_uri()), self._path(path))

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)
