import pytest

from odradek.client.delivery import DeliveryFailed
from odradek.client.security.settings import Sasl, Security
from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.security.refusals import refusal_of, stopped_by, stopping
from odradek.pipeline.security.words import TOPIC, Need
from odradek.protocol.errors import NotLeaderOrFollower, TopicAuthorizationFailed
from odradek.protocol.topic_partition import TopicPartition

ALICE = Security(sasl=Sasl("PLAIN", "alice"))
PLACE = TopicPartition("orders", 1)
NEEDS = (Need("Read", TOPIC, "notes"), Need("Write", TOPIC, "orders"))


def test_of_several_rights_the_one_of_the_resource_is_named() -> None:
    failed = DeliveryFailed(PLACE, TopicAuthorizationFailed(), {PLACE: 2})
    stopped = stopped_by(failed, ALICE, NEEDS)
    assert str(stopped).startswith("User:alice has no right to Write on topic orders:")
    stopped = stopped_by(TopicAuthorizationFailed(), ALICE, NEEDS)
    assert "Read on topic notes and Write on topic orders" in str(stopped)


def test_what_may_pass_stays_what_it_is() -> None:
    failed = DeliveryFailed(PLACE, NotLeaderOrFollower(), {PLACE: 2})
    assert refusal_of(failed) is None
    with pytest.raises(DeliveryFailed), stopping(ALICE, NEEDS):
        raise failed


def test_what_does_not_pass_stops_the_job() -> None:
    with pytest.raises(JobStopped, match="User:alice"), stopping(ALICE, NEEDS):
        raise TopicAuthorizationFailed
