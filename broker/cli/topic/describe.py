"""``odradek topic describe``: partitions, leaders, offsets and options of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.broker.cli.arguments.refusals import refuse_named
from odradek.terminal.failure import FAILED
from odradek.terminal.table import marked, printable, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from odradek.client.cluster import Cluster
    from odradek.client.list_offsets import ListedOffset
    from odradek.client.topics import TopicDescription
    from odradek.protocol.topic_partition import TopicPartition

_COMMAND = "topic describe"
_HEAD = (
    *("PARTITION", "LEADER", "REPLICAS", "IN-SYNC"),
    *("START", "END", "LOG-END", "RECORDS"),
)
_EXAMPLES = (
    "odradek topic describe orders",
    "odradek topic describe orders payments --json",
    "odradek topic describe --all",
)


def command(arguments: list[str]) -> int:
    """Show partitions, leaders, offsets and options of topics."""
    parser = cluster_parser(
        _COMMAND,
        "Show the partitions of topics, who leads them, from which offset to which"
        " they reach, and the options that are not the default. What lies between END"
        " and LOG-END is not safe on all replicas, or disks, yet: no consumer sees it.",
        _EXAMPLES,
    )
    parser.add_argument("topic", nargs="*", metavar="TOPIC")
    parser.add_argument("--all", action="store_true", help="all that are not internal")
    options = parser.parse(arguments)
    if bool(options.topic) == options.all:
        parser.error("say which topics, or --all")
    return run(_COMMAND, options, lambda cluster: _describe(cluster, options))


class Described(NamedTuple):
    """A topic, the offsets of its partitions and the options somebody has set."""

    topic: TopicDescription
    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]
    log_ends: Mapping[TopicPartition, int]
    configs: Mapping[str, str | None]

    def text(self) -> Iterator[str]:
        """For people."""
        count = len(self.topic.partitions)
        yield printable(
            f"topic {self.topic.name}: {count} partition{'s' * (count != 1)}, id"
            f" {self._topic_id()}{', internal' * self.topic.is_internal}"
        )
        for name, value in self.configs.items():
            yield printable(f"  {name}={value}")
        rows = []
        for each in self._partitions():
            known = each["start"] is not None and each["end"] is not None
            rows.append(
                (
                    each["partition"],
                    marked(each["leader"], each["leader"] is None),
                    _numbers(each["replicas"]),
                    marked(
                        _numbers(each["inSync"]),
                        set(each["replicas"]) > set(each["inSync"]),
                    ),
                    each["start"],
                    each["end"],
                    each["logEnd"],
                    each["end"] - each["start"] if known else None,
                )
            )
        yield from table(_HEAD, rows)

    def as_json(self) -> dict[str, Any]:
        """All of it, for `json`."""
        return {
            "topic": self.topic.name,
            "topicId": self._topic_id(),
            "internal": self.topic.is_internal,
            "configs": dict(self.configs),
            "partitions": list(self._partitions()),
        }

    def _topic_id(self) -> str:
        from odradek.protocol.uuids import to_text

        return to_text(self.topic.topic_id)

    def _partitions(self) -> Iterator[dict[str, Any]]:
        from odradek.protocol.topic_partition import TopicPartition

        for each in self.topic.partitions:
            place = TopicPartition(self.topic.name, each.partition)
            yield {
                "partition": each.partition,
                "leader": None if each.leader < 0 else each.leader,
                "replicas": list(each.replicas),
                "inSync": list(each.in_sync),
                "offline": list(each.offline),
                "start": self.starts.get(place),
                "end": self.ends.get(place),
                "logEnd": self.log_ends.get(place),
            }


def _numbers(ids: list[int]) -> str:
    return ",".join(map(str, ids)) or "none"


def _describe(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.topics import describe_topics

    names = None if options.all else list(dict.fromkeys(options.topic))
    topics = describe_topics(cluster, names)
    wanted = [
        topic
        for topic in topics.found.values()
        if not (options.all and topic.is_internal)
    ]
    is_first = True
    for topic in wanted:
        found = _described(cluster, topic)
        if options.json:
            print_json(found.as_json())
            continue
        if not is_first:
            print()
        is_first = False
        print("\n".join(found.text()))
    if options.all and not wanted and not options.json:
        print("no topics")
    for name, error in topics.failed.items():
        refuse_named(_COMMAND, cluster, error, name, row={"topic": name})
    return FAILED if topics.failed else 0


def _described(cluster: Cluster, topic: TopicDescription) -> Described:
    from odradek.client.configs import (
        ConfigResource,
        ConfigResourceType,
        describe_configs,
    )
    from odradek.client.list_offsets import EARLIEST, LATEST, list_offsets
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.topic_partition import TopicPartition

    places = [
        TopicPartition(topic.name, each.partition)
        for each in topic.partitions
        if each.leader >= 0
    ]
    starts = list_offsets(cluster, dict.fromkeys(places, EARLIEST)).found
    latest = dict.fromkeys(places, LATEST)
    # The log end is asked for before the end that is shown: what is between the two
    # was not only written in between.
    log_ends = _log_ends(cluster, list_offsets(cluster, latest).found)
    ends = list_offsets(cluster, latest).found
    configs: dict[str, str | None] = {}
    try:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic.name)
        for entry in describe_configs(cluster, resource):
            if entry.source == "DYNAMIC_TOPIC_CONFIG":
                configs[entry.name] = entry.value
    except KafkaError:
        pass  # to see the options may not be allowed to who may see the topic
    return Described(
        topic,
        {place: each.offset for place, each in starts.items()},
        {place: each.offset for place, each in ends.items()},
        {
            place: max(log_ends[place], each.offset)
            for place, each in ends.items()
            if place in log_ends
        },
        configs,
    )


def _log_ends(
    cluster: Cluster, latest: Mapping[TopicPartition, ListedOffset]
) -> dict[TopicPartition, int]:
    """Where the leaders' logs end: their newest epoch has no other end yet (KIP-320).

    Who does not say so is left out: an old broker, or one that does not let everybody
    ask.
    """
    from odradek.client.leader_epochs import epoch_ends
    from odradek.protocol.errors import UnsupportedVersion

    epochs = {
        place: each.leader_epoch
        for place, each in latest.items()
        if each.leader_epoch >= 0
    }
    try:
        found = epoch_ends(cluster, epochs).found
    except UnsupportedVersion:
        return {}
    return {
        place: each.end_offset
        for place, each in found.items()
        if each.leader_epoch == epochs[place]
    }
