import socket
import threading

import pytest

from odradek.client.address import Address
from odradek.client.cluster import TRANSACTION, Cluster
from odradek.client.errors import NoAnswer, TlsFailed, Unreachable
from odradek.protocol.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    ErrorCode,
    GroupAuthorizationFailed,
    NotCoordinator,
    UnsupportedVersion,
)
from odradek.protocol.messages.group_admin import ListGroupsRequest, ListGroupsResponse
from odradek.protocol.messages.groups import FindCoordinatorRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.scripted import scripted_cluster


def nobody() -> Address:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return Address("127.0.0.1", server.getsockname()[1])


def test_the_next_bootstrap_server_is_asked_when_one_is_away() -> None:
    with scripted_cluster(2) as script:
        told = (nobody(), script.brokers[2].address)
        with script.client(*told) as cluster:
            assert set(cluster.metadata().brokers) == {1, 2}
        assert script.brokers[1].asked == []


def test_nobody_there_is_said_at_once_for_all_of_them() -> None:
    first, second = nobody(), nobody()
    with (
        Cluster([first, second]) as cluster,
        pytest.raises(Unreachable) as raised,
    ):
        cluster.metadata()
    refused = "Connection refused"
    assert str(raised.value) == f"{first}: {refused}; {second}: {refused}"


def test_a_broker_that_is_asked_by_number_is_named_when_it_is_away() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        cluster.metadata()
        script.brokers[2].close()
        with pytest.raises(Unreachable, match=r"broker 2 \(127.0.0.1:\d+\): Conn"):
            cluster.request(ListGroupsRequest(), ListGroupsResponse, 2)


def test_no_answer_in_time_and_the_connection_is_not_used_again() -> None:
    over = threading.Event()

    def hesitate(request: object, version: int) -> None:
        over.wait(60)

    with scripted_cluster() as script, script.client(timeout_s=2) as cluster:
        script.brokers[1].answers[ListGroupsRequest] = hesitate
        with pytest.raises(NoAnswer, match=r"127.0.0.1:\d+: no answer in 2 s"):
            cluster.request(ListGroupsRequest(), ListGroupsResponse)
        assert set(cluster.metadata().brokers) == {1}
        over.set()


def test_who_accepts_and_says_nothing_is_no_broker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = Address(*server.getsockname())
        with (
            Cluster([address], timeout_s=0.05) as cluster,
            pytest.raises(Unreachable, match=f"{address}: no answer in 0.05 s"),
        ):
            cluster.metadata()


def test_metadata_are_asked_for_again_when_the_connection_is_lost() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        broker = script.brokers[1]
        whole = broker.answers[MetadataRequest]
        lost = iter([True, True])
        broker.answers[MetadataRequest] = lambda request, version: (
            None if next(lost, False) else whole(request, version)
        )
        assert set(cluster.metadata().brokers) == {1}
        assert broker.asked_for(MetadataRequest) == 3


def test_leaders_are_known_as_they_were_told_last() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        script.leaders.update(t=[1, 2, -1], u=[2])

        def known(topic: str = "t") -> list[int | None]:
            places = [TopicPartition(topic, number) for number in range(4)]
            return [cluster.known_leader(place) for place in places]

        assert known() == [None] * 4
        cluster.metadata(["t"])
        assert known() == [1, 2, None, None]
        script.leaders["t"] = [2]
        cluster.metadata(["u"])
        assert known() == [1, 2, None, None]
        cluster.metadata(["t"])
        assert known() == [2, None, None, None]
        del script.leaders["t"]
        cluster.metadata(["t"])
        assert known() == [None] * 4
        del script.leaders["u"]
        cluster.metadata()
        assert known("u") == [None] * 4


