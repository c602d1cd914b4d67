"""Answers to bytes: Produce, and Fetch with records, which are not copied."""

from collections.abc import Iterator

from measuring import Case, main, repeating
from samples import FETCH_VERSION, PRODUCE_VERSION, TOPIC, large_batch, small_batch

from odradek.protocol.headers import encode_response
from odradek.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)


def produce_response() -> ProduceResponse:
    partition = PartitionProduceResponse(
        index=3, base_offset=1234567, log_start_offset=0
    )
    topic = TopicProduceResponse(name=TOPIC, partition_responses=[partition])
    return ProduceResponse(responses=[topic])


def fetch_response(records: bytes | bytearray) -> FetchResponse:
    partition = PartitionData(
        partition_index=3,
        high_watermark=1234567,
        last_stable_offset=1234567,
        log_start_offset=0,
        aborted_transactions=None,
        records=memoryview(records),
    )
    topic = FetchableTopicResponse(topic=TOPIC, partitions=[partition])
    return FetchResponse(responses=[topic])


def cases() -> Iterator[Case]:
    answer = produce_response()
    yield Case(
        "encode Produce response",
        repeating(lambda: encode_response(answer, PRODUCE_VERSION, 7)),
    )
    yield Case(
        "make and encode Produce response",
        repeating(lambda: encode_response(produce_response(), PRODUCE_VERSION, 7)),
    )
    for label, records in (("100 B", small_batch()), ("1 MB", 64 * large_batch())):
        fetched = fetch_response(records)
        yield Case(
            f"encode Fetch response, {label}",
            repeating(
                lambda fetched=fetched: encode_response(fetched, FETCH_VERSION, 7)
            ),
        )


if __name__ == "__main__":
    main(cases)
