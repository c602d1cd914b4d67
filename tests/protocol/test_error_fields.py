from odradek.protocol.error_fields import error_codes, is_error_code
from odradek.protocol.messages.groups import HeartbeatResponse
from odradek.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)


def test_codes_are_found_however_deep() -> None:
    partitions = [PartitionProduceResponse(error_code=code) for code in (0, 7)]
    answer = ProduceResponse(
        responses=[TopicProduceResponse(partition_responses=partitions)]
    )
    assert list(error_codes(answer)) == [0, 7]
    assert list(error_codes([HeartbeatResponse(error_code=3), 5])) == [3]


def test_names_of_fields() -> None:
    assert is_error_code("error_code")
    assert is_error_code("endpoint_error_code")
    assert not is_error_code("error_message")
