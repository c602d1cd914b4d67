"""Why a broker cannot start, as the operator should read it."""

from __future__ import annotations

import errno
import os


class StartError(Exception):
    """The broker cannot start; the message is one line that says what to do."""


def why_not_listening(error: OSError) -> str:
    """Why an address cannot be listened on.

    What asyncio says of it names the address once more, which the caller has named.
    """
    if error.errno == errno.EADDRINUSE:
        return "the port is in use"
    if error.errno == errno.EADDRNOTAVAIL:
        return "this machine has no such address"
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)  # that of a name which is not found
