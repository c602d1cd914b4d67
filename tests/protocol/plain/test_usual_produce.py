"""The C search for the batch of a Produce and its plain twin agree on any bytes."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.headers import encode_request
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.plain import usual_produce as usual_produce_plain
from odradek.protocol.records import NewRecord, build_batch

speedups = pytest.importorskip(
    "odradek.protocol.speedups", reason="the extension is not built"
)

BOTH = pytest.mark.parametrize("module", [usual_produce_plain, speedups])
BY_NAME, BY_ID = 12, 13
FRAME_LENGTH = 4


def frame_of(
    version: int,
    records: Any,
    client_id: str | None = "me",
    transactional_id: str | None = None,
    topic: str = "topic",
) -> bytes:
    data = PartitionProduceData(index=3, records=records)
    wanted = TopicProduceData(name=topic, topic_id=bytes(16), partition_data=[data])
    request = ProduceRequest(
        transactional_id=transactional_id, acks=-1, timeout_ms=5, topic_data=[wanted]
    )
    return encode_request(request, version, -7, client_id)[FRAME_LENGTH:]


def batch_of(size: int = 20, **fields: Any) -> bytes:
    return bytes(build_batch([NewRecord(None, b"v" * size, 5)], **fields))


@given(
    st.sampled_from([BY_NAME, BY_ID]),
    st.none() | st.sampled_from(["", "me", "x" * 300]),
    st.none() | st.sampled_from(["", "id", "x" * 126, "x" * 127]),
    st.none()
    | st.just(b"")
    | st.binary(max_size=30)
    | st.builds(batch_of, is_transactional=st.booleans()),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=2),
    st.none() | st.integers(0, 400),
    st.booleans(),
)
def test_both_say_the_same(
    version: int,
    client_id: str | None,
    transactional_id: str | None,
    records: bytes | None,
    changes: list[tuple[int, int]],
    end: int | None,
    by_id: bool,
) -> None:
    frame = bytearray(frame_of(version, records, client_id, transactional_id))
    for place, octet in changes:
        frame[place % len(frame)] = octet
    frame = frame[:end]
    assert speedups.find_usual_batch(
        frame, by_id
    ) == usual_produce_plain.find_usual_batch(frame, by_id)


@given(st.binary(max_size=120), st.booleans())
def test_both_say_the_same_of_noise(noise: bytes, by_id: bool) -> None:
    assert speedups.find_usual_batch(
        noise, by_id
    ) == usual_produce_plain.find_usual_batch(noise, by_id)


@BOTH
@pytest.mark.parametrize("version", [BY_NAME, BY_ID])
@pytest.mark.parametrize("size", [1, 100, 20_000])
def test_where_the_batch_is(module: ModuleType, version: int, size: int) -> None:
    batch = batch_of(size)
    frame = frame_of(version, batch)
    found = module.find_usual_batch(memoryview(frame), version == BY_ID)
    correlation_id, head, start, stop = found
    assert correlation_id == -7
    assert frame[start:stop] == batch
    assert head.startswith(b"\0\2me\0\0")
    assert head.endswith(b"\2\0\0\0\3")
    assert head == frame[8 : 8 + len(head)]


@BOTH
@pytest.mark.parametrize("version", [BY_NAME, BY_ID])
@pytest.mark.parametrize("transactional_id", ["i", "x" * 126])
def test_where_the_batch_of_a_transaction_is(
    module: ModuleType, version: int, transactional_id: str
) -> None:
    batch = batch_of(is_transactional=True)
    frame = frame_of(version, batch, transactional_id=transactional_id)
    _, head, start, stop = module.find_usual_batch(frame, version == BY_ID)
    assert frame[start:stop] == batch
    assert head == frame[8 : 8 + len(head)]
    assert transactional_id.encode() in head


@BOTH
@pytest.mark.parametrize(
    "frame",
    [
        frame_of(BY_NAME, None),
        frame_of(BY_NAME, b""),
        frame_of(BY_NAME, batch_of()[:22]),
        frame_of(BY_NAME, batch_of(is_transactional=True)),
        frame_of(BY_NAME, batch_of(), transactional_id="id"),
        frame_of(BY_NAME, batch_of(is_transactional=True), transactional_id=""),
        frame_of(BY_NAME, batch_of(is_transactional=True), transactional_id="x" * 127),
        frame_of(BY_NAME, batch_of(), client_id=None),
        frame_of(BY_NAME, batch_of())[:-1],
        frame_of(BY_NAME, batch_of()) + b"\0",
        frame_of(BY_NAME, batch_of())[:-1] + b"\1",
        frame_of(BY_NAME, batch_of())[:9],
        b"",
    ],
)
def test_what_is_not_the_usual(module: ModuleType, frame: bytes) -> None:
    assert module.find_usual_batch(frame, False) is None


@BOTH
def test_the_attributes_are_the_first_that_a_batch_may_end_with(
    module: ModuleType,
) -> None:
    assert module.find_usual_batch(frame_of(BY_NAME, batch_of()[:22]), False) is None
    assert module.find_usual_batch(frame_of(BY_NAME, batch_of()[:23]), False)


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError):
        speedups.find_usual_batch(b"")
    with pytest.raises(TypeError):
        speedups.find_usual_batch("text", False)
