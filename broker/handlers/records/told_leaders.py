"""Answers of Produce and Fetch that say whom to ask instead (KIP-951)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.requests.current_leaders import LEADS_NO_MORE, current_leaders
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.current_leader import LeaderIdAndEpoch

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext
    from odradek.protocol.messages.fetch import FetchResponse
    from odradek.protocol.messages.produce import ProduceResponse

PRODUCE_VERSION = 10
FETCH_VERSION = 16


def told_to_producer(ctx: RequestContext, response: ProduceResponse) -> ProduceResponse:
    """The same, with the leaders of what this broker does not lead."""
    leaders = current_leaders(ctx)
    if leaders is None or ctx.api_version < PRODUCE_VERSION:
        return response
    for each in response.responses:
        topic = ctx.services.metadata.get(each.name)
        if topic is None:
            continue
        for partition in each.partition_responses:
            if partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                found = leaders.of(topic.topic_id, partition.index)
                partition.current_leader = _leader(found)
    response.node_endpoints = leaders.endpoints
    return response


def told_to_reader(ctx: RequestContext, response: FetchResponse) -> FetchResponse:
    """The same for who reads; also for who knows an older epoch than ours."""
    leaders = current_leaders(ctx)
    if leaders is None or ctx.api_version < FETCH_VERSION:
        return response
    for topic in response.responses:
        for data in topic.partitions:
            if data.error_code in LEADS_NO_MORE:
                found = leaders.of(topic.topic_id, data.partition_index)
                data.current_leader = _leader(found)
    response.node_endpoints = leaders.endpoints
    return response


def _leader(found: tuple[int, int] | None) -> LeaderIdAndEpoch:
    if found is None:
        return LeaderIdAndEpoch()
    return LeaderIdAndEpoch(leader_id=found[0], leader_epoch=found[1])
