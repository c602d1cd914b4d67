"""Sessions of Spark Connect: Spark is elsewhere, and has started already."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from odradek.pipeline.job_errors import JobError
from odradek.terminal.installation import install_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

_SCHEME = "sc://"
_PORT = 15002
_TIMEOUT_S = 10.0


def is_remote(master: str) -> bool:
    """Whether it is the address of a server of Spark Connect."""
    return master.startswith(_SCHEME)


def connected(name: str, url: str, options: Mapping[str, str]) -> SparkSession:
    """A session on a server; only options that may change while it runs can be set.

    Raises:
        JobError: a package is missing, or there is no such server.
    """
    from pyspark.errors import PySparkException, PySparkImportError
    from pyspark.sql import SparkSession

    try:
        _check_there(url)
        builder = SparkSession.builder.remote(url).appName(f"odradek {name}")
        for option, value in options.items():
            builder = builder.config(option, value)
        return builder.getOrCreate()
    except PySparkImportError as error:
        said = str(error).partition("; ")[0].splitlines()[0]
        raise JobError(f"Spark Connect: {said}: {install_command('connect')}") from None
    except (PySparkException, ValueError, OSError) as error:
        said = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise JobError(f"There is no Spark Connect at {url}: {said}") from None


def _check_there(url: str) -> None:
    """Ask once: Spark's client would try for ten minutes.

    Raises:
        OSError, ValueError: nobody listens; it is no address.
    """
    place = urlsplit(url.partition("/;")[0])
    if not place.hostname:
        raise ValueError("write it like sc://host:15002")
    address = place.hostname, place.port or _PORT
    socket.create_connection(address, _TIMEOUT_S).close()
