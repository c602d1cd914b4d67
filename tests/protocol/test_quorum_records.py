from collections.abc import Iterator

from odradek.protocol.control_records import ControlType, decode_key
from odradek.protocol.quorum_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    VoterId,
    VotersRecord,
)
from odradek.protocol.record_batch import scan
from odradek.protocol.records import iterate
from odradek.protocol.schema import Message
from tests.protocol.test_metadata_records import FILES

CLASSES: dict[ControlType, type[Message]] = {
    ControlType.LEADER_CHANGE: LeaderChangeMessage,
    ControlType.KRAFT_VERSION: KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: VotersRecord,
}


def recorded() -> Iterator[tuple[ControlType, bytes]]:
    for path in FILES:
        data = path.read_bytes()
        for position, header in scan(data):
            batch = memoryview(data)[position : position + header.size]
            for record in iterate(batch) if header.is_control else ():
                kind = decode_key(record.key)
                if kind in CLASSES and record.value is not None:
                    yield kind, bytes(record.value)


def test_apache_kafkas_are_read_and_written_byte_for_byte() -> None:
    seen = set()
    for kind, value in recorded():
        version = int.from_bytes(value[:2], "big")
        message = CLASSES[kind].decode(value, version)
        assert message.encode(version) == value
        seen.add(kind)
    assert ControlType.LEADER_CHANGE in seen


def test_the_directories_of_voters_came_with_version_1() -> None:
    voters = [VoterId(voter_id=1, voter_directory_id=b"d" * 16)]
    change = LeaderChangeMessage(version=1, leader_id=1, voters=voters)
    assert LeaderChangeMessage.decode(change.encode(1), 1) == change
    again = LeaderChangeMessage.decode(change.encode(0), 0)
    assert again.voters == [VoterId(voter_id=1)]
