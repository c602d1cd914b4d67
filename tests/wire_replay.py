"""Ask our broker what Apache Kafka was asked, and compare the answers.

A step is sent as it was recorded, byte for byte, except for what cannot be the same:

- topic ids, member ids and producer ids that an earlier answer brought are replaced by
  ours (they stand in requests as bytes that occur nowhere else);
- where the clock has a say in the answer, the records are as old as they were then;
- a request of which only the beginning was kept is made whole again.
"""

import json
import re
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.compiler import decoder
from odradek.protocol.headers import (
    decode_request_header,
    decode_response,
    encode_request,
)
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.messages.txn_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    read_header,
    restamp_time,
    stamp,
)
from odradek.protocol.schema import Response
from tests.patience import PATIENCE_S
from tests.wire_compare import (
    BASE_TIMESTAMP_POSITION,
    Comparison,
    Difference,
    error_codes,
    set_producer_id,
)

GOLDEN = Path(__file__).parent / "golden" / "wire"
QUIET_S = 0.3  # no answer for so long is none
STEP_MS = 50  # of a clock that stands still
# When the steps about the clock were recorded, give or take half a second.
RECORDED_AT_MS = 1_795_221_848_700
# Too late, too early; a producer, which is forgotten a day after its last record; and
# what stands beside markers of today: no segment may be a week older than they are.
ABOUT_TIME = {
    "produce-errors": {41},
    "produce-limits": {13, 14, 15},
    "fetch-diverging": {32, 33, 35, 36, 37},
    "transactions": {3, 4, 5, 16, 20, 21, 33, 43},
}
AN_API_VERSIONS_REQUEST = bytes.fromhex("0000000b0012000000000064000170")

Step = dict[str, Any]


def recorded_group(name: str) -> list[Step]:
    """The steps of one recorded conversation, in order."""
    files = ("behaviours", "next_groups")
    return [step for each in files for step in recorded(each) if step["group"] == name]


