import pytest

from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.image import Endpoint, FeatureRange, Voter
from odradek.broker.quorum.image.nodes import voters_of
from odradek.protocol.membership_records import (
    FENCED,
    UNFENCED,
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RegisteredEndpoint,
    RegisteredFeature,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from odradek.protocol.metadata_records import FeatureLevelRecord
from odradek.protocol.quorum_records import Voter as VoterRecord
from odradek.protocol.quorum_records import VoterEndpoint, VotersRecord
from odradek.protocol.schema import Message
from tests.broker.quorum.image.states import state

BROKER = RegisterBrokerRecord(
    broker_id=1,
    broker_epoch=7,
    incarnation_id=b"i" * 16,
    end_points=[RegisteredEndpoint(name="P", host="h", port=9, security_protocol=1)],
    features=[RegisteredFeature(name="f", max_supported_version=3)],
    log_dirs=[b"d" * 16],
)


def change(**fields: object) -> Message:
    return BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, **fields)  # type: ignore[arg-type]


def test_a_broker_comes_fenced_and_goes() -> None:
    broker = state(BROKER).brokers[1]
    assert (broker.epoch, broker.is_fenced, broker.is_stopping) == (7, True, False)
    assert broker.endpoints == (Endpoint("P", "h", 9, 1),)
    assert broker.features == {"f": FeatureRange(0, 3)}
    assert broker.directories == (b"d" * 16,)
    assert not state(BROKER, UnregisterBrokerRecord(broker_id=1)).brokers


def test_it_is_fenced_and_unfenced_by_records_old_and_new() -> None:
    old = UnfenceBrokerRecord(id=1, epoch=7)
    assert not state(BROKER, old).brokers[1].is_fenced
    assert state(BROKER, old, FenceBrokerRecord(id=1, epoch=7)).brokers[1].is_fenced
    assert not state(BROKER, change(fenced=UNFENCED)).brokers[1].is_fenced
    assert state(BROKER, old, change(fenced=FENCED)).brokers[1].is_fenced
    assert not state(BROKER, old, change()).brokers[1].is_fenced


def test_a_change_says_only_what_is_different() -> None:
    before = state(BROKER).brokers[1]
    assert state(BROKER, change()).brokers[1] == before
    stopping = state(BROKER, change(in_controlled_shutdown=1)).brokers[1]
    assert stopping == before._replace(is_stopping=True)
    moved = change(log_dirs=[b"e" * 16], cordoned_log_dirs=[b"e" * 16])
    cordoned = state(BROKER, moved).brokers[1]
    assert cordoned.directories == cordoned.cordoned_directories == (b"e" * 16,)
    again = state(BROKER, moved, change(cordoned_log_dirs=[])).brokers[1]
    assert again.cordoned_directories == ()


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        (FenceBrokerRecord(id=2), "FENCE_BROKER record: broker 2 is not registered"),
        (UnfenceBrokerRecord(id=1, epoch=6), "broker 1 has epoch 7, not 6"),
    ],
)
def test_another_broker_or_epoch_is_refused(record: Message, complaint: str) -> None:
    with pytest.raises(MetadataLogError, match=complaint):
        state(BROKER, record)


def test_controllers_and_features() -> None:
    controller = RegisterControllerRecord(
        controller_id=9, end_points=BROKER.end_points, features=BROKER.features
    )
    image = state(
        controller,
        FeatureLevelRecord(name="a", feature_level=2),
        FeatureLevelRecord(name="b", feature_level=2),
        FeatureLevelRecord(name="b", feature_level=0),
    )
    assert image.controllers[9].endpoints == (Endpoint("P", "h", 9, 1),)
    assert (image.features, image.features_offset) == ({"a": 2}, 3)


def test_voters_are_in_the_order_of_their_ids() -> None:
    at = VoterEndpoint(name="C", host="h", port=1)
    found = VotersRecord(
        voters=[VoterRecord(voter_id=2), VoterRecord(voter_id=1, endpoints=[at])]
    )
    first, second = voters_of(found)
    assert first == Voter(1, bytes(16), (Endpoint("C", "h", 1),))
    assert second.voter_id == 2
