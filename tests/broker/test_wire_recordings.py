"""Our answers are the real broker's; where they are not, it says why elsewhere."""

import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from odradek.broker import handlers
from odradek.broker.requests.registry import registered_handlers
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.compiler import decoder
from odradek.protocol.headers import decode_request_header, decode_response
from odradek.protocol.schema import Response
from odradek.testing import Broker
from tests.broker_process import BrokerProcess, running_broker
from tests.patience import PATIENCE_S
from tests.wire_justified import Justifications
from tests.wire_replay import Replay, Step, read_frame, recorded, recorded_group

GROUPS = (
    "api-versions",
    "framing",
    "metadata",
    "produce-versions",
    "produce-errors",
    "produce-limits",
    "produce-idempotent",
    "fetch-versions",
    "fetch-offsets",
    "fetch-sizes",
    "fetch-epochs",
    "fetch-diverging",
    "fetch-session-cache",
    "list-offsets",
    "delete-records",
    "create-topics",
    "create-partitions",
    "cluster-admin",
    "find-coordinator",
    "classic-group",
    "offsets",
    "init-producer-id",
    "transactions",
    "no-auto-create",
    "sasl-handshake-plaintext",
    "share-groups",
)
NEXT_GROUPS = ("ng-consumer-basic", "ng-consumer-errors", "ng-consumer-static")
SHARE_GROUPS = (
    "ng-share-admin",
    "ng-share-basic",
    "ng-share-errors",
    "ng-share-locks",
    "ng-share-modes",
)
STREAMS_GROUPS = ("ng-streams-basic",)
OF_SHARE_GROUPS = {
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.share.min.record.lock.duration.ms": "1000",
}
ALL_OPTIONS = ("-o", "offsets.topic.num.partitions=1")
OPTIONS = {
    "no-auto-create": ("-o", "auto.create.topics.enable=false"),
    "fetch-session-cache": ("-o", "max.incremental.fetch.session.cache.slots=3"),
    # All of it must be within one interval, however slow the machine is.
    "ng-consumer-errors": (
        "-o",
        "group.consumer.assignment.interval.ms=600000",
        "-o",
        "group.consumer.max.assignment.interval.ms=600000",
    ),
}
CLIENTS = (
    "aiokafka",
    "broker-itself",
    "franz-go",
    "java-clients",
    "java-tools",
    "kafka-python",
    "kcat",
    "librdkafka",
    "spark",
)
# For all topics it writes their count in the old form, which is three bytes longer.
SENDS_MORE = {("librdkafka", "Metadata v13")}
# What had been asked before the group was recorded, and matters in it.
BEFORE = {
    "produce-errors": (("metadata", 35),),
    "classic-group": (("find-coordinator", 5),),
    "offsets": (("find-coordinator", 5),),
    "share-groups": (("find-coordinator", 5),),
    "init-producer-id": (("find-coordinator", 8),),
    "transactions": (
        ("find-coordinator", 8),
        ("init-producer-id", 8),
        ("init-producer-id", 18),
    ),
}


def responses() -> Mapping[int, type[Response]]:
    """What is offered: response classes by API key."""
    handlers.load()
    registered = registered_handlers()
    return {key: handler.response_class for key, handler in registered.items()}


def test_nothing_recorded_is_forgotten() -> None:
    assert {step["group"] for step in recorded("behaviours")} == {*GROUPS}
    assert {step["group"] for step in recorded("next_groups")} == {
        *NEXT_GROUPS,
        *SHARE_GROUPS,
        *STREAMS_GROUPS,
    }


@pytest.mark.parametrize("group", [*GROUPS, *NEXT_GROUPS, *STREAMS_GROUPS])
def test_answers_are_apache_kafkas(tmp_path: Path, group: str) -> None:
    offered = responses()
    options = (*ALL_OPTIONS, *OPTIONS.get(group, ()))
    data_dir = tmp_path / "data"
    with (
        # It shows options of topics as they are by themselves.
        running_broker(data_dir, *options, keeps_old_records=False) as process,
        Replay(("127.0.0.1", process.port), offered) as replay,
    ):
        for name, number in BEFORE.get(group, ()):
            replay.play(recorded_group(name)[number - 1])
        hold(replay, group, process)
        assert "Traceback" not in process.log()