@pytest.mark.parametrize("version", [0, 3, 4, 6])
def test_the_coordinator_is_found_in_every_version(version: int) -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        script.coordinator = 2
        script.limit(FindCoordinatorRequest, version)
        assert cluster.coordinator("g") == (2, script.brokers[2].address)
        assert cluster.coordinator("g").node_id == 2
        (asked,) = (
            request
            for request in script.brokers[1].asked
            if isinstance(request, FindCoordinatorRequest)
        )
        assert asked.key_type == 0
        assert (asked.coordinator_keys if version >= 4 else [asked.key]) == ["g"]


def test_a_transaction_may_have_another_coordinator_than_a_group_of_its_name() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        assert cluster.coordinator("g").node_id == 1
        script.coordinator = 2
        assert cluster.coordinator("g", TRANSACTION).node_id == 2
        assert cluster.coordinator("g").node_id == 1
        asked = [
            request.key_type
            for request in script.brokers[1].asked
            if isinstance(request, FindCoordinatorRequest)
        ]
        assert asked == [0, 1]


@pytest.mark.parametrize("version", [3, 6])
def test_a_coordinator_that_is_not_there_yet_is_waited_for(version: int) -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.limit(FindCoordinatorRequest, version)
        script.coordinator_errors = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 3
        assert cluster.coordinator("g").node_id == 1
        assert script.time.pauses == [0.05, 0.1, 0.2]


def test_the_wait_for_a_coordinator_ends() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.coordinator_errors = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 100
        with pytest.raises(CoordinatorNotAvailable):
            cluster.coordinator("g")
        assert 3 < sum(script.time.pauses) <= 5


def test_who_may_not_ask_hears_it_at_once() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.coordinator_errors = [ErrorCode.GROUP_AUTHORIZATION_FAILED]
        with pytest.raises(GroupAuthorizationFailed):
            cluster.coordinator("g")
        assert script.time.pauses == []


@pytest.mark.parametrize("error", [NotCoordinator, CoordinatorNotAvailable])
def test_a_coordinator_that_has_moved_is_looked_up_anew(
    error: type[Exception],
) -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        tried = []

        def attempt(broker: tuple[int, Address]) -> str:
            tried.append(broker[0])
            if broker[0] == 1:
                script.coordinator = 2
                raise error
            return "done"

        assert cluster.at_coordinator("g", attempt) == "done"
        assert tried == [1, 2]


def test_a_coordinator_that_has_died_is_looked_up_until_there_is_another() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        cluster.metadata()
        tried = []

        def attempt(broker: tuple[int, Address]) -> str:
            tried.append(broker[0])
            if len(tried) < 3:
                raise Unreachable("broker 1: Connection refused")
            script.coordinator = 2
            return "done"

        assert cluster.at_coordinator("g", attempt) == "done"
        assert tried == [1, 1, 1]
        assert script.brokers[1].asked_for(FindCoordinatorRequest) == 3


@pytest.mark.parametrize(("brokers", "error"), [(1, Unreachable), (2, TlsFailed)])
def test_who_cannot_be_reached_at_all_is_not_waited_for(
    brokers: int, error: type[Exception]
) -> None:
    with scripted_cluster(brokers) as script, script.client() as cluster:
        cluster.metadata()

        def attempt(broker: tuple[int, Address]) -> str:
            raise error("broker 1: Connection refused")

        with pytest.raises(error):
            cluster.at_coordinator("g", attempt)
        assert script.brokers[1].asked_for(FindCoordinatorRequest) == 1


def test_a_coordinator_that_is_loading_is_asked_again_without_a_look_up() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        outcomes = iter([True, True, False])

        def attempt(broker: object) -> str:
            if next(outcomes):
                raise CoordinatorLoadInProgress
            return "done"

        assert cluster.at_coordinator("g", attempt) == "done"
        assert script.brokers[1].asked_for(FindCoordinatorRequest) == 1


def test_a_request_that_the_broker_does_not_know() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        with pytest.raises(UnsupportedVersion, match="ListGroupsRequest"):
            cluster.request(ListGroupsRequest(), ListGroupsResponse)
        with pytest.raises(UnsupportedVersion):
            cluster.version_of(ListGroupsRequest())
        assert set(cluster.metadata().brokers) == {1}  # the connection is still good
