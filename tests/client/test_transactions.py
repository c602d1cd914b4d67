import pytest

from odradek.client.cluster import TRANSACTION, Cluster
from odradek.client.transactions import (
    TransactionFilter,
    abort_transaction,
    describe_transaction,
    list_transactions,
)
from odradek.protocol.errors import (
    ErrorCode,
    InvalidRegularExpression,
    InvalidRequest,
    ProducerFenced,
    TransactionalIdNotFound,
    UnsupportedVersion,
)
from odradek.protocol.messages.transactions import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from odradek.protocol.messages.txn_admin import (
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import create_topic
from tests.client.live_transactions import TIMEOUT_MS, Producer
from tests.fakes.scripted import scripted_cluster


def test_the_life_of_a_transaction(cluster: Cluster) -> None:
    create_topic(cluster, "txn-life", 2)
    places = [TopicPartition("txn-life", 0), TopicPartition("txn-life", 1)]
    with pytest.raises(TransactionalIdNotFound):
        describe_transaction(cluster, "life")
    producer = Producer(cluster, "life")
    found = describe_transaction(cluster, "life")
    assert (found.transactional_id, found.state) == ("life", "Empty")
    assert (found.producer_id, found.producer_epoch) == (producer.producer_id, 0)
    assert (found.timeout_ms, found.start_ms) == (TIMEOUT_MS, None)
    assert found.coordinator == cluster.coordinator("life", TRANSACTION)
    producer.add(*reversed(places))
    for place in places:
        producer.write(place)
    found = describe_transaction(cluster, "life")
    assert (found.state, found.partitions) == ("Ongoing", places)
    assert found.start_ms is not None
    listing = ("life", producer.producer_id, "Ongoing", found.coordinator)
    assert listing in list_transactions(cluster)
    abort_transaction(cluster, "life")
    found = describe_transaction(cluster, "life")
    assert (found.state, found.partitions) == ("Empty", [])
    assert found.producer_epoch > producer.epoch
    with pytest.raises(ProducerFenced):
        producer.end(commit=True)


def test_filters(cluster: Cluster) -> None:
    create_topic(cluster, "txn-filters", 1)
    idle = Producer(cluster, "filters-idle")
    busy = Producer(cluster, "filters-busy")
    busy.add(TopicPartition("txn-filters", 0))

    def names(*wanted: object) -> list[str]:
        found = list_transactions(cluster, TransactionFilter(*wanted))  # type: ignore[arg-type]
        return [
            each.transactional_id
            for each in found
            if each.transactional_id.startswith("filters-")
        ]

    assert names() == ["filters-busy", "filters-idle"]
    assert names(["Ongoing"]) == ["filters-busy"]
    assert names((), [idle.producer_id]) == ["filters-idle"]
    assert names(["Ongoing"], (), 60_000) == []
    assert names((), (), -1, ".*-idle") == ["filters-idle"]
    with pytest.raises(InvalidRequest, match="does not know the state Nope"):
        names(["Nope"])
    with pytest.raises(InvalidRegularExpression):
        names((), (), -1, "(")
    busy.end(commit=False)


def test_the_transactions_of_all_brokers_in_order() -> None:
    with scripted_cluster(3) as script, script.client() as cluster:
        for number, names in {1: ("m", "c"), 2: ("b",), 3: ("z",)}.items():
            listed = [ListedTransaction(transactional_id=name) for name in names]
            script.brokers[number].answers[ListTransactionsRequest] = (
                lambda request, version, listed=listed: ListTransactionsResponse(
                    transaction_states=listed
                )
            )
        found = list_transactions(cluster)
        names_and_brokers = [
            (each.transactional_id, each.coordinator.node_id) for each in found
        ]
        assert names_and_brokers == [("b", 2), ("c", 1), ("m", 1), ("z", 3)]


def test_a_broker_that_still_loads_is_waited_for() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        codes = iter([ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2)
        script.script(
            ListTransactionsRequest,
            lambda *_: ListTransactionsResponse(error_code=next(codes, 0)),
        )
        assert list_transactions(cluster) == []
        assert len(script.time.pauses) == 2


@pytest.mark.parametrize(
    ("version", "wanted", "what"),
    [
        (0, TransactionFilter(longer_than_ms=0), "duration"),
        (1, TransactionFilter(pattern="a"), "a pattern"),
    ],
)
def test_a_broker_that_is_too_old_to_filter(
    version: int, wanted: TransactionFilter, what: str
) -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.script(ListTransactionsRequest, lambda *_: ListTransactionsResponse())
        script.limit(ListTransactionsRequest, version)
        assert list_transactions(cluster) == []
        with pytest.raises(UnsupportedVersion, match=f"too old to list by {what}"):
            list_transactions(cluster, wanted)


def test_an_abort_waits_for_its_end() -> None:
    """The coordinator says so as long as markers are missing."""
    with scripted_cluster() as script, script.client() as cluster:
        codes = iter([ErrorCode.CONCURRENT_TRANSACTIONS] * 3)
        script.script(
            InitProducerIdRequest,
            lambda *_: InitProducerIdResponse(error_code=next(codes, 0)),
        )
        abort_transaction(cluster, "t")
        asked = script.brokers[1].asked[-1]
        assert isinstance(asked, InitProducerIdRequest)
        assert (asked.transactional_id, asked.transaction_timeout_ms) == ("t", 1)
        assert script.brokers[1].asked_for(InitProducerIdRequest) == 4