@pytest.mark.parametrize("group", SHARE_GROUPS)
def test_answers_about_share_groups_are_apache_kafkas(group: str) -> None:
    """With a clock that stands still: records are locked for a second."""
    with Broker(config=OF_SHARE_GROUPS) as broker:
        host, _, port = broker.bootstrap.rpartition(":")
        broker.clock.freeze()
        with Replay((host, int(port)), responses(), broker.clock.advance) as replay:
            hold(replay, group)
        assert "Traceback" not in broker.log()


def hold(replay: Replay, group: str, process: BrokerProcess | None = None) -> None:
    """Hold the conversation again; every difference must have its reason."""
    unexplained, justifications = [], Justifications(group)
    for step in recorded_group(group):
        if step["answer"] == "restart":
            assert process is not None
            replay.disconnect()
            restart(process, step)
        else:
            for difference in replay.play(step):
                if "retried_until_ready" in step and group not in GROUPS:
                    continue  # it only makes the scene
                if not justifications.explain(step["step"], difference):
                    name = f"{step['step']} {step['description']}"
                    unexplained.append(f"{name}: {difference}")
    assert not unexplained, "\n".join(unexplained)
    assert not list(justifications.stale()), "these differences are gone"


def restart(process: BrokerProcess, step: Step) -> None:
    """Let every leader epoch be as far ahead as after a restart of Apache Kafka.

    There it rises by 2 whenever the broker starts, here by 1 after an unclean stop.
    The last restart is about what a clean stop leaves of a producer.
    """
    if step["step"] == 34:
        process.terminate()
        process.start()
        return
    for _ in range(2):
        process.kill()
        process.start()


@pytest.fixture(scope="module")
def quiet_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker on which questions leave little behind."""
    data_dir = tmp_path_factory.mktemp("clients") / "data"
    options = (*OPTIONS["no-auto-create"], "-o", "inter.broker.apis.enable=true")
    with running_broker(data_dir, *options) as process:
        yield process


@pytest.mark.parametrize("client", CLIENTS)
def test_what_clients_send_is_read_and_answered(
    quiet_broker: BrokerProcess, client: str
) -> None:
    """Every request to an API of ours, in that client's version and its own bytes.

    The topics are not there, so that only the form of the answers can be checked.
    """
    responses()
    for line in recorded(client):
        handler = registered_handlers().get(line["api_key"])
        if handler is None:
            continue
        version, name = line["version"], f"{line['api_name']} v{line['version']}"
        request = bytes.fromhex(line["request_hex"])
        is_acknowledged = True
        if handler.handles_version(version):
            _, position = decode_request_header(memoryview(request))
            body, end = decoder(handler.request_class, version)(
                memoryview(request), position
            )
            assert end == len(request) or (client, name) in SENDS_MORE, name
            is_acknowledged = getattr(body, "acks", None) != 0
        else:
            assert line["api_key"] == ApiKey.API_VERSIONS, name
            version = 0  # in which one is told which versions there are
        answer = answer_to(request, quiet_broker)
        if not is_acknowledged:  # then this is all that says that it failed
            assert answer == b"", name
            continue
        correlation_id, _ = decode_response(answer, handler.response_class, version)
        assert correlation_id == int.from_bytes(request[4:8], "big"), name
    assert "Traceback" not in quiet_broker.log()


def answer_to(request: bytes, process: BrokerProcess) -> bytes:
    """The answer without its length; nothing when the connection is closed instead."""
    address = ("127.0.0.1", process.port)
    with socket.create_connection(address, timeout=PATIENCE_S) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        try:
            return read_frame(connection)
        except EOFError:
            return b""
