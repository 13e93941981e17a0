"""Where foreign peers run: a virtual environment of their own, and, where we may, a network that has only loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

BYTEWAX = "bytewax==0.21.1 numpy>=2"
DEFAULT_DIRECTORY = Path(__file__).resolve().parent / ".venv-bytewax"


def ensure_python(directory: Path, requirement: str = BYTEWAX) -> Path:
    """The interpreter of a virtual environment that has what is required; made on first use, by pip, which may need the network."""
    python, stamp = directory / "bin" / "python", directory / "installed"
    if stamp.exists() and stamp.read_text() == requirement and python.exists():
        return python
    print(f"making {directory} with {requirement}", file=sys.stderr, flush=True)
    venv.create(directory, with_pip=True, clear=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *requirement.split()], check=True)
    stamp.write_text(requirement)
    return python


def loopback_only() -> list[str]:
    """A command prefix that leaves its child no network but loopback; empty where that needs rights or tools we do not have."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        return []
    prefix = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    return prefix if subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode == 0 else []
