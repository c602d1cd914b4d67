"""The file of ``plain.users.file``: a user and a password a line, ``name:password``.

Lines that begin with # are none. Nobody but who runs the broker may read it.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from odradek.broker.runtime.start_error import StartError

if TYPE_CHECKING:
    from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_users(path: Path) -> dict[str, str]:
    """The passwords by user.

    Raises:
        StartError: it cannot be read, others can read it, or a line has no colon.
    """
    option = f"plain.users.file={path}"
    if path.exists() and not path.is_file():  # of a pipe the start would wait for ever
        raise StartError(f"{option} cannot be read: it is no file")
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & _OTHERS:
                raise StartError(
                    f"{option} is open to others (mode {stat.S_IMODE(mode):o}): it has"
                    f" passwords in it; chmod 600 {path}"
                )
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise StartError(f"{option} cannot be read: {reason}") from None
    users = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        user, colon, password = line.partition(":")
        if not (user and colon and password):
            raise StartError(f"{option}, line {number}: expected name:password")
        users[user] = password
    return users
