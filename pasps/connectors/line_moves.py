"""Where a file went that was renamed."""

from __future__ import annotations

import os

from pasps.connectors.line_file import FollowedFile
from pasps.connectors.line_search import find_inode


def relocate(file: FollowedFile) -> bool:
    """Find out what it is called now, and close it; False: it is gone.

    That a file has its inode is not enough: one that is free is used again, so it must also have what was read of it.
    """
    found = find_inode(os.path.dirname(file.path), file.inode)
    if found is None:
        return False
    path, size = file.path, file.size
    (file.device, _), what = found
    file.close()
    file.path, file.size, file.changed_ns = what.paths[0], what.size, what.changed_ns
    if _is_another(file):
        file.path, file.size = path, size
        return False
    return True


def _is_another(file: FollowedFile) -> bool:
    try:
        file.open()
        file.look()
        return file.is_another()
    except OSError:
        return False  # it is told when it is to be read
    finally:
        file.close()
