"""Runs the blocks of one page as a script of its own: `python -m tests.docs.run_page PAGE`, in an empty directory.

As in a user's script, what the blocks define belongs to `__main__`. The exit status is 1 when a block does not do what the page says.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.docs.blocks import Block, blocks_of, commands_of, matches

ROOT = Path(__file__).parents[2]
PROGRAMS = {"pasps": ["-m", "pasps"], "python": [], "pytest": ["-m", "pytest", "-p", "no:cacheprovider"]}
COMMAND_SECONDS = 60


class DocsError(Exception):
    """A block does not do what its page says."""

    def __init__(self, block: Block, line: int, problem: str) -> None:
        super().__init__(f"{block.page}:{line}: {problem}")


def run_page(page: Path) -> None:
    """Run the blocks in order; raises DocsError at the first that is wrong."""
    namespace: dict[str, Any] = sys.modules["__main__"].__dict__
    sys.path.insert(0, str(Path.cwd()))
    printed: str | None = None
    for block in blocks_of(page):
        if block.language == "python" and "file" in block.options:
            Path(block.options["file"]).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            printed = _execute(block, namespace)
        elif block.language == "console":
            _run_commands(block)
        elif block.language == "text" and "output" in block.flags:
            if printed is None:
                raise DocsError(block, block.line, "an output block without a python block before it")
            if not matches(block.text, printed):
                raise DocsError(block, block.line, f"expected\n{block.text}\nbut the block before it prints\n{printed}")


def _execute(block: Block, namespace: dict[str, Any]) -> str:
    # empty lines before it give its own line numbers to tracebacks
    code = compile("\n" * (block.line - 1) + block.text, block.page, "exec", dont_inherit=True)
    expected = block.options.get("raises")
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(code, namespace)
    except Exception as error:
        if type(error).__name__ != expected:
            raise
        print(error, file=out)
    else:
        if expected is not None:
            raise DocsError(block, block.line, f"expected it to raise {expected}")
    return out.getvalue()


def _run_commands(block: Block) -> None:
    commands = commands_of(block)
    for command in commands:
        program, *arguments = shlex.split(command.words)
        if program not in PROGRAMS:
            raise DocsError(block, command.line, f"{program!r} is none of {', '.join(PROGRAMS)}; use ```shell for what is only read")
        expected = int(block.options.get("exit", 0)) if command is commands[-1] else 0
        words = [sys.executable, *PROGRAMS[program], *arguments]
        try:
            run = subprocess.run(words, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        except subprocess.TimeoutExpired as late:
            printed = b"".join(part or b"" for part in (late.stdout, late.stderr)).decode(errors="replace")
            raise DocsError(block, command.line, f"not over after {COMMAND_SECONDS} s; it printed\n{printed}") from late
        shown = f"status {run.returncode}\n{run.stdout}{run.stderr}"
        if run.returncode != expected:
            raise DocsError(block, command.line, f"expected exit status {expected}, got {shown}")
        if command.output and not matches(command.output, run.stdout + run.stderr):
            raise DocsError(block, command.line, f"expected\n{command.output}\nbut got {shown}")


if __name__ == "__main__":
    try:
        run_page(Path(sys.argv[1]))
    except DocsError as wrong:
        sys.exit(str(wrong))
    except Exception:  # noqa: BLE001 - the user's code of a block, shown as Python shows it
        sys.exit(traceback.format_exc())
