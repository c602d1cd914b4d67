import pytest

from odradek.protocol.membership_records import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    FenceBrokerRecord,
    NoOpRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RegisteredEndpoint,
    RegisteredFeature,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    ZkMigrationStateRecord,
)
from odradek.protocol.metadata_records import (
    MetadataRecordType,
    decode_metadata_record,
    encode_metadata_record,
)
from odradek.protocol.schema import Message
from tests.protocol.test_metadata_records import FILES, VERSION_AT, values

ENDPOINTS = [RegisteredEndpoint(name="L", host="h", port=9, security_protocol=3)]
FEATURES = [RegisteredFeature(name="f", min_supported_version=1)]
RECORDS = [
    RegisterBrokerRecord(
        broker_id=1, end_points=ENDPOINTS, features=FEATURES, rack="r"
    ),
    UnregisterBrokerRecord(broker_id=1, broker_epoch=2),
    FenceBrokerRecord(id=1, epoch=2),
    UnfenceBrokerRecord(id=1, epoch=2),
    BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=2, fenced=-1),
    RegisterControllerRecord(controller_id=1, end_points=ENDPOINTS, features=FEATURES),
    ZkMigrationStateRecord(zk_migration_state=1),
    NoOpRecord(),
    ClearElrRecord(topic_name="t"),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_every_version_is_read_as_it_was_written(record: Message) -> None:
    for version in range(record.min_version, record.max_version + 1):
        value = encode_metadata_record(record, version)
        assert decode_metadata_record(value).message == record


def test_apache_kafkas_logs_have_brokers_and_controllers() -> None:
    seen = set()
    for path in FILES:
        for value in values(path):
            record_type, message = decode_metadata_record(value)
            assert message is not None
            assert encode_metadata_record(message, value[VERSION_AT]) == value
            seen.add(record_type)
    assert seen >= {
        MetadataRecordType.REGISTER_BROKER,
        MetadataRecordType.BROKER_REGISTRATION_CHANGE,
        MetadataRecordType.REGISTER_CONTROLLER,
    }
