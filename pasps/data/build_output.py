"""Writes a build's directory, so that what stands in it under its own name is whole, wherever a crash comes; its summary comes last."""

from __future__ import annotations

import json
import shutil
import uuid

from pyspark.sql import DataFrame

from pasps.data.build_request import BuildRequest
from pasps.data.build_summary import Summary
from pasps.data.hadoop_files import HadoopFiles, shown
from pasps.errors import BrokenError, InvalidError

TRACE_CSV, TRACE_PARQUET, KEYS_PARQUET = "trace.csv", "trace.parquet", "by-key.parquet"
BY_KEY, BAD, SUMMARY = "by-key", "bad", "summary.json"
_OWN = frozenset({TRACE_CSV, TRACE_PARQUET, KEYS_PARQUET, BY_KEY, BAD, SUMMARY})


class Output:
    """One build's directory. States: made -> `begin` (a directory beside it is filled) -> `finish`, or `discard`."""

    def __init__(self, files: HadoopFiles, request: BuildRequest) -> None:
        """See whether it may be written.

        Raises:
            InvalidError: something else is there.
        """
        self.path = files.path.rstrip("/")
        self._files = files
        parent, _, name = self.path.rpartition("/")
        if not name or parent.endswith((":", ":/")):
            raise InvalidError(f"--out: expected a directory that can be made, got {request.out!r}")
        mark = uuid.uuid4().hex[:8]
        self._work, self._old = f"{parent}/.{name}-{mark}.partial", f"{parent}/.{name}-{mark}.old"
        self._check_place(request)

    def begin(self) -> None:
        """Make the directory that is filled."""
        self._files.make_directory(self._work)

    def discard(self) -> None:
        """Leave nothing, if it was not finished."""
        local = shown(self._work)
        if local != self._work:
            # without Spark, whose process may be what has ended
            shutil.rmtree(local, ignore_errors=True)
        else:
            self._files.delete(self._work)

    def finish(self, summary: Summary) -> None:
        """Give it its name, and the summary."""
        replaced = self._files.exists(self.path)
        if replaced:
            self._files.move(self.path, self._old)
        self._files.move(self._work, self.path)
        self._files.write(f"{self.path}/{SUMMARY}", json.dumps(summary.as_object(), indent=2, ensure_ascii=False) + "\n")
        if replaced:
            self._files.delete(self._old)

    def write_csv(self, rows: DataFrame, name: str) -> None:
        """One CSV file."""
        rows.write.csv(self._written, header=True)
        self._take_one(self._written, name)

    def write_parquet(self, rows: DataFrame, name: str) -> None:
        """One Parquet file."""
        rows.write.parquet(self._written)
        self._take_one(self._written, name)

    def write_csv_each(self, rows: DataFrame, number: str, names: list[str]) -> None:
        """One CSV file for each value of the column `number`, in the directory of keys; `names` are those of the values from 0 on."""
        rows.write.partitionBy(number).csv(self._written, header=True)
        self._files.make_directory(f"{self._work}/{BY_KEY}")
        for value, name in enumerate(names):
            self._take_one(f"{self._written}/{number}={value}", f"{BY_KEY}/{name}")
        self._files.delete(self._written)

    def write_bad(self, rows: DataFrame) -> None:
        """JSON lines, in as many files as Spark had tasks that found any."""
        rows.write.json(self._written)
        self._files.make_directory(f"{self._work}/{BAD}")
        for i, part in enumerate(self._parts(self._written)):
            self._files.move(f"{self._written}/{part}", f"{self._work}/{BAD}/part-{i:05}.jsonl")
        self._files.delete(self._written)

    @property
    def _written(self) -> str:
        """Where Spark writes; what it makes of a name is a directory."""
        return f"{self._work}/_written"

    def _take_one(self, directory: str, name: str) -> None:
        parts = self._parts(directory) if self._files.exists(directory) else []
        if len(parts) != 1:
            raise BrokenError(
                f"{name}: expected that Spark writes one file to {shown(directory)}, and found {len(parts)};"
                " on a cluster --out must be on a file system that all its machines see"
            )
        self._files.move(f"{directory}/{parts[0]}", f"{self._work}/{name}")
        self._files.delete(directory)

    def _parts(self, directory: str) -> list[str]:
        return [name for name in self._files.names(directory) if name.startswith("part-")]

    def _check_place(self, request: BuildRequest) -> None:
        if not self._files.exists(self.path):
            return
        if not self._files.is_directory(self.path):
            raise InvalidError(f"--out: {shown(self.path)} is a file, expected a directory that can be made")
        names = set(self._files.names(self.path))
        if not names:
            return
        if strangers := sorted(names - _OWN):
            raise InvalidError(
                f"--out: {shown(self.path)} holds what no build has written, such as {strangers[0]!r}; give another directory"
            )
        if not request.overwrite:
            raise InvalidError(f"--out: {shown(self.path)} is there already; give another directory, or --overwrite to replace it")
