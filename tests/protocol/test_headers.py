import io
from struct import pack, unpack_from

import pytest
from kio.schema.request_header.v1.header import RequestHeader as KioHeader1
from kio.schema.request_header.v2.header import RequestHeader as KioHeader2
from kio.serial import entity_writer
from kio.static.primitive import i16, i32

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.headers import (
    RequestHeader,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
    encode_response_header,
    has_flexible_header,
)
from odradek.protocol.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

PLAIN, FLEXIBLE = 8, 9  # versions of Produce


def kio_header(api_version: int, client_id: str | None) -> bytes:
    kind = KioHeader2 if api_version >= FLEXIBLE else KioHeader1
    header = kind(
        request_api_key=i16(ApiKey.PRODUCE),
        request_api_version=i16(api_version),
        correlation_id=i32(77),
        client_id=client_id,
    )
    out = io.BytesIO()
    entity_writer(kind)(out, header)
    return out.getvalue()


@pytest.mark.parametrize("client_id", [None, "", "producer-1", "é" * 200])
@pytest.mark.parametrize("api_version", [PLAIN, FLEXIBLE])
def test_request_header_is_kafkas(api_version: int, client_id: str | None) -> None:
    data = kio_header(api_version, client_id)
    header, position = decode_request_header(memoryview(data + b"body"))
    assert header == RequestHeader(ApiKey.PRODUCE, api_version, 77, client_id)
    assert isinstance(header, RequestHeader)
    assert position == len(data)


@pytest.mark.parametrize("api_version", [PLAIN, FLEXIBLE])
def test_request_comes_back_from_its_frame(api_version: int) -> None:
    partition = PartitionProduceData(index=1, records=b"batch")
    topic = TopicProduceData(name="t", partition_data=[partition])
    request = ProduceRequest(acks=-1, topic_data=[topic])
    frame = memoryview(encode_request(request, api_version, 5, "me"))
    assert unpack_from(">i", frame) == (len(frame) - 4,)
    header, position = decode_request_header(frame[4:])
    assert header == (ApiKey.PRODUCE, api_version, 5, "me")
    assert ProduceRequest.decode(frame[4 + position :], api_version) == request


def test_tagged_fields_of_the_header_are_skipped() -> None:
    data = kio_header(FLEXIBLE, "me")[:-1] + b"\x02\x00\x03abc\x81\x01\x00"
    header, position = decode_request_header(memoryview(data + b"body"))
    assert header.client_id == "me"
    assert position == len(data)


@pytest.mark.parametrize(
    ("api_key", "api_version"),
    [(ApiKey.API_VERSIONS, 99), (ApiKey.PRODUCE, -1), (32_000, 0), (-1, 0)],
)
def test_unknown_api_or_version_has_what_is_always_there(
    api_key: int, api_version: int
) -> None:
    data = pack(">hhih", api_key, api_version, 77, 2) + b"me"
    header, position = decode_request_header(memoryview(data))
    assert header == (api_key, api_version, 77, None)
    assert position == 8


@pytest.mark.parametrize("api_version", [PLAIN, FLEXIBLE])
def test_header_cut_anywhere_is_malformed(api_version: int) -> None:
    data = memoryview(kio_header(api_version, "me"))
    for size in range(len(data)):
        with pytest.raises(MalformedRequest):
            decode_request_header(data[:size])


@pytest.mark.parametrize(
    "rest", [b"\x00\x02\xc3\x28\x00", b"\x7f\xff\x00", b"\xff\xff\x01\x00\x05a"]
)
def test_garbled_header_is_malformed(rest: bytes) -> None:
    data = pack(">hhi", ApiKey.PRODUCE, FLEXIBLE, 77) + rest
    with pytest.raises(MalformedRequest):
        decode_request_header(memoryview(data))


def test_response_headers() -> None:
    assert encode_response_header(77, flexible=False) == b"\0\0\0\x4d"
    assert encode_response_header(77, flexible=True) == b"\0\0\0\x4d\0"


def test_answer_to_api_versions_never_has_a_flexible_header() -> None:
    assert not any(has_flexible_header(ApiVersionsResponse, v) for v in range(5))
    assert [has_flexible_header(ProduceResponse, v) for v in (PLAIN, FLEXIBLE)] == [
        False,
        True,
    ]
    assert ApiVersionsRequest.is_flexible(3)  # unlike the request's


@pytest.mark.parametrize(
    ("response", "api_version"),
    [
        (ProduceResponse(throttle_time_ms=3), PLAIN),
        (ProduceResponse(throttle_time_ms=3), FLEXIBLE),
        (ApiVersionsResponse(throttle_time_ms=3), 3),
    ],
)
def test_response_comes_back_from_its_frame(
    response: ProduceResponse | ApiVersionsResponse, api_version: int
) -> None:
    frame = b"".join(encode_response(response, api_version, 77))
    assert unpack_from(">i", frame) == (len(frame) - 4,)
    assert decode_response(frame[4:], type(response), api_version) == (77, response)
    for size in range(len(frame) - 4):
        with pytest.raises(MalformedRequest):
            decode_response(frame[4 : 4 + size], type(response), api_version)
    with pytest.raises(MalformedRequest, match="1 bytes behind"):
        decode_response(frame[4:] + b"\0", type(response), api_version)
