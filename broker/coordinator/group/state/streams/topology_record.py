"""A topology, as the record of a group says it, and back."""

from __future__ import annotations

from odradek.protocol.streams_records import (
    RecordedCopartitionGroup,
    RecordedSubtopology,
    StreamsGroupTopologyValue,
    TopicConfig,
    TopicInfo,
)

from .topology import CopartitionGroup, InternalTopic, Subtopology, Topology


def read_topology(value: StreamsGroupTopologyValue) -> Topology:
    """What a group's record says."""
    parts = {each.subtopology_id: _read_part(each) for each in value.subtopologies}
    return Topology(value.epoch, tuple(part for _, part in sorted(parts.items())))


def write_topology(topology: Topology) -> StreamsGroupTopologyValue:
    """The record's value."""
    return StreamsGroupTopologyValue(
        epoch=topology.epoch,
        subtopologies=[_write_part(each) for each in topology.subtopologies],
    )


def _read_part(value: RecordedSubtopology) -> Subtopology:
    return Subtopology(
        value.subtopology_id,
        tuple(value.source_topics),
        tuple(value.source_topic_regex),
        tuple(_read_topic(each) for each in value.repartition_source_topics),
        tuple(value.repartition_sink_topics),
        tuple(_read_topic(each) for each in value.state_changelog_topics),
        tuple(
            CopartitionGroup(
                tuple(each.source_topics),
                tuple(each.source_topic_regex),
                tuple(each.repartition_source_topics),
            )
            for each in value.copartition_groups
        ),
    )


def _write_part(part: Subtopology) -> RecordedSubtopology:
    return RecordedSubtopology(
        subtopology_id=part.subtopology_id,
        source_topics=list(part.source_topics),
        source_topic_regex=list(part.source_patterns),
        state_changelog_topics=[_write_topic(each) for each in part.changelogs],
        repartition_sink_topics=list(part.repartition_sinks),
        repartition_source_topics=[
            _write_topic(each) for each in part.repartition_sources
        ],
        copartition_groups=[
            RecordedCopartitionGroup(
                source_topics=list(each.source_topics),
                source_topic_regex=list(each.source_patterns),
                repartition_source_topics=list(each.repartition_sources),
            )
            for each in part.copartition_groups
        ],
    )


def _read_topic(value: TopicInfo) -> InternalTopic:
    return InternalTopic(
        value.name,
        value.partitions,
        value.replication_factor,
        tuple(sorted((each.key, each.value) for each in value.topic_configs)),
    )


def _write_topic(topic: InternalTopic) -> TopicInfo:
    return TopicInfo(
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        topic_configs=[TopicConfig(key=key, value=text) for key, text in topic.configs],
    )
