"""Where a broker can be reached by the commands of who runs it: ``admin.sock``."""

import os
from pathlib import Path

SOCKET_NAME = "admin.sock"
# A request is one line, and so is each part of an answer.
LINE_SIZE_MAX = 64 << 10


def admin_address(data_directory: Path) -> str:
    """The path of the socket, from the working directory where that is shorter.

    The system limits it to about a hundred bytes.
    """
    path = data_directory / SOCKET_NAME
    return min(
        str(path), os.path.relpath(path), key=lambda each: len(os.fsencode(each))
    )
