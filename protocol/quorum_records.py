"""What the controllers of a quorum write for themselves into ``__cluster_metadata``.

They are control records: the key has the type (`control_records.ControlType`), the
value is a flexible message. Its first field repeats the version that it has, 0 or 1.
"""

from .schema import (
    Message,
    Struct,
    array,
    int16,
    int32,
    since,
    string,
    struct,
    uint16,
    uuid,
)


class VoterId(Struct):
    """A controller that votes."""

    voter_id: int = int32()
    voter_directory_id: bytes = uuid(versions=since(1))


class LeaderChangeMessage(Message, versions=(0, 1), flexible=0):
    """A controller leads from here on; the epoch is that of the batch."""

    version: int = int16()
    leader_id: int = int32()
    voters: list[VoterId] = array()
    granting_voters: list[VoterId] = array()


class KRaftVersionRecord(Message, versions=(0, 0), flexible=0):
    """From level 1 on controllers come and go without a restart of the others."""

    version: int = int16()
    k_raft_version: int = int16()


class VoterEndpoint(Struct):
    """Where a voter listens."""

    name: str = string()
    host: str = string()
    port: int = uint16()


class KRaftVersionFeature(Struct):
    """The levels that a voter can do."""

    min_supported_version: int = int16()
    max_supported_version: int = int16()


class Voter(Struct):
    """A controller that votes, and where it listens."""

    voter_id: int = int32()
    voter_directory_id: bytes = uuid()
    endpoints: list[VoterEndpoint] = array()
    k_raft_version_feature: KRaftVersionFeature = struct()


class VotersRecord(Message, versions=(0, 0), flexible=0):
    """Who votes from here on."""

    version: int = int16()
    voters: list[Voter] = array()
