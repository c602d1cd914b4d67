"""Random steps of producers that commit for groups, and of those whom it concerns.

As `Steps`, with the offsets of three groups: in all versions, for members of this
generation and for others, while the groups have members, are deleted and forgotten.
"""

from typing import Any, NamedTuple

from odradek.protocol.consumer_protocol import ConsumerProtocolSubscription
from odradek.protocol.messages.group_admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from odradek.protocol.messages.groups import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from odradek.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from odradek.protocol.messages.txn_offsets import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from tests.apache_kafka.transaction_steps import PARTITIONS, Steps

FIRST_VERSION_WITH_MEMBERS = 3
SESSION_MS = 60_000
WEIGHTS = {
    "init": 1,
    "end": 4,
    "add_group": 3,
    "txn_commit": 9,
    "commit": 2,
    "fetch": 4,
    "join": 2,
    "leave": 1,
    "delete_group": 1,
    "delete_offset": 1,
    "describe": 2,
}


class Membership(NamedTuple):
    """Who commits; by default nobody in particular."""

    generation_id: int = -1
    member_id: str = ""


class GroupSteps(Steps):
    """Two producers, three groups of at most one member."""

    weights = WEIGHTS

    def __init__(self, address: str, seed: int) -> None:
        super().__init__(address, seed)
        self._groups = [f"{self._group}-{each}" for each in "xyz"]
        self._members: dict[str, Membership] = {}

    def _add_group(self, transactional_id: str) -> tuple[Any, ...]:
        producer_id, epoch = self._identity(transactional_id)
        group = self._random.choice(self._groups)
        asked = AddOffsetsToTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            group_id=group,
        )
        answer = self._ask(asked, AddOffsetsToTxnResponse, 3)
        return group, epoch, answer.error_code

    def _txn_commit(self, transactional_id: str) -> tuple[Any, ...]:
        producer_id, epoch = self._identity(transactional_id)
        group, version = self._random.choice(self._groups), self._random.randrange(6)
        who, membership = self._who(group)
        members: dict[str, Any] = {}
        if version >= FIRST_VERSION_WITH_MEMBERS:
            members = membership._asdict()
        self._offset += 1
        place = TxnOffsetCommitRequestPartition(
            partition_index=self._random.choice((*PARTITIONS, 9)),
            committed_offset=self._offset,
            committed_metadata=self._note(),
        )
        asked = TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=group,
            producer_id=producer_id,
            producer_epoch=epoch,
            topics=[TxnOffsetCommitRequestTopic(name=self._topic, partitions=[place])],
            **members,
        )
        answer = self._ask(asked, TxnOffsetCommitResponse, version)
        (found,) = answer.topics[0].partitions
        return group, version, epoch, who, found.partition_index, found.error_code

    def _commit(self, _: str) -> tuple[Any, ...]:
        group = self._random.choice(self._groups)
        who, (generation_id, member_id) = self._who(group)
        self._offset += 1
        place = OffsetCommitRequestPartition(
            partition_index=self._random.choice(PARTITIONS),
            committed_offset=self._offset,
            committed_metadata=self._note(),
        )
        asked = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation_id,
            member_id=member_id,
            topics=[OffsetCommitRequestTopic(name=self._topic, partitions=[place])],
        )
        answer = self._ask(asked, OffsetCommitResponse, 9)
        return group, who, answer.topics[0].partitions[0].error_code

    def _fetch(self, _: str) -> tuple[Any, ...]:
        group = self._random.choice(self._groups)
        asks_all, is_stable = self._random.random() < 0.5, self._random.random() < 0.5
        named = OffsetFetchRequestTopics(
            name=self._topic, partition_indexes=list(PARTITIONS)
        )
        wanted = OffsetFetchRequestGroup(
            group_id=group, topics=None if asks_all else [named]
        )
        asked = OffsetFetchRequest(groups=[wanted], require_stable=is_stable)
        (answer,) = self._ask(asked, OffsetFetchResponse, 9).groups
        found = [
            (
                each.partition_index,
                each.committed_offset,
                each.metadata,
                each.error_code,
            )
            for topic in answer.topics
            for each in topic.partitions
        ]
        return group, asks_all, is_stable, answer.error_code, sorted(found)

    def _join(self, _: str) -> tuple[Any, ...]:
        group = self._random.choice(self._groups)
        if group in self._members:
            return ("is there",)
        read = ConsumerProtocolSubscription(topics=[self._topic])
        subscription = b"\0\0" + bytes(read.encode(0))
        joined = self._ask(
            JoinGroupRequest(
                group_id=group,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=SESSION_MS,
                protocol_type="consumer",
                protocols=[
                    JoinGroupRequestProtocol(name="range", metadata=subscription)
                ],
            ),
            JoinGroupResponse,
            3,
        )
        member = Membership(joined.generation_id, joined.member_id)
        self._members[group] = member
        given = SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"a")
        if self._random.random() < 0.8:  # else the assignment is awaited
            asked = SyncGroupRequest(
                group_id=group, assignments=[given], **member._asdict()
            )
            assert not self._ask(asked, SyncGroupResponse, 2).error_code
        return group, joined.error_code, member.generation_id

    def _leave(self, _: str) -> tuple[Any, ...]:
        group = self._random.choice(self._groups)
        if group not in self._members:
            return ("is not there",)
        member_id = self._members.pop(group).member_id
        asked = LeaveGroupRequest(
            group_id=group, members=[MemberIdentity(member_id=member_id)]
        )
        return group, self._ask(asked, LeaveGroupResponse, 4).error_code

    def _delete_group(self, _: str) -> tuple[Any, ...]:
        group = self._random.choice(self._groups)
        asked = DeleteGroupsRequest(groups_names=[group])
        (answer,) = self._ask(asked, DeleteGroupsResponse, 2).results
        return group, answer.error_code

    def _delete_offset(self, _: str) -> tuple[Any, ...]:
        group = self._random.choice(self._groups)
        index = self._random.choice(PARTITIONS)
        place = OffsetDeleteRequestPartition(partition_index=index)
        topic = OffsetDeleteRequestTopic(name=self._topic, partitions=[place])
        asked = OffsetDeleteRequest(group_id=group, topics=[topic])
        answer = self._ask(asked, OffsetDeleteResponse, 0)
        codes = [
            each.error_code for found in answer.topics for each in found.partitions
        ]
        return group, index, answer.error_code, codes

    def _describe(self, transactional_id: str) -> tuple[Any, ...]:
        asked = DescribeGroupsRequest(groups=self._groups)
        groups = self._ask(asked, DescribeGroupsResponse, 5).groups
        states = [(each.group_state, len(each.members)) for each in groups]
        transactions = [each.transaction_state for each in self._described()]
        return (*states, *transactions)

    def _who(self, group: str) -> tuple[str, Membership]:
        """What there is to say about a commit, and who it says to come from."""
        member = self._members.get(group, Membership())
        others = {
            "nobody": Membership(),
            "the member": member,
            "of the next generation": member._replace(
                generation_id=member.generation_id + 1
            ),
            "a stranger": member._replace(member_id="stranger"),
            "of no generation": member._replace(generation_id=-1),
        }
        (who,) = self._random.choices(list(others), (4, 6, 1, 1, 1))
        return who, others[who]

    def _note(self) -> str | None:
        # None that is too long: of a refused one Apache Kafka keeps a group, perhaps.
        return self._random.choice(("", "", "", None, "𝄞" * 2048))
