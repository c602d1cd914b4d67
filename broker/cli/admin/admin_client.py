"""Asks the running broker of a data directory through its ``admin.sock``."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

from odradek.broker.operate.admin_address import (
    LINE_SIZE_MAX,
    SOCKET_NAME,
    admin_address,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from odradek.client.address import Address

# An answer of ours is far below; what goes on without end is no answer of a broker.
_ANSWER_SIZE_MAX = 16 * LINE_SIZE_MAX


class AdminRefusal(Exception):
    """The broker does not answer, or says no; the text is for people.

    ``word`` is the broker's for programs, where it has said no.
    """

    def __init__(self, message: str, word: str = "") -> None:
        super().__init__(message)
        self.word = word


def ask(
    data_directory: Path, request: dict[str, Any], timeout_s: float | None = None
) -> Generator[dict[str, Any]]:
    """The items of the answer, as they come.

    Raises:
        AdminRefusal: there is no broker, or it refuses, or it is lost.
    """
    with _connected(data_directory, timeout_s) as connection:
        for line in _lines(connection, request):
            answer = _parsed(line)
            if "done" in answer:
                return
            if "error" in answer:
                message = answer.get("message", answer["error"])
                raise AdminRefusal(message, str(answer["error"]))
            yield answer.get("item", {})
    raise AdminRefusal("the broker ended before it had answered")


def _lines(connection: socket.socket, request: dict[str, Any]) -> Iterator[bytes]:
    try:
        connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile("rb") as lines:
            while line := lines.readline(_ANSWER_SIZE_MAX):
                yield line
    except TimeoutError:
        waited = f"{connection.gettimeout():g} seconds"
        raise AdminRefusal(f"the broker has not answered in {waited}") from None
    except OSError as error:  # a pipe that is broken here is not our output
        raise AdminRefusal(f"the broker was lost: {error.strerror or error}") from None


def broker_addresses(data_directory: Path, timeout_s: float) -> list[Address]:
    """Where the broker of a data directory listens for clients.

    Raises:
        AdminRefusal: there is no broker, or it is too old to say.
    """
    from odradek.client.address import Address

    found = ask(data_directory, {"request": "listeners"}, timeout_s)
    return [Address(each["host"], each["port"]) for each in found]


def _connected(data_directory: Path, timeout_s: float | None) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    try:
        connection.connect(admin_address(data_directory))
    except OSError as error:
        connection.close()
        raise AdminRefusal(_why_not(data_directory, error)) from None
    return connection


def _why_not(directory: Path, error: OSError) -> str:
    """What a broker that cannot be reached means, and what helps."""
    from odradek.storage.fsck.lock_holder import lock_holder

    if not directory.exists():
        return f"{directory} is not there; --data-dir says where the data lives"
    holder = lock_holder(directory)
    missing = isinstance(error, FileNotFoundError | ConnectionRefusedError)
    if missing and holder is None:
        return (
            f"no broker is running on {directory}; "
            f"odradek serve --data-dir {directory} starts one"
        )
    reason = error.strerror or str(error)
    if holder is None:
        return f"{directory / SOCKET_NAME}: {reason}"
    return (
        f"process {holder} is using {directory}, but cannot be asked there: "
        f"{SOCKET_NAME}: {reason}; its log may say why"
    )


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise AdminRefusal("what answers there is not a broker, or a broken one")
    return answer