def recorded(name: str) -> list[Step]:
    """Every line of one of the recordings."""
    lines = (GOLDEN / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


class Replay:
    """The connections of one conversation, and the ids learned so far.

    ``pass_ms`` moves the broker's clock, where that stands still.
    """

    def __init__(
        self,
        address: tuple[str, int],
        responses: Mapping[int, type[Response]],
        pass_ms: Callable[[int], object] | None = None,
    ) -> None:
        self.address = address
        self._pass_ms = pass_ms
        self.responses = responses  # by API key
        self.comparison = Comparison()
        self._connections: dict[str, socket.socket] = {}

    def __enter__(self) -> "Replay":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.disconnect()

    def play(self, step: Step) -> list[Difference]:
        """Ask what the step asked; say where the answer differs."""
        if step.get("raw"):
            self._forget(step)
        connection = self._connection(step)
        try:
            self._send(connection, step)
            differences = self._compare(step, self._answer(connection, step))
            if step.get("api") == "EndTxn":
                self._wait_for_markers(connection, step)
            return differences
        finally:
            if step.get("raw") or step["answer"] != "response":
                self._forget(step)

    def disconnect(self) -> None:
        """Close every connection; the next step opens its own again."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _connection(self, step: Step) -> socket.socket:
        name = step.get("connection") or "a"
        if name not in self._connections:
            self._connections[name] = self._connect()
        return self._connections[name]

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(self.address, timeout=PATIENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _forget(self, step: Step) -> None:
        connection = self._connections.pop(step.get("connection") or "a", None)
        if connection is not None:
            connection.close()

    def _send(self, connection: socket.socket, step: Step) -> None:
        if "byte by byte" in step["description"]:  # of which one byte was recorded
            for byte in AN_API_VERSIONS_REQUEST:
                connection.sendall(bytes([byte]))
            return
        request = whole_request(step)
        if step.get("raw"):
            connection.sendall(request)
            return
        request = self._with_our_ids(request)
        if step["step"] in ABOUT_TIME.get(step["group"], ()):
            request = in_our_time(request)
        is_woken = "is woken by a produce" in step["description"]
        if is_woken:
            request = waiting_for_ever(request, step["request"]["maxWaitMs"])
        connection.sendall(struct.pack(">i", len(request)) + request)
        if is_woken:
            self._wake(connection, step)

    def _with_our_ids(self, request: bytes) -> bytes:
        for (kind, theirs), ours in self.comparison.ids.items():
            if kind == "topic_id":
                request = request.replace(theirs, ours)
            elif kind == "member_id":
                assert len(theirs) == len(ours)
                request = request.replace(theirs.encode(), ours.encode())
            elif kind == "producer_id" and theirs != ours:
                request = with_producer_id(request, theirs, ours)
        return request

    def _wake(self, waiting: socket.socket, step: Step) -> None:
        """Produce from elsewhere the records that the recorded answer brought."""
        readable, _, _ = select.select([waiting], [], [], QUIET_S)
        assert not readable, "answered while there was nothing to answer"
        answer = self._recorded_answer(step)
        assert isinstance(answer, FetchResponse)
        [topic] = answer.responses
        [partition] = topic.partitions
        batch = bytearray(partition.records or b"")
        stamp(batch, 0, -1)
        data = PartitionProduceData(index=partition.partition_index, records=batch)
        topics = [TopicProduceData(name=topic.topic, partition_data=[data])]
        request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics)
        with self._connect() as producer:
            producer.sendall(encode_request(request, 9))
            read_frame(producer)

    def _wait_for_markers(self, connection: socket.socket, step: Step) -> None:
        """A transaction counts as ended before its markers are in the logs."""
        transactional_id = step["request"]["transactionalId"]
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        deadline = time.monotonic() + PATIENCE_S
        while True:
            connection.sendall(encode_request(request, 0))
            frame = read_frame(connection)
            answer = decode_response(frame, DescribeTransactionsResponse, 0)[1]
            if not answer.transaction_states[0].transaction_state.startswith("Prepare"):
                return
            assert time.monotonic() < deadline, step["description"]

    def _answer(self, connection: socket.socket, step: Step) -> bytes | str:
        """The answer's bytes, or "closed", or "timeout"."""
        if step["answer"] == "timeout":
            connection.settimeout(QUIET_S)
        if self._pass_ms is not None and has_waited(step):
            while not select.select([connection], [], [], QUIET_S)[0]:
                self._pass_ms(STEP_MS)
        if step["answer"] == "closed" and "shut" in step["description"]:
            connection.shutdown(socket.SHUT_WR)
        try:
            answer = read_frame(connection)
            for expected in step.get("correlation_ids_in_order", [])[1:]:
                assert read_frame(connection)[:4] == struct.pack(">i", expected)
            return answer
        except TimeoutError:
            return "timeout"
        except (ConnectionError, EOFError):
            return "closed"

    def _compare(self, step: Step, answer: bytes | str) -> list[Difference]:
        if isinstance(answer, str):
            if answer == step["answer"]:
                return []
            return [Difference("answer", step["answer"], answer)]
        if step["answer"] != "response":
            codes = error_codes(self._decoded(step, answer)) if "api" in step else []
            return [Difference("answer", step["answer"], f"response {codes}")]
        recorded_hex = step["response_hex"] or AN_API_VERSIONS_REQUEST[8:12].hex()
        if not recorded_hex.startswith(answer[:4].hex()):
            return [Difference("correlation id", recorded_hex[:8], answer[:4].hex())]
        if "api" not in step:  # bytes sent raw: that there is an answer is all
            return []
        ours = self._decoded(step, answer)
        expected = self._recorded_answer(step)
        return list(self.comparison.differences(expected, ours))

    def _recorded_answer(self, step: Step) -> Response:
        """What Apache Kafka said; at last, where it had to be asked again."""
        answer = self._decoded(step, bytes.fromhex(step["response_hex"]))
        if step.get("retried_until_ready"):  # the bytes are those of the first answer
            for name, value in step["response"].items():
                setattr(answer, re.sub("[A-Z]", r"_\g<0>", name).lower(), value)
        return answer

    def _decoded(self, step: Step, answer: bytes) -> Response:
        response = self.responses[step["api_key"]]
        # An unsupported version of ApiVersions is answered in another.
        field = "response_version" if "response_version" in step else "version"
        return decode_response(answer, response, step[field])[1]


def has_waited(step: Step) -> bool:
    """Whether Apache Kafka let time pass before it answered."""
    wait_ms: int = step.get("request", {}).get("maxWaitMs", 0)
    return 0 < wait_ms <= step["ms"] or "waits" in step["description"]


def whole_request(step: Step) -> bytes:
    """The request of a step, without its length."""
    text: str = step["request_hex"]
    if not text.endswith("..."):
        return bytes.fromhex(text)
    # The value of its one record goes on with the same letter to the end, but for
    # the number of headers and the (empty) tags of partition, topic and request.
    # Were it anything else, the checksum would tell.
    start = bytes.fromhex(text.removesuffix("..."))
    end = bytes(4)
    missing: int = step["request_size"] - len(start) - len(end)
    return start + start[-1:] * missing + end


def in_our_time(request: bytes) -> bytes:
    """A Produce request whose records are as old as they were when recorded."""
    frame = bytearray(request)
    later_ms = time.time_ns() // 1_000_000 - RECORDED_AT_MS
    for batch in batches_of(frame):
        assert len(batch) > BATCH_OVERHEAD
        found = read_header(batch)
        struct.pack_into(
            ">q", batch, BASE_TIMESTAMP_POSITION, found.base_timestamp + later_ms
        )
        restamp_time(batch, found.attributes, found.max_timestamp + later_ms)
    return bytes(frame)


def waiting_for_ever(request: bytes, wait_ms: int) -> bytes:
    """A Fetch that is answered because records came, not because its time is over."""
    wait = struct.pack(">i", wait_ms)
    assert request.count(wait) == 1
    return request.replace(wait, struct.pack(">i", 2 * PATIENCE_S * 1000))


def with_producer_id(request: bytes, theirs: int, ours: int) -> bytes:
    """The request of a producer that has another id here."""
    if request[:2] != struct.pack(">h", ApiKey.PRODUCE):
        return request.replace(struct.pack(">q", theirs), struct.pack(">q", ours))
    frame = bytearray(request)
    for batch in batches_of(frame):
        if len(batch) > BATCH_OVERHEAD and read_header(batch).producer_id == theirs:
            set_producer_id(batch, ours)
    return bytes(frame)


def batches_of(frame: bytearray) -> Iterator[memoryview]:
    """The records of each partition of a Produce request: what is written stays."""
    header, position = decode_request_header(memoryview(frame))
    decode = decoder(ProduceRequest, header.api_version)
    for topic in decode(memoryview(frame), position)[0].topic_data:
        for partition in topic.partition_data:
            assert isinstance(partition.records, memoryview)
            yield partition.records


def read_frame(connection: socket.socket) -> bytes:
    """One answer, without its length."""
    (size,) = struct.unpack(">i", _read(connection, 4))
    return _read(connection, size)


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data
