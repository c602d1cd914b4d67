"""Random entries, and random requests of the users that they are about."""

import random
from typing import Any, NamedTuple

from odradek.protocol.acl_entries import AclEntry, PatternType, Permission
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.api_keys import ApiKey
from tests.apache_kafka.places import NEW, renamed
from tests.broker.handlers.needs_of_apis import BATCH, ROWS
from tests.broker.handlers.needs_of_share_groups import SHARE_GROUPS

USERS = ("alice", "bob", "carol")
TOPICS, MISSING = ("t", "ta", "tab", "u"), "missing"
GROUPS, IDS = ("g", "ga", "h"), ("x", "xa", "y")
# A group of offsets alone is gone with the last of them here, and in Apache Kafka when
# it next looks for such, as is one that was made for a member who was refused: of each
# group but the last an offset of this topic is kept.
KEPT = "kept"
_KEEPING = {ApiKey.OFFSET_DELETE, ApiKey.JOIN_GROUP}
# Of share groups Apache Kafka knows nothing until somebody is in one: it says so.
DRAWN = [row for row in ROWS if row not in SHARE_GROUPS]
ID_OF = "id of "  # what stands for the id of a topic, which each broker has its own of

Values = dict[str, Any]


class Asked(NamedTuple):
    """A request of a user."""

    user: str
    api: int
    version: int
    values: Values


def drawn_entries(draw: random.Random) -> list[AclEntry]:
    """Few or many, of users who are there, of all and of nobody."""
    return sorted({_entry(draw) for _ in range(draw.choice((2, 8, 20, 60)))})


def _entry(draw: random.Random) -> AclEntry:
    kind, names = draw.choices(
        (
            (ResourceType.TOPIC, (*TOPICS, MISSING, NEW, "gone", "made", "*")),
            (ResourceType.GROUP, (*GROUPS, "*")),
            (ResourceType.TRANSACTIONAL_ID, (*IDS, "*")),
            (ResourceType.CLUSTER, (CLUSTER_NAME,)),
        ),
        (5, 3, 2, 3),
    )[0]
    pattern = PatternType.LITERAL
    if draw.random() < 0.3 and kind is not ResourceType.CLUSTER:
        pattern = PatternType.PREFIXED
    operations = (*tuple(Operation)[2:12], Operation.ALL, Operation.DESCRIBE)
    return AclEntry(
        int(kind),
        draw.choice(names),
        int(pattern),
        draw.choices(
            (*(f"User:{user}" for user in USERS), "User:*", "Group:alice"),
            (4, 4, 4, 2, 1),
        )[0],
        draw.choices(("*", "127.0.0.1", "10.0.0.1"), (8, 2, 1))[0],
        int(draw.choice((*operations, Operation.IDEMPOTENT_WRITE))),
        int(draw.choices((Permission.DENY, Permission.ALLOW), (1, 4))[0]),
    )


def drawn_request(draw: random.Random, number: int) -> Asked:
    """One of the table with other names, or one that has several of them."""
    user = draw.choice(USERS)
    if draw.random() < 0.4:
        api, version, values = _of_several(draw)
        return Asked(user, api, version, values)
    row = draw.choice(DRAWN)
    names = {
        "t": draw.choice((*TOPICS, MISSING)),
        "g": _group(draw, row.api),
        "x": draw.choice(IDS),
        "new": f"{NEW}{draw.choice(USERS)}-{number}",
    }
    values = row.values
    if row.api == ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS:
        # Of all users at once Apache Kafka never answers who may not see them.
        values = {"users": [{"name": "nobody"}]}
    if row.api == ApiKey.CREATE_ACLS:
        values = {"creations": []}  # else there were others then
    return Asked(user, row.api, row.version, renamed(values, names))


def _group(draw: random.Random, api: ApiKey) -> str:
    *kept, last = GROUPS
    if api == ApiKey.DELETE_GROUPS:
        return last
    return draw.choice(kept if api in _KEEPING else GROUPS)


