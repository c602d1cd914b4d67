"""What is said of a failure that the cluster knows more about."""

import argparse

import pytest

from odradek.broker.cli.arguments.refusals import (
    Refused,
    near_name,
    not_asked,
    refuse,
)
from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.errors import NoAnswer, TlsFailed, Unreachable
from odradek.protocol.errors import (
    GroupIdNotFound,
    InvalidConfig,
    KafkaError,
    MalformedRequest,
    TransactionalIdNotFound,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.group_admin import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from odradek.protocol.messages.txn_admin import (
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from tests.fakes.scripted import scripted_cluster

Captured = pytest.CaptureFixture[str]
HERE = Address("127.0.0.1", 9092)


def near(error: KafkaError, name: str) -> str:
    """In a cluster with one topic, one group and one transactional id."""
    groups = ListGroupsResponse(groups=[ListedGroup(group_id="billing")])
    ids = ListTransactionsResponse(
        transaction_states=[ListedTransaction(transactional_id="import-7")]
    )
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders["orders"] = [1]
        script.script(ListGroupsRequest, lambda asked, version: groups)
        script.script(ListTransactionsRequest, lambda asked, version: ids)
        return near_name(cluster, error, name)


@pytest.mark.parametrize(
    ("error", "name", "hint"),
    [
        (UnknownTopicOrPartition(), "order", "Did you mean orders?"),
        (UnknownTopicOrPartition(), "something else", ""),
        (UnknownTopicOrPartition(), "orders", ""),  # a partition of it was meant
        (GroupIdNotFound(), "biling", "Did you mean billing?"),
        (GroupIdNotFound(), "order", ""),
        (TransactionalIdNotFound(), "import-8", "Did you mean import-7?"),
        (InvalidConfig(), "order", ""),
    ],
)
def test_the_name_that_was_probably_meant(
    error: KafkaError, name: str, hint: str
) -> None:
    assert near(error, name) == hint


def test_a_cluster_that_says_nothing_more_is_no_second_failure() -> None:
    with Cluster([Address("127.0.0.1", 1)]) as nobody:
        assert near_name(nobody, UnknownTopicOrPartition(), "orders") == ""


def test_refusals(capsys: Captured) -> None:
    assert refuse("topic create", InvalidConfig("It is odd."), "a", hint="So?") == 1
    refuse("group reset-offsets", Refused("why", what="t", name="SOME_NAME"), "g")
    refuse("group reset-offsets", Refused("why"), "g")
    assert capsys.readouterr().err.splitlines() == [
        "odradek topic create: a: INVALID_CONFIG: It is odd. So?",
        "odradek group reset-offsets: t: SOME_NAME: why",
        "odradek group reset-offsets: g: why",
    ]


def refused_by(
    message: str, cause: type[OSError] = ConnectionRefusedError
) -> Unreachable:
    error = Unreachable(message)
    error.__cause__ = cause()
    return error


@pytest.mark.parametrize(
    ("error", "asked", "told"),
    [
        (
            refused_by("x: reset", ConnectionResetError),
            [HERE],
            "x: reset; it may expect TLS: --command-config FILE does that; 'odradek"
            " doctor' finds out what is wrong",
        ),
        (
            Unreachable("x: no answer in 3 s"),  # somebody else has the port
            [HERE],
            "x: no answer in 3 s; 'odradek doctor' finds out what is wrong",
        ),
        (
            refused_by("x: refused"),
            [HERE],
            "x: refused; 'odradek serve' starts a broker there, 'odradek doctor' finds"
            " out what is wrong",
        ),
        (
            refused_by("x: refused"),
            [Address("localhost", 9192)],
            "x: refused; 'odradek serve --port 9192' starts a broker there, 'odradek"
            " doctor --bootstrap-server localhost:9192' finds out what is wrong",
        ),
        (
            refused_by("x: refused"),
            [Address("kafka-1", 9092), Address("kafka-2", 9092)],
            "x: refused; 'odradek doctor --bootstrap-server kafka-1:9092,kafka-2:9092'"
            " finds out what is wrong",
        ),
        (
            TlsFailed("x: does not speak TLS"),
            [HERE],
            "x: does not speak TLS; 'odradek doctor --command-config c' finds out"
            " what is wrong",
        ),
        (NoAnswer("x: no answer in 3 s"), [HERE], "x: no answer in 3 s"),
        (
            MalformedRequest("x: a web server answers"),
            [HERE],
            "what answers is not a Kafka broker, or a broken one: x: a web server"
            " answers; 'odradek doctor' finds out what is wrong",
        ),
        (FileNotFoundError(2, "No such file", "f"), [HERE], "f: No such file"),
    ],
)
def test_a_cluster_that_cannot_be_asked(
    error: OSError | MalformedRequest, asked: list[Address], told: str, capsys: Captured
) -> None:
    config = "c" if isinstance(error, TlsFailed) else None
    options = argparse.Namespace(bootstrap_server=asked, command_config=config)
    assert not_asked("topic list", error, options) == 1
    assert capsys.readouterr().err == f"odradek topic list: {told}\n"
