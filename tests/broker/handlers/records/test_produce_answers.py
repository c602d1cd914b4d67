from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.handlers.records.produce_answers import (
    FIRST_VERSION,
    encode_appended,
)
from odradek.broker.replica.waiting.delayed_produce import AppendResult
from odradek.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

int64 = st.integers(-(2**63), 2**63 - 1)


@given(
    st.integers(FIRST_VERSION, ProduceResponse.max_version),
    st.text(st.characters(codec="ascii"), max_size=249),
    st.binary(min_size=16, max_size=16),
    st.integers(-(2**31), 2**31 - 1),
    st.builds(AppendResult, st.just(0), int64, int64, int64, int64),
)
def test_it_is_what_the_encoder_writes(
    version: int, name: str, topic_id: bytes, index: int, result: AppendResult
) -> None:
    partition = PartitionProduceResponse(
        index=index,
        base_offset=result.base_offset,
        log_append_time_ms=result.log_append_time_ms,
        log_start_offset=result.log_start_offset,
    )
    topic = TopicProduceResponse(
        name=name, topic_id=topic_id, partition_responses=[partition]
    )
    body = ProduceResponse(responses=[topic]).encode(version)
    for _ in range(2):  # the second time from what was kept
        assert encode_appended(version, name, topic_id, index, result) == body