def _of_several(draw: random.Random) -> tuple[ApiKey, int, Values]:
    topics = draw.sample((*TOPICS, MISSING), draw.choice((1, 2, 4)))
    groups = draw.sample(GROUPS, 2)
    key_type = draw.choice((0, 1))
    several = [
        *_described(topics),
        *_read_and_written(topics, draw.choice(IDS)),
        *_of_groups(groups, topics),
        (
            ApiKey.FIND_COORDINATOR,
            4,
            {"key_type": key_type, "coordinator_keys": [*groups, *IDS]},
        ),
        (ApiKey.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": list(IDS)}),
        (ApiKey.LIST_TRANSACTIONS, 1, {"duration_filter": -1}),
    ]
    return draw.choice(several)


def _described(topics: list[str]) -> list[tuple[ApiKey, int, Values]]:
    named = [{"name": name} for name in topics]
    by_id = [{"name": None, "topic_id": ID_OF + name} for name in _there(topics)]
    of_topics = {"include_topic_authorized_operations": True}
    of_cluster = {"include_cluster_authorized_operations": True}
    both = {**of_topics, **of_cluster, "allow_auto_topic_creation": False}
    return [
        (ApiKey.METADATA, 10, {"topics": named, **both}),
        (ApiKey.METADATA, 9, {"topics": None, **both}),
        (ApiKey.METADATA, 12, {"topics": by_id, **of_topics}),
        (ApiKey.DESCRIBE_CLUSTER, 1, of_cluster),
        (
            ApiKey.DESCRIBE_TOPIC_PARTITIONS,
            0,
            {"topics": [{"name": name} for name in sorted(topics)]},
        ),
    ]


def _read_and_written(topics: list[str], id_: str) -> list[tuple[ApiKey, int, Values]]:
    partitions = [
        {"name": name, "partitions": [{"partition_index": 0}]} for name in topics
    ]
    added = [{"name": name, "partitions": [0]} for name in topics]
    by_id = [ID_OF + name for name in _there(topics)]
    return [
        (ApiKey.PRODUCE, 9, _producing(topics)),
        (ApiKey.FETCH, 13, _fetching("topic_id", by_id)),
        (ApiKey.FETCH, 12, _fetching("topic", topics)),
        (ApiKey.LIST_OFFSETS, 7, {"replica_id": -1, "topics": partitions}),
        (ApiKey.DELETE_RECORDS, 2, {"topics": partitions, "timeout_ms": 30_000}),
        (
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            {"v3_and_below_transactional_id": id_, "v3_and_below_topics": added},
        ),
    ]


def _of_groups(
    groups: list[str], topics: list[str]
) -> list[tuple[ApiKey, int, Values]]:
    places = [{"name": name, "partitions": [{"partition_index": 0}]} for name in topics]
    numbers = [{"name": name, "partition_indexes": [0]} for name in topics]
    fetched = [
        {"group_id": groups[0], "topics": numbers},
        {"group_id": groups[1], "topics": None},
    ]
    told = {"include_authorized_operations": True}
    return [
        (ApiKey.OFFSET_COMMIT, 8, {"group_id": groups[0], "topics": places}),
        (ApiKey.OFFSET_FETCH, 9, {"groups": fetched}),
        (ApiKey.DESCRIBE_GROUPS, 5, {"groups": groups, **told}),
        (ApiKey.DELETE_GROUPS, 2, {"groups_names": [GROUPS[-1], "nobody"]}),
        (ApiKey.LIST_GROUPS, 4, {}),
    ]


def _there(topics: list[str]) -> list[str]:
    return [name for name in topics if name != MISSING] or [TOPICS[0]]


def _producing(topics: list[str]) -> Values:
    data = [{"index": 0, "records": BATCH}]
    return {
        "acks": 1,
        "timeout_ms": 30_000,
        "transactional_id": None,
        "topic_data": [{"name": name, "partition_data": data} for name in topics],
    }


def _fetching(field: str, topics: list[str]) -> Values:
    partition = {"partition": 0, "partition_max_bytes": 1000}
    return {
        "max_bytes": 1000,
        "session_epoch": -1,
        "topics": [{field: topic, "partitions": [partition]} for topic in topics],
    }
