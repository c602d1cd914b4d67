import struct
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.config.live_config import LiveConfig
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.requests import registry
from odradek.broker.requests.context import ConnectionInfo, RequestContext
from odradek.broker.requests.dispatch import (
    Dispatcher,
    Route,
    starts_alone,
    top_level_error,
)
from odradek.broker.requests.needs import NOTHING
from odradek.broker.requests.registry import (
    answers_errors,
    handles,
    reads_refused,
    shortcut,
)
from odradek.broker.requests.short_ways import ShortWays
from odradek.broker.runtime.bugs import Bugs
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import (
    ErrorCode,
    InvalidRequest,
    MalformedRequest,
    TooManyObjects,
)
from odradek.protocol.headers import decode_response, encode_request
from odradek.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from odradek.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from odradek.protocol.messages.groups import (
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from odradek.protocol.messages.txn_admin import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.protocol.schema import Request
from tests.fakes.no_options import NO_OPTIONS


class Broker:
    """A dispatcher with the handlers that the test registered."""

    def __init__(self) -> None:
        self.bugs = Bugs()
        config = BrokerConfig(request_objects_max=1000)
        live = LiveConfig(config)
        services: Any = SimpleNamespace(
            bugs=self.bugs,
            config=config,
            live=live,
            resources=NO_OPTIONS,
            authorizer=None,
            cluster=None,
        )
        self.dispatcher = Dispatcher(services, registry.registered_handlers())
        self.connection = ConnectionInfo()

    def answer(self, frame: bytes) -> tuple[Route, bytes]:
        """The route taken, and the answer without its length."""
        exchange = self.dispatcher.dispatch(
            self.connection, memoryview(bytearray(frame))
        )
        out: list[Any] = []
        size = exchange.route.write(exchange.correlation_id, exchange.answer, out)
        data = b"".join(out)
        assert len(data) == size
        assert struct.unpack_from(">i", data) == (size - 4,)
        return exchange.route, data[4:]

    def ask(self, request: Request, version: int) -> Any:
        frame = encode_request(request, version, 77, "me")[4:]
        route, data = self.answer(frame)
        correlation_id, response = decode_response(data, route.response_class, version)
        assert correlation_id == 77
        return response


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    for name in ("_handlers", "_error_builders", "_refused_readers", "_shortcuts"):
        monkeypatch.setattr(registry, name, {})
    return Broker()


def test_a_header_is_read_once_its_handler_is_loaded(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared: dict[int, type[Request]] = {}
    monkeypatch.setattr("odradek.protocol.headers.REQUESTS", declared)

    class Loading(dict[int, Any]):
        def get(self, api_key: int, default: Any = None) -> Any:
            declared[api_key] = HeartbeatRequest
            return default

    live = LiveConfig(BrokerConfig())
    services: Any = SimpleNamespace(
        bugs=broker.bugs, live=live, resources=NO_OPTIONS, authorizer=None, cluster=None
    )
    frame = memoryview(encode_request(HeartbeatRequest(), 4, 77, "me")[4:])
    header, _ = Dispatcher(services, Loading()).read_header(frame)
    assert header.client_id == "me"


def raising(error: Exception) -> Any:
    def handle(ctx: RequestContext, request: Any) -> None:
        raise error

    return handle


@pytest.mark.parametrize("version", range(5))
def test_the_handler_gets_the_request_and_its_answer_is_encoded(
    broker: Broker, version: int
) -> None:
    contexts = []

    @handles(HeartbeatRequest, versions=(0, 4), needs=NOTHING)
    def handle(ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
        contexts.append(ctx)
        return HeartbeatResponse(error_code=len(request.member_id))

    response = broker.ask(HeartbeatRequest(member_id="seven67"), version)
    assert response.error_code == 7
    (ctx,) = contexts
    assert ctx.connection is broker.connection
    assert ctx.client_id == "me"
    found = (ctx.api_key, ctx.api_version, ctx.correlation_id)
    assert found == (ApiKey.HEARTBEAT, version, 77)


def test_requests_of_too_many_objects_are_refused(broker: Broker) -> None:
    handles(FetchRequest, versions=(4, 18), needs=NOTHING)(lambda *_: FetchResponse())
    request = FetchRequest(topics=[FetchTopic(topic="t")] * 1000)
    broker.ask(request, 12)
    request.topics.append(FetchTopic(topic="t"))
    with pytest.raises(TooManyObjects, match=r"Fetch v12: .*too many elements"):
        broker.ask(request, 12)


class Reciting:
    """A short way for requests that end with a certain byte."""

    def __init__(self, services: Any, version: int, ways: ShortWays) -> None:
        self.version = version

    def __call__(self, connection: ConnectionInfo, frame: memoryview) -> Any:
        if frame[-1] == 0xFF:
            raise KeyError("a bug")
        return HeartbeatResponse(error_code=9) if frame[-1] else None


def test_the_short_way_is_asked_before_anything_is_decoded(broker: Broker) -> None:
    handles(HeartbeatRequest, versions=(0, 4), needs=NOTHING)(
        lambda *_: HeartbeatResponse()
    )
    shortcut(HeartbeatRequest, first_version=3)(Reciting)
    for version, code in ((3, 9), (2, 0)):
        frame = encode_request(HeartbeatRequest(), version, 77, "me")[4:] + b"\1"
        codes = []
        for _ in range(3):
            route, data = broker.answer(frame)
            correlation_id, response = decode_response(data, HeartbeatResponse, version)
            assert correlation_id == 77
            codes.append(response.error_code)
        assert codes == [0, code, code]  # with the first one the route is found
        assert broker.dispatcher.routes[ApiKey.HEARTBEAT, version] is route
        assert route.request_count == 3


def test_a_bug_on_the_short_way_is_answered_as_any_other(broker: Broker) -> None:
    handles(HeartbeatRequest, versions=(0, 4), needs=NOTHING)(
        lambda *_: HeartbeatResponse()
    )
    shortcut(HeartbeatRequest, first_version=0)(Reciting)
    frame = encode_request(HeartbeatRequest(), 3, 77, "me")[4:] + b"\xff"
    broker.answer(frame)
    _, data = broker.answer(frame)
    response = decode_response(data, HeartbeatResponse, 3)[1]
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert broker.bugs.count == 1


def test_bytes_behind_the_request_do_not_matter(broker: Broker) -> None:
    handles(HeartbeatRequest, versions=(0, 4), needs=NOTHING)(
        lambda *_: HeartbeatResponse()
    )
    frame = encode_request(HeartbeatRequest(), 3, 1, "me")[4:]
    _, data = broker.answer(frame + bytes(8))
    assert decode_response(data, HeartbeatResponse, 3)[1].error_code == 0


def test_records_are_not_copied(broker: Broker) -> None:
    records = memoryview(bytes(100_000))
    partition = PartitionData(partition_index=1, records=records)
    topic = FetchableTopicResponse(topic="t", partitions=[partition])
    handles(FetchRequest, versions=(4, 18), needs=NOTHING)(
        lambda *_: FetchResponse(responses=[topic])
    )
    frame = encode_request(FetchRequest(), 12, 5)[4:]
    exchange = broker.dispatcher.dispatch(broker.connection, memoryview(frame))
    out: list[Any] = []
    size = exchange.route.write(5, exchange.answer, out)
    assert any(buffer is records for buffer in out)
    assert size == sum(map(len, out))


def test_an_error_is_answered_at_the_top(broker: Broker) -> None:
    handles(HeartbeatRequest, versions=(0, 4), needs=NOTHING)(
        raising(InvalidRequest("no"))
    )
    assert broker.ask(HeartbeatRequest(), 3).error_code == ErrorCode.INVALID_REQUEST
    assert broker.bugs.count == 0


def test_a_bug_is_recorded_and_answered(broker: Broker) -> None:
    handles(HeartbeatRequest, versions=(0, 4), needs=NOTHING)(
        raising(KeyError("expected here"))
    )
    response = broker.ask(HeartbeatRequest(), 3)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert broker.bugs.count == 1


def test_a_message_goes_with_the_error_where_there_is_a_place() -> None:
    response: Any = top_level_error(FindCoordinatorResponse, InvalidRequest("no"))
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message == "no"


def test_without_a_place_for_the_error_the_connection_closes(broker: Broker) -> None:
    handles(ProduceRequest, versions=(3, 13), needs=NOTHING)(
        raising(InvalidRequest("no"))
    )
    with pytest.raises(MalformedRequest, match="Produce v9"):
        broker.ask(ProduceRequest(), 9)


def test_a_builder_answers_for_the_parts_of_the_request(broker: Broker) -> None:
    handles(ProduceRequest, versions=(3, 13), needs=NOTHING)(
        raising(InvalidRequest("no"))
    )
    answers_errors(ProduceRequest)(refuse_produce)
    response = broker.ask(produce_request(), 9)
    (partition,) = response.responses[0].partition_responses
    assert partition.error_code == ErrorCode.INVALID_REQUEST


def test_malformed_bodies_are_malformed(broker: Broker) -> None:
    handles(HeartbeatRequest, versions=(0, 4), needs=NOTHING)(
        lambda *_: HeartbeatResponse()
    )
    whole = encode_request(HeartbeatRequest(member_id="a"), 4, 1, "me")[4:]
    for size in range(len(whole)):
        with pytest.raises(MalformedRequest):
            broker.answer(whole[:size])


def test_a_handler_may_find_the_request_malformed(broker: Broker) -> None:
    handles(HeartbeatRequest, versions=(0, 4), needs=NOTHING)(
        raising(MalformedRequest("odd"))
    )
    with pytest.raises(MalformedRequest, match="odd"):
        broker.ask(HeartbeatRequest(), 3)


@pytest.mark.parametrize(("key", "version"), [(999, 0), (-1, 0), (12, 5), (12, -1)])
def test_unknown_apis_and_versions_close(
    broker: Broker, key: int, version: int
) -> None:
    handles(HeartbeatRequest, versions=(0, 4), needs=NOTHING)(
        lambda *_: HeartbeatResponse()
    )
    with pytest.raises(MalformedRequest):
        broker.answer(struct.pack(">hhih", key, version, 1, -1))


@pytest.mark.parametrize("version", [5, 99, -1, 32767])
def test_any_other_version_of_api_versions_lists_its_own(
    broker: Broker, version: int
) -> None:
    handles(ApiVersionsRequest, versions=(0, 4), needs=NOTHING)(
        lambda *_: ApiVersionsResponse()
    )
    _, data = broker.answer(struct.pack(">hhih", 18, version, 9, -1) + b"\x07anything")
    correlation_id, response = decode_response(data, ApiVersionsResponse, 0)
    assert correlation_id == 9
    assert response == ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)],
    )


