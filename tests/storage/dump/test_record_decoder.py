from odradek.protocol.consumer_protocol import ConsumerProtocolSubscription
from odradek.protocol.group_records import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    GroupMember,
    GroupMetadataKey,
    GroupMetadataValue,
)
from odradek.protocol.messages.share_state import ShareStateBatch
from odradek.protocol.schema import Message
from odradek.protocol.share_records import ShareStateKey, ShareUpdateValue
from odradek.protocol.transaction_records import TransactionLogKey, TransactionLogValue
from odradek.storage.dump.record_decoder import decoder_of

OFFSETS = decoder_of("__consumer_offsets")
TRANSACTIONS = decoder_of("__transaction_state")
SHARE_STATES = decoder_of("__share_group_state")


def packed(number: int, message: Message, version: int = 0) -> bytes:
    return number.to_bytes(2, "big") + message.encode(version)


def test_a_transaction_without_defaults_that_say_nothing() -> None:
    key = packed(0, TransactionLogKey(transactional_id="t"))
    value = TransactionLogValue(producer_id=5, next_producer_epoch=3)
    shown = TRANSACTIONS.decode(key, packed(1, value, 1))
    assert shown == (
        {"type": "0", "data": {"transactionalId": "t"}},
        {
            "version": "1",
            "data": {
                "producerId": 5,
                "producerEpoch": 0,
                "nextProducerEpoch": 3,
                "transactionTimeoutMs": 0,
                "transactionStatus": 0,
                "transactionPartitions": [],
                "transactionLastUpdateTimestampMs": 0,
                "transactionStartTimestampMs": 0,
            },
        },
    )


def test_what_a_share_group_has_done() -> None:
    key = packed(1, ShareStateKey(group_id="g", topic_id=bytes(16), partition=3))
    batch = ShareStateBatch(
        first_offset=6, last_offset=7, delivery_state=2, delivery_count=1
    )
    value = ShareUpdateValue(snapshot_epoch=1, start_offset=5, state_batches=[batch])
    shown_key, shown = SHARE_STATES.decode(key, packed(0, value))
    data = {"groupId": "g", "topicId": "A" * 22, "partition": 3}
    assert shown_key == {"type": "1", "data": data}
    assert shown == {
        "version": "0",
        "data": {
            "snapshotEpoch": 1,
            "leaderEpoch": 0,
            "startOffset": 5,
            "stateBatches": [
                {
                    "firstOffset": 6,
                    "lastOffset": 7,
                    "deliveryState": 2,
                    "deliveryCount": 1,
                }
            ],
        },
    }
    assert SHARE_STATES.decode(packed(0, ShareStateKey()), None)[1] is None


def test_members_of_a_consumer_group_are_opened() -> None:
    subscription = packed(1, ConsumerProtocolSubscription(topics=["a"]), 1)
    member = GroupMember(member_id="m", subscription=subscription, assignment=b"\0")
    key = packed(2, GroupMetadataKey(group="g"))
    for protocol_type, opened in (("consumer", True), ("connect", False)):
        value = GroupMetadataValue(protocol_type=protocol_type, members=[member])
        _, shown = OFFSETS.decode(key, packed(3, value, 3))
        [one] = shown["data"]["members"]  # type: ignore[index]
        assert one["assignment"] == "AA=="  # too short to be opened: base64
        assert isinstance(one["subscription"], dict) is opened


def test_a_member_of_the_classic_protocol_or_not() -> None:
    key = packed(5, ConsumerGroupMemberMetadataKey(group_id="g", member_id="m"))
    for metadata in (None, ClassicMemberMetadata(session_timeout_ms=7)):
        value = ConsumerGroupMemberMetadataValue(classic_member_metadata=metadata)
        _, shown = OFFSETS.decode(key, packed(0, value))
        classic = shown["data"]["classicMemberMetadata"]  # type: ignore[index]
        expected = {"sessionTimeoutMs": 7, "supportedProtocols": []}
        assert classic == (metadata and expected)


def test_what_is_not_known_is_shown_as_bytes() -> None:
    key = packed(2, GroupMetadataKey(group="g"))
    assert OFFSETS.decode(None, b"\1") == (None, {"hex": "01"})
    assert OFFSETS.decode(b"\0\x0b\7", b"") == (
        {"type": "11", "data": {"hex": "07"}},
        {"hex": ""},
    )
    assert OFFSETS.decode(b"\0\2\7", None) == (
        {"type": "2", "data": {"hex": "07"}},
        None,
    )
    assert OFFSETS.decode(key, b"\0\x63\1")[1] == {
        "version": "99",
        "data": {"hex": "01"},
    }
    assert OFFSETS.decode(key, b"\1")[1] == {"hex": "01"}
