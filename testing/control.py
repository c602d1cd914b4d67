"""Asks a broker for tests what its admin socket answers: a line each in JSON."""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING, Any

from .errors import BrokerError, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SOCKET_NAME = "admin.sock"
# That below `socket.socket`, in whose place pytest-socket puts one that refuses.
Connection = socket.SocketType


def ask(data_dir: Path, name: str, **fields: Any) -> Iterator[dict[str, Any]]:
    """The items of the answer, as they come.

    Raises:
        Refused: the broker says no.
        BrokerError: it is not there, or ends before it has answered.
    """
    request = {"request": name, **fields}
    connection = connected(data_dir)
    try:
        # It has no lines, and a file of it has; both end together.
        with open(connection.fileno(), "rb", closefd=False) as lines:
            connection.sendall(json.dumps(request).encode() + b"\n")
            for line in lines:
                if not line.endswith(b"\n"):
                    break  # it has ended in the middle of it
                answer = json.loads(line)
                if "done" in answer:
                    return
                if "error" in answer:
                    raise Refused(answer["error"], answer["message"])
                yield answer["item"]
    except OSError as error:
        raise _silence(error) from None
    finally:
        connection.close()
    raise BrokerError("the broker ended before it had answered")


def connected(data_dir: Path) -> Connection:
    """A connection to the broker of that directory.

    Raises:
        BrokerError: none answers there.
    """
    connection = Connection(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(_address(data_dir))
    except OSError as error:
        connection.close()
        raise _silence(error) from None
    return connection


def _silence(error: OSError) -> BrokerError:
    return BrokerError(f"the broker does not answer: {error.strerror or error}")


def _address(data_dir: Path) -> str:
    """The system limits the path to about a hundred bytes."""
    path = data_dir / _SOCKET_NAME
    return min(str(path), os.path.relpath(path), key=len)
