"""What keys and certificates were made of: a change of it asks for new ones.

Files are compared by what the system says of them, behind links: of a mounted secret
a link is moved, of one that ``mv`` brings the number changes.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from odradek.broker.config.options.security.per_listener import SecurityOptions

_FILES: Final = (
    "ssl.certificate.file",
    "ssl.key.file",
    "ssl.ca.file",
    "ssl.keystore.location",
    "ssl.truststore.location",
)


class Look(NamedTuple):
    """The options of a listener that begin with ``ssl.``, and the files they name."""

    settings: tuple[Any, ...]
    files: tuple[Any, ...]


NOT_SEEN: Final = Look((), ())  # unlike all that there can be


def look_at(options: SecurityOptions) -> Look:
    """How it is now; files that are not there are part of it."""
    paths = [options.get(name) for name in _FILES]
    return Look(settings_of(options), tuple(_state(path) for path in paths if path))


def settings_of(options: SecurityOptions) -> tuple[Any, ...]:
    """The values of all options of TLS."""
    return tuple(options.get(name) for name in _names())


@cache
def _names() -> tuple[str, ...]:
    from odradek.broker.config.options.broker_config import OPTIONS

    return tuple(name for name in OPTIONS if name.startswith("ssl."))


def _state(path: str) -> tuple[str, object]:
    try:
        found = os.stat(path)
    except OSError as error:
        return path, error.errno
    times = found.st_mtime_ns, found.st_ctime_ns
    return path, (found.st_dev, found.st_ino, found.st_size, *times)
