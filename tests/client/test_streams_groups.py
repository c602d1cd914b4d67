import pytest

from odradek.client.groups import describe_group
from odradek.client.streams_groups import MemberTasks
from odradek.protocol.errors import ErrorCode, GroupIdNotFound
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.messages.share_groups import (
    DescribedShareGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from odradek.protocol.messages.streams_groups import (
    DescribedStreamsGroup,
    StreamsGroupAssignment,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupMember,
    StreamsGroupSubtopology,
    StreamsGroupTopology,
    StreamsTaskIds,
    StreamsTopicInfo,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.client.test_share_groups import no_classic_group
from tests.fakes.scripted import ScriptedCluster, scripted_cluster
