import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker import handlers
from odradek.broker.cluster.features import CLAIMED
from odradek.broker.cluster.forwarding import Versions
from odradek.broker.config.live_config import LiveConfig
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.metadata.features import KRAFT_VERSION, Features
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.dispatch import Dispatcher
from odradek.broker.requests.registry import registered_handlers
from odradek.broker.runtime.bugs import Bugs
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import decode_response
from odradek.protocol.messages.api_versions import ApiVersionsResponse
from tests.fakes.no_options import NO_OPTIONS

GOLDEN = Path(__file__).parents[3] / "golden" / "wire" / "behaviours.jsonl"


def recorded(group: str) -> list[dict[str, Any]]:
    steps = map(json.loads, GOLDEN.read_text().splitlines())
    return [step for step in steps if step["group"] == group]


STEPS = recorded("api-versions")
# The versions above are what brokers ask each other.
OFFERED_IN_PART = {ApiKey.ADD_PARTITIONS_TO_TXN}


@pytest.fixture
def connection() -> ConnectionInfo:
    return ConnectionInfo()


def ask(
    frame: bytes,
    version: int,
    connection: ConnectionInfo,
    cluster: Any = None,
    **options: Any,
) -> ApiVersionsResponse:
    handlers.load()
    config = BrokerConfig(**options)
    nothing: Any = SimpleNamespace(of=lambda resource: {})
    features = Features(nothing, config.transaction_version)
    if cluster is not None:
        features.supported = CLAIMED
    services: Any = SimpleNamespace(
        authorizer=None,
        cluster=cluster,
        bugs=Bugs(),
        config=config,
        live=LiveConfig(config),
        resources=NO_OPTIONS,
        features=features,
        wants_client_metrics=False,
    )
    dispatcher = Dispatcher(services, registered_handlers())
    exchange = dispatcher.dispatch(connection, memoryview(bytearray(frame)))
    out: list[Any] = []
    exchange.route.write(exchange.correlation_id, exchange.answer, out)
    assert services.bugs.count == 0
    return decode_response(b"".join(out)[4:], ApiVersionsResponse, version)[1]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["description"])
def test_the_answer_has_the_shape_of_apache_kafkas(
    step: dict[str, Any], connection: ConnectionInfo
) -> None:
    version = step.get("response_version", step["version"])
    ours = ask(bytes.fromhex(step["request_hex"]), version, connection)
    golden = bytes.fromhex(step["response_hex"])
    theirs = decode_response(golden, ApiVersionsResponse, version)[1]
    assert ours.error_code == theirs.error_code
    ranges = {api.api_key: api for api in theirs.api_keys}
    for api in ours.api_keys:
        if api.api_key in OFFERED_IN_PART:
            assert api.max_version <= ranges[api.api_key].max_version
        else:
            assert ranges[api.api_key] == api
    supported = {each.name: each for each in theirs.supported_features}
    for feature in ours.supported_features:
        if feature.name == KRAFT_VERSION:  # its 1 is a quorum that others can join
            assert (feature.min_version, feature.max_version) == (0, 0)
        else:
            assert feature == supported[feature.name]
    assert all(each in theirs.finalized_features for each in ours.finalized_features)
    if ours.error_code:
        assert ours == theirs


def request(version: int) -> bytes:
    (step,) = (it for it in STEPS if it["description"] == f"ApiVersions v{version}")
    return bytes.fromhex(step["request_hex"])


def test_clients_are_told_of_the_second_protocol_of_transactions(
    connection: ConnectionInfo,
) -> None:
    told = ask(request(3), 3, connection)
    assert levels(told) == {
        "group.version": 1,
        "transaction.version": 2,
        "share.version": 1,
        "streams.version": 1,
        "metadata.version": 30,
    }
    assert told.finalized_features_epoch >= 0
    supported = {each.name for each in told.supported_features}
    assert supported == {"metadata.version"}, "those from level 0 on: KAFKA-17011"
    told = ask(request(4), 4, connection)
    assert {
        each.name: (each.min_version, each.max_version)
        for each in told.supported_features
    } == {
        "group.version": (0, 1),
        "kraft.version": (0, 0),
        "metadata.version": (7, 30),
        "share.version": (0, 1),
        "streams.version": (0, 1),
        "transaction.version": (0, 2),
    }


def levels(told: ApiVersionsResponse) -> dict[str, int]:
    return {each.name: each.max_version_level for each in told.finalized_features}


@pytest.mark.parametrize("level", [0, 1])
def test_an_option_keeps_them_at_the_first(
    connection: ConnectionInfo, level: int
) -> None:
    told = ask(request(4), 4, connection, transaction_version=level)
    assert levels(told).get("transaction.version", 0) == level


def test_the_software_of_the_client_is_remembered(connection: ConnectionInfo) -> None:
    ask(request(4), 4, connection)
    assert connection.client_software_name == "probe"
    assert connection.client_software_version == "1.0"


def test_what_librdkafka_wants_to_see_is_advertised(connection: ConnectionInfo) -> None:
    response = ask(b"\0\x12\0\0\0\0\0\1\xff\xff", 0, connection)
    ranges = {api.api_key: api for api in response.api_keys}
    for key in (ApiKey.PRODUCE, ApiKey.FIND_COORDINATOR):
        if key in ranges:
            assert ranges[key].min_version == 0, "KAFKA-18659"
    assert list(ranges) == sorted(ranges)
    assert response.error_code == ErrorCode.NONE


def of_cluster(*versions: Versions) -> Any:
    forwarding = SimpleNamespace(takes=lambda key: False, versions=versions)
    return SimpleNamespace(forwarding=forwarding)


def test_in_a_cluster_more_features_are_there(connection: ConnectionInfo) -> None:
    told = ask(request(4), 4, connection, of_cluster())
    assert {
        each.name: (each.min_version, each.max_version)
        for each in told.supported_features
    } == {each.name: (each.level_min, each.level_max) for each in CLAIMED}
    assert len(levels(told)) == 5


def test_in_a_cluster_brokers_ask_each_other(connection: ConnectionInfo) -> None:
    told = ask(request(4), 4, connection, of_cluster())
    ranges = {api.api_key: api for api in told.api_keys}
    assert ranges[ApiKey.ADD_PARTITIONS_TO_TXN].max_version == 5


def test_what_is_sent_on_is_offered_as_the_controller_reads_it(
    connection: ConnectionInfo,
) -> None:
    cluster = of_cluster(
        Versions(ApiKey.CREATE_TOPICS, 3, 5), Versions(ApiKey.DELETE_TOPICS, 90, 91)
    )
    told = ask(request(4), 4, connection, cluster)
    ranges = {api.api_key: api for api in told.api_keys}
    created = ranges[ApiKey.CREATE_TOPICS]
    assert (created.min_version, created.max_version) == (3, 5)
    assert ApiKey.DELETE_TOPICS not in ranges
