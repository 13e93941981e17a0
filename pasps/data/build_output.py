"""Writes a build's directory, so that what stands in it under its own name is whole, wherever a crash comes; its summary comes last."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Mapping

from pyspark.sql import DataFrame

from pasps.data.arrays import Ints
from pasps.data.build_request import BuildRequest
from pasps.data.build_totals import KeySummary, Summary
from pasps.data.hadoop_files import HadoopFiles, shown
from pasps.data.trace_columns import write_csv, write_parquet
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

    def write_trace(self, counts: Ints, first: int, step: int) -> None:
        """The trace of all keys together."""
        with self._files.written(f"{self._work}/{TRACE_CSV}") as path:
            write_csv(path, counts, first, step)
        with self._files.written(f"{self._work}/{TRACE_PARQUET}") as path:
            write_parquet(path, counts[None], first, step)

    def write_keys(self, keys: Mapping[str, KeySummary], counts: Ints, first: int, step: int) -> None:
        """A trace for each key, in the order of the rows of `counts`."""
        self._files.make_directory(f"{self._work}/{BY_KEY}")
        for part, row in zip(keys.values(), counts, strict=True):
            with self._files.written(f"{self._work}/{BY_KEY}/{part.file}") as path:
                write_csv(path, row, first, step)
        with self._files.written(f"{self._work}/{KEYS_PARQUET}") as path:
            write_parquet(path, counts, first, step, list(keys))

    def write_bad(self, rows: DataFrame) -> None:
        """JSON lines, in as many files as Spark had tasks that found any."""
        # what Spark makes of a name is a directory
        written, bad = f"{self._work}/_written", f"{self._work}/{BAD}"
        rows.write.json(written)
        parts = [name for name in self._files.names(written) if name.startswith("part-")]
        if not parts:
            raise BrokenError(
                f"{BAD}: expected that Spark writes files to {shown(written)}, and found none;"
                " on a cluster --out must be on a file system that all its machines see"
            )
        self._files.make_directory(bad)
        for i, part in enumerate(parts):
            self._files.move(f"{written}/{part}", f"{bad}/part-{i:05}.jsonl")
        self._files.delete(written)

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
