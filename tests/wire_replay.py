"""Ask our broker what Apache Kafka was asked, and compare the answers field by field.

Ids that differ from run to run are translated: where the recording has an id that an
earlier answer brought, ours is sent instead (topic ids stand in requests as 16 bytes
that occur nowhere else), and answers are compared after the same translation.
"""

import json
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from protocol.compiler import decoder
from protocol.schema import Response, Struct

GOLDEN = Path(__file__).parent / "golden" / "wire" / "behaviours.jsonl"
TIMEOUT_S = 10

# Never the same in two runs, or ours to word: messages say what to do in our words.
# (Whether there is a message at all is compared.)
FREE = {"port", "throttle_time_ms", "cluster_id", "host"}
WORDED = {"error_message", "batch_index_error_message"}


class Difference(NamedTuple):
    """A field in which our answer is not Apache Kafka's."""

    path: str
    kafka: Any
    ours: Any


def recorded_group(name: str) -> list[dict[str, Any]]:
    """The steps of one recorded conversation, in order."""
    steps = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    return [step for step in steps if step["group"] == name]


class Replay:
    """The connections of one conversation, and the ids learned so far."""

    def __init__(self, address: tuple[str, int], responses: dict[int, Any]) -> None:
        self.address = address
        self.responses = responses  # api key -> response class
        self.ids: dict[bytes, bytes] = {}  # the recording's -> ours
        self._connections: dict[str, socket.socket] = {}

    def play(self, step: dict[str, Any]) -> list[Difference]:
        """Ask what the step asked; say where the answer differs."""
        request = self._translated(bytes.fromhex(step["request_hex"]))
        raw = bool(step.get("raw"))
        connection = self._connect(step, fresh=raw)
        sent = request if raw else struct.pack(">i", len(request)) + request
        try:
            connection.sendall(sent)
            return self._compare(step, self._answer(connection, step))
        finally:
            if raw or step["answer"] != "response":
                self._forget(step)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _connect(self, step: dict[str, Any], *, fresh: bool) -> socket.socket:
        name = step.get("connection") or "a"
        if fresh:
            self._forget(step)
        if name not in self._connections:
            connection = socket.create_connection(self.address, timeout=TIMEOUT_S)
            self._connections[name] = connection
        return self._connections[name]

    def _forget(self, step: dict[str, Any]) -> None:
        connection = self._connections.pop(step.get("connection") or "a", None)
        if connection is not None:
            connection.close()

    def _translated(self, data: bytes) -> bytes:
        for theirs, ours in self.ids.items():
            data = data.replace(theirs, ours)
        return data

    def _answer(
        self, connection: socket.socket, step: dict[str, Any]
    ) -> bytes | str | None:
        """The answer's bytes, or "closed", or "timeout"."""
        if step["answer"] == "timeout":
            connection.settimeout(0.3)
        if step["answer"] == "closed" and "shut" in step["description"]:
            connection.shutdown(socket.SHUT_WR)
        try:
            size = _read(connection, 4)
            return _read(connection, struct.unpack(">i", size)[0])
        except TimeoutError:
            return "timeout"
        except (ConnectionError, EOFError):
            return "closed"

    def _compare(
        self, step: dict[str, Any], answer: bytes | str | None
    ) -> list[Difference]:
        if step["answer"] != "response" or not isinstance(answer, bytes):
            ours = answer if isinstance(answer, str) else "response"
            if ours == step["answer"]:
                return []
            return [Difference("answer", step["answer"], ours)]
        theirs = bytes.fromhex(step["response_hex"])
        if "api_key" not in step:  # bytes sent raw: the header is all there is to see
            return (
                [] if theirs[:4] == answer[:4] else [Difference("id", theirs, answer)]
            )
        return list(self._differences(step, theirs, answer))

    def _differences(
        self, step: dict[str, Any], theirs: bytes, ours: bytes
    ) -> Iterator[Difference]:
        response = self.responses[step["api_key"]]
        version = step.get("response_version", step["version"])
        expected = decode_answer(response, version, theirs)
        found = decode_answer(response, version, ours)
        yield from self._walk("", expected, found)

    def _walk(self, path: str, theirs: Any, ours: Any) -> Iterator[Difference]:
        name = path.rpartition(".")[2]
        if name in FREE:
            return
        if name in WORDED:
            if (theirs is None) != (ours is None):
                yield Difference(path, theirs, ours)
        elif isinstance(theirs, Struct):
            for field in fields_of(theirs):
                yield from self._walk(
                    f"{path}.{field}", getattr(theirs, field), getattr(ours, field)
                )
        elif isinstance(theirs, list) and isinstance(ours, list):
            yield from self._walk_list(path, theirs, ours)
        elif name == "topic_id":
            if self.ids.setdefault(bytes(theirs), bytes(ours)) != bytes(ours):
                yield Difference(path, theirs.hex(), ours.hex())
        elif _plain(theirs) != _plain(ours):
            yield Difference(path, _plain(theirs), _plain(ours))

    def _walk_list(
        self, path: str, theirs: list[Any], ours: list[Any]
    ) -> Iterator[Difference]:
        if len(theirs) != len(ours):
            yield Difference(f"{path}.length", len(theirs), len(ours))
        for number, pair in enumerate(zip(theirs, ours, strict=False)):
            yield from self._walk(f"{path}[{number}]", *pair)


def decode_answer(response: type[Response], version: int, data: bytes) -> Response:
    """The body behind the correlation id (and the header's tags, where it has any)."""
    is_tagged = version >= response.first_flexible_version and response.api_key != 18
    view = memoryview(data)
    body, end = decoder(response, version)(view, 5 if is_tagged else 4)
    assert end == len(data), f"{len(data) - end} bytes behind the answer"
    return body


def fields_of(value: Struct) -> list[str]:
    slots: list[str] = []
    for kind in type(value).__mro__:
        slots += getattr(kind, "__slots__", ())
    return [slot for slot in slots if not slot.startswith("_") and "tags" not in slot]


def _plain(value: Any) -> Any:
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else value


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data
