"""Two folders change places in one step: nobody sees either of them missing.

Linux has renameat2 with RENAME_EXCHANGE, macOS has renamex_np with RENAME_SWAP.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from typing import TYPE_CHECKING

from odradek.pipeline.job_errors import JobError

if TYPE_CHECKING:
    from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2
_UNABLE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def exchange(one: Path, other: Path) -> None:
    """Let two folders of one file system change places.

    Raises:
        JobError: the system or the file system cannot do it.
    """
    library = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        failed = library.renamex_np(first, second, _RENAME_SWAP)
    elif hasattr(library, "renameat2"):
        failed = library.renameat2(
            _AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE
        )
    else:
        raise _unable(one)
    if failed:
        number = ctypes.get_errno()
        if number in _UNABLE:
            raise _unable(one)
        raise OSError(number, os.strerror(number), str(one))


def _unable(path: Path) -> JobError:
    return JobError(
        f"the file system of {path} cannot exchange two folders in one step, and "
        "without that readers would see rows twice; use a Delta or Iceberg table, or "
        "one on ext4, xfs, btrfs or APFS"
    )
