"""What is packed and read as it lies there is what the declarations say of it."""

from typing import Any

import pytest

from odradek.broker.cluster.fetchers.fetch_session_handler import SessionRequest
from odradek.broker.cluster.fetchers.fetch_settings import fetch_settings
from odradek.broker.cluster.fetchers.leader_requests import Asked, fetch_request
from odradek.broker.cluster.fetchers.usual_fetches import (
    NAMED_MAX,
    UsualFetches,
    usual_answers,
)
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.protocol.headers import decode_response, encode_request, encode_response
from odradek.protocol.kafka_error import MalformedRequest
from odradek.protocol.messages.current_leader import LeaderIdAndEpoch
from odradek.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)

SETTINGS = fetch_settings(BrokerConfig())
US, BROKER_EPOCH, SESSION = 2, 1 << 40, 0x7ABBCCDD
A0 = Asked("a", b"A" * 16, 0, 5, 1 << 40, 4, 10, 1 << 20)
A1, B0 = A0._replace(partition=1), A0._replace(topic="b", topic_id=b"B" * 16)
NEW = A0._replace(partition=7, offset=0, last_epoch=-1, log_start_offset=0)


class Connection:
    """To a broker that knows Fetch up to some version."""

    def __init__(self, highest: int = 18, client_id: str = "odradek") -> None:
        self.api_versions = {1: (4, highest)} if highest else {}
        self.client_id = client_id


def written(said: SessionRequest, connection: Any, fetches: Any = None) -> bytes | None:
    fetches = fetches or UsualFetches(US, SETTINGS)
    found: bytes | None = fetches.request(connection, BROKER_EPOCH, said)
    return found


@pytest.mark.parametrize(("highest", "version"), [(17, 17), (18, 18), (30, 18)])
@pytest.mark.parametrize("client_id", ["", "odradek", "é" * 30])
@pytest.mark.parametrize(
    "named",
    [[], [A0], [NEW], [A0, A1, NEW], [A0, B0, A1], [A0._replace(leader_epoch=0)]],
)
def test_a_request_is_the_one_that_is_declared(
    named: list[Asked], client_id: str, version: int, highest: int
) -> None:
    for epoch in (1, 300, (1 << 31) - 1):
        said = SessionRequest(SESSION, epoch, named, [])
        whole = fetch_request(US, BROKER_EPOCH, said, SETTINGS)
        assert written(said, Connection(highest, client_id)) == encode_request(
            whole, version, epoch, client_id
        )


def test_what_is_remembered_follows_the_broker_epoch_and_the_connection() -> None:
    fetches, said = UsualFetches(US, SETTINGS), SessionRequest(SESSION, 3, [A0], [])
    for epoch, name in ((1, "a"), (1, "a"), (2, "a"), (2, "b")):
        connection: Any = Connection(client_id=name)
        whole = fetch_request(US, epoch, said, SETTINGS)
        assert fetches.request(connection, epoch, said) == encode_request(
            whole, 18, 3, name
        )


def test_what_is_special_is_written_as_it_is_declared() -> None:
    for said in (
        SessionRequest(0, 0, [A0], []),
        SessionRequest(SESSION, 1, [A0], [(b"B" * 16, 0)]),
        SessionRequest(SESSION, 1, [A0] * (NAMED_MAX + 1), []),
    ):
        assert written(said, Connection()) is None
    said = SessionRequest(SESSION, 1, [A0] * NAMED_MAX, [])
    assert written(said, Connection()) is not None
    for highest in (0, 12, 16):
        assert written(said, Connection(highest)) is None


def result(partition: int = 0, **fields: Any) -> PartitionData:
    usual = {
        "error_code": 0,
        "high_watermark": 1 << 41,
        "log_start_offset": 12,
        "aborted_transactions": None,
        "records": b"batches",
    }
    return PartitionData(partition_index=partition, **{**usual, **fields})


def frame_of(*results: PartitionData, **fields: Any) -> memoryview:
    """One topic for the first two, another for the rest."""
    topics = [
        FetchableTopicResponse(topic_id=topic_id, partitions=list(some))
        for topic_id, some in ((b"A" * 16, results[:2]), (b"B" * 16, results[2:]))
        if some
    ]
    said: Any = {"session_id": SESSION, "responses": topics, "throttle_time_ms": 0}
    response = FetchResponse(**(said | fields))
    return memoryview(b"".join(map(bytes, encode_response(response, 18, 9))))[4:]


USUAL = [
    (),
    (result(),),
    (result(records=b""),),
    (result(records=None),),
    (result(aborted_transactions=[]),),
    (result(records=bytes(200)), result(5), result(6, records=bytes(20_000))),
    (result(preferred_read_replica=3), result(1), result(2), result(3)),
]


@pytest.mark.parametrize("results", USUAL)
def test_an_answer_says_what_is_declared(results: tuple[PartitionData, ...]) -> None:
    frame = frame_of(*results, throttle_time_ms=5)
    found = usual_answers(frame, 9, SESSION)
    assert found is not None
    _, response = decode_response(frame, FetchResponse, 18)
    assert [
        (each.topic_id, *each[1:4], bytes(each.batches or b"")) for each in found
    ] == [
        (
            bytes(topic.topic_id),
            each.partition_index,
            each.high_watermark,
            each.log_start_offset,
            bytes(each.records or b""),
        )
        for topic in response.responses
        for each in topic.partitions
    ]


@pytest.mark.parametrize(
    "results",
    [
        (result(error_code=6, high_watermark=-1, records=None),),
        (result(), result(1, error_code=1)),
        (result(diverging_epoch=EpochEndOffset(epoch=1, end_offset=5)),),
        (result(current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=2)),),
        (
            result(
                aborted_transactions=[AbortedTransaction(producer_id=1, first_offset=2)]
            ),
        ),
        tuple(result(each) for each in range(200)),
    ],
)
def test_what_is_special_is_left_to_who_reads_all(
    results: tuple[PartitionData, ...],
) -> None:
    assert usual_answers(frame_of(*results), 9, SESSION) is None


def test_an_answer_to_something_else_is_left_to_who_reads_all() -> None:
    frame = frame_of(result())
    assert usual_answers(frame, 10, SESSION) is None
    assert usual_answers(frame, 9, SESSION + 1) is None
    assert usual_answers(frame_of(result(), error_code=70), 9, SESSION) is None
    assert usual_answers(memoryview(bytes(frame) + b"\0"), 9, SESSION) is None


@pytest.mark.parametrize("results", USUAL)
def test_no_answer_that_is_cut_or_changed_is_read_otherwise(
    results: tuple[PartitionData, ...],
) -> None:
    """Who reads all would say the same of it, or that it is malformed."""
    whole = frame_of(*results)
    for end in range(len(whole)):
        if end < 300 or end > len(whole) - 30:
            assert usual_answers(whole[:end], 9, SESSION) is None
    for position in range(5, min(len(whole), 300)):
        for bit in (0, 7):
            changed = bytearray(whole)
            changed[position] ^= 1 << bit
            found = usual_answers(memoryview(changed), 9, SESSION)
            if found is None:
                continue
            try:
                _, response = decode_response(changed, FetchResponse, 18)
            except MalformedRequest:
                pytest.fail(f"byte {position} is malformed")
            read = [
                (bytes(topic.topic_id), each.partition_index, each.high_watermark)
                for topic in response.responses
                for each in topic.partitions
            ]
            assert [each[:3] for each in found] == read