def test_a_refused_version_is_answered_where_it_can_be_read(broker: Broker) -> None:
    handles(HeartbeatRequest, versions=(3, 4), needs=NOTHING, advertised=(0, 4))(
        lambda *_: HeartbeatResponse()
    )
    response = broker.ask(HeartbeatRequest(), 2)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert broker.ask(HeartbeatRequest(), 3).error_code == 0


def test_a_refused_version_that_cannot_be_read_closes(broker: Broker) -> None:
    handles(ProduceRequest, versions=(3, 13), needs=NOTHING, advertised=(0, 13))(
        lambda *_: ProduceResponse()
    )
    with pytest.raises(MalformedRequest):
        broker.answer(struct.pack(">hhih", 0, 1, 1, -1) + struct.pack(">hii", 1, 0, 0))


def test_a_refused_version_may_have_a_reader(broker: Broker) -> None:
    @handles(ProduceRequest, versions=(3, 13), needs=NOTHING, advertised=(0, 13))
    def handle(ctx: RequestContext, request: ProduceRequest) -> ProduceResponse:
        raise AssertionError("this version is not handled")

    answers_errors(ProduceRequest)(refuse_produce)

    @reads_refused(ProduceRequest)
    def read(frame: memoryview, position: int) -> tuple[ProduceRequest, int]:
        assert bytes(frame[position:]) == b"body"
        return produce_request(), len(frame)

    frame = struct.pack(">hhih", 0, 1, 1, 2) + b"me" + b"body"
    _, data = broker.answer(frame)
    response = decode_response(data, ProduceResponse, 1)[1]
    (partition,) = response.responses[0].partition_responses
    assert partition.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_fetches_and_handshakes_start_alone() -> None:
    assert starts_alone(memoryview(b"\0\1\0\4"))
    assert starts_alone(memoryview(b"\0\x11\0\1"))
    assert not starts_alone(memoryview(b"\0\0\0\4"))
    assert not starts_alone(memoryview(b"\0"))


def produce_request() -> ProduceRequest:
    data = PartitionProduceData(index=3)
    return ProduceRequest(
        topic_data=[TopicProduceData(name="t", partition_data=[data])]
    )


def refuse_produce(request: ProduceRequest, error: Any) -> ProduceResponse:
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                partition_responses=[
                    PartitionProduceResponse(index=data.index, error_code=error.code)
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


@pytest.mark.parametrize("is_in_cluster", [False, True])
def test_what_coordinators_end_is_no_event(
    broker: Broker, caplog: pytest.LogCaptureFixture, is_in_cluster: bool
) -> None:
    @handles(WriteTxnMarkersRequest, versions=(1, 2), needs=NOTHING)
    def handle(ctx: RequestContext, request: Any) -> WriteTxnMarkersResponse:
        return WriteTxnMarkersResponse()

    forwarding = SimpleNamespace(takes=lambda key: False)
    services: Any = broker.dispatcher._services
    services.cluster = SimpleNamespace(forwarding=forwarding) if is_in_cluster else None
    with caplog.at_level("INFO"):
        broker.ask(WriteTxnMarkersRequest(), 2)
    assert bool(caplog.records) is not is_in_cluster
