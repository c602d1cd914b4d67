"""What each API needs, and what is answered to who has nothing of it: Kafka's table."""

from typing import Any

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.records import NewRecord, build_batch

from .needed_rows import (
    NO_CLUSTER,
    NO_GROUP,
    NO_TOPIC,
    NO_TXN_ID,
    Row,
    c,
    g,
    of_cluster,
    of_group,
    t,
    x,
)
from .needs_of_share_groups import SHARE_GROUPS

NOT_ATTEMPTED = 55
BATCH = build_batch([NewRecord(None, b"v")])
IN_TRANSACTION = build_batch(
    [NewRecord(None, b"v")],
    producer_id=9,
    producer_epoch=0,
    base_sequence=0,
    is_transactional=True,
)


def produce(batch: bytes, transactional_id: str | None = None) -> dict[str, Any]:
    data = {"index": 0, "records": batch}
    return {
        "acks": 1,
        "timeout_ms": 1000,
        "transactional_id": transactional_id,
        "topic_data": [{"name": "t", "partition_data": [data]}],
    }


def fetch(**more: Any) -> dict[str, Any]:
    partition = {"partition": 0, "partition_max_bytes": 1000}
    topics = [{"topic": "t", "partitions": [partition]}]
    return {"max_bytes": 1000, "session_epoch": -1, "topics": topics, **more}


def committing(**more: Any) -> dict[str, Any]:
    offset = {"partition_index": 0, "committed_offset": 1}
    return {
        "group_id": "g",
        "topics": [{"name": "t", "partitions": [offset]}],
        **more,
    }


PATIENT = {"timeout_ms": 30_000}
PARTITIONS = [{"name": "t", "partitions": [{"partition_index": 0}]}]
NUMBERS = [{"name": "t", "partition_indexes": [0]}]
MARKER = {"producer_id": 9, "topics": NUMBERS}
CREATED = {"name": "made", "num_partitions": 1, "replication_factor": 1}
EPOCHS = [{"topic": "t", "partitions": [{"partition": 0}]}]
QUOTA = [{"entity": [{"entity_type": "user", "entity_name": "u"}], "ops": []}]
ALL_ACLS = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
NEW_ACL = {
    "resource_type": 2,
    "resource_name": "t",
    "resource_pattern_type": 3,
    "principal": "User:nobody",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
NO_ACLS = {**ALL_ACLS, "principal_filter": "User:nobody"}


def options(api: ApiKey, version: int, operation: str, **more: Any) -> list[Row]:
    return [
        Row(
            api,
            version,
            {"resources": [{"resource_type": kind, "resource_name": name}], **more},
            [code],
            [needs(operation)],
        )
        for kind, name, code, needs in (
            (2, "t", NO_TOPIC, t),
            (32, "g", NO_GROUP, g),
            (4, "1", NO_CLUSTER, c),
            (16, "m", NO_CLUSTER, c),
        )
    ]


RECORDS = [
    Row(ApiKey.PRODUCE, 9, produce(BATCH), [NO_TOPIC], [t("WRITE")]),
    Row(
        ApiKey.PRODUCE,
        9,
        produce(IN_TRANSACTION, "x"),
        [NO_TXN_ID],
        [t("WRITE") + x("WRITE")],
    ),
    Row(ApiKey.FETCH, 12, fetch(), [NO_TOPIC], [t("READ")]),
    Row(ApiKey.FETCH, 12, fetch(session_epoch=0), [NO_TOPIC], [t("READ")]),
    Row(ApiKey.FETCH, 12, fetch(replica_id=5), [NO_TOPIC], [c("CLUSTER_ACTION")]),
    Row(
        ApiKey.LIST_OFFSETS,
        7,
        {"replica_id": -1, "topics": PARTITIONS},
        [NO_TOPIC],
        [t("DESCRIBE")],
    ),
    Row(
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        4,
        {"topics": EPOCHS},
        [NO_TOPIC],
        [t("DESCRIBE"), c("CLUSTER_ACTION")],
    ),
    Row(
        ApiKey.DELETE_RECORDS,
        2,
        {"topics": PARTITIONS, **PATIENT},
        [NO_TOPIC],
        [t("DELETE")],
    ),
    Row(ApiKey.DESCRIBE_PRODUCERS, 0, {"topics": NUMBERS}, [NO_TOPIC], [t("READ")]),
]

TOPICS = [
    Row(ApiKey.METADATA, 12, {"topics": [{"name": "t"}]}, [NO_TOPIC], [t("DESCRIBE")]),
    Row(ApiKey.METADATA, 12, {"topics": None}, [], [t("DESCRIBE")], "topics"),
    Row(
        ApiKey.METADATA,
        12,
        {"topics": [{"name": "new"}], "allow_auto_topic_creation": True},
        [NO_TOPIC],
        [
            t("DESCRIBE", "CREATE", name="new"),
            t("DESCRIBE", name="new") + c("CREATE"),
        ],
    ),
    Row(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        0,
        {"topics": [{"name": "t"}]},
        [NO_TOPIC],
        [t("DESCRIBE")],
    ),
    Row(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        0,
        {"topics": []},
        [],
        [t("DESCRIBE")],
        "topics",
    ),
    Row(
        ApiKey.CREATE_TOPICS,
        7,
        {"topics": [CREATED], "validate_only": True, **PATIENT},
        [NO_TOPIC],
        [
            t("CREATE", "DESCRIBE_CONFIGS", name="made"),
            t("DESCRIBE_CONFIGS", name="made") + c("CREATE"),
        ],
    ),
    Row(
        ApiKey.CREATE_PARTITIONS,
        3,
        {"topics": [{"name": "t", "count": 2}], "validate_only": True, **PATIENT},
        [NO_TOPIC],
        [t("ALTER")],
    ),
    Row(
        ApiKey.DELETE_TOPICS,
        6,
        {"topics": [{"name": "gone"}], **PATIENT},
        [NO_TOPIC],
        [t("DELETE", name="gone"), c("DELETE")],
    ),
]

GROUPS = [
    of_group(ApiKey.JOIN_GROUP, 9, session_timeout_ms=10_000, protocol_type="consumer"),
    of_group(
        ApiKey.SYNC_GROUP,
        5,
        member_id="m",
        protocol_type="consumer",
        protocol_name="range",
    ),
    of_group(ApiKey.HEARTBEAT, 4, member_id="m"),
    of_group(ApiKey.LEAVE_GROUP, 5),
    of_group(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, member_id="m"),
    of_group(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, member_id="m"),
    Row(
        ApiKey.STREAMS_GROUP_DESCRIBE,
        0,
        {"group_ids": ["g"]},
        [NO_GROUP],
        [g("DESCRIBE")],
    ),
    of_group(ApiKey.SHARE_FETCH, 2, member_id="m", share_session_epoch=0),
    of_group(ApiKey.SHARE_ACKNOWLEDGE, 2, member_id="m", share_session_epoch=1),
    Row(
        ApiKey.OFFSET_COMMIT,
        9,
        committing(),
        [NO_GROUP],
        [g("READ") + t("READ")],
    ),
    Row(
        ApiKey.TXN_OFFSET_COMMIT,
        4,
        committing(transactional_id="x", producer_id=9),
        [NO_TXN_ID],
        [x("WRITE") + g("READ") + t("READ")],
    ),
    Row(
        ApiKey.OFFSET_FETCH,
        9,
        {"groups": [{"group_id": "g", "topics": NUMBERS}]},
        [NO_GROUP],
        [g("DESCRIBE") + t("DESCRIBE")],
    ),
    Row(
        ApiKey.OFFSET_FETCH,
        5,
        {"group_id": "g", "topics": NUMBERS},
        [NO_GROUP],
        [g("DESCRIBE") + t("DESCRIBE")],
    ),
    Row(
        ApiKey.FIND_COORDINATOR,
        4,
        {"key_type": 0, "coordinator_keys": ["g"]},
        [NO_GROUP],
        [g("DESCRIBE")],
    ),
    Row(
        ApiKey.FIND_COORDINATOR,
        2,
        {"key_type": 1, "key": "x"},
        [NO_TXN_ID],
        [x("DESCRIBE")],
    ),
    Row(ApiKey.DESCRIBE_GROUPS, 5, {"groups": ["g"]}, [NO_GROUP], [g("DESCRIBE")]),
    # ConsumerGroupDescribe
    Row(ApiKey(69), 1, {"group_ids": ["g"]}, [NO_GROUP], [g("DESCRIBE")]),
    Row(ApiKey.LIST_GROUPS, 4, {}, [], [g("DESCRIBE"), c("DESCRIBE")], "groups"),
    Row(
        ApiKey.OFFSET_DELETE,
        0,
        {"group_id": "g", "topics": PARTITIONS},
        [NO_GROUP],
        [g("DELETE") + t("READ")],
    ),
    Row(ApiKey.DELETE_GROUPS, 2, {"groups_names": ["g"]}, [NO_GROUP], [g("DELETE")]),
]

TRANSACTIONS = [
    Row(
        ApiKey.INIT_PRODUCER_ID,
        5,
        {"transactional_id": "x", "transaction_timeout_ms": 1000, "producer_id": -1}
        | {"producer_epoch": -1},
        [NO_TXN_ID],
        [x("WRITE")],
    ),
    Row(
        ApiKey.INIT_PRODUCER_ID,
        5,
        {"transactional_id": None, "producer_id": -1, "producer_epoch": -1},
        [NO_CLUSTER],
        [c("IDEMPOTENT_WRITE"), t("WRITE")],
    ),
    Row(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        3,
        {
            "v3_and_below_transactional_id": "x",
            "v3_and_below_topics": [{"name": "t", "partitions": [0]}],
        },
        [NO_TXN_ID],
        [x("WRITE") + t("WRITE")],
    ),
    Row(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        5,
        {"transactions": [{"transactional_id": "x", "topics": []}]},
        [NO_CLUSTER],
        [c("CLUSTER_ACTION")],
    ),
    Row(
        ApiKey.ADD_OFFSETS_TO_TXN,
        3,
        {"transactional_id": "x", "group_id": "g"},
        [NO_TXN_ID],
        [x("WRITE") + g("READ")],
    ),
    Row(ApiKey.END_TXN, 3, {"transactional_id": "x"}, [NO_TXN_ID], [x("WRITE")]),
    of_cluster(
        ApiKey.WRITE_TXN_MARKERS, 1, {"markers": [MARKER]}, "ALTER", "CLUSTER_ACTION"
    ),
    Row(
        ApiKey.DESCRIBE_TRANSACTIONS,
        0,
        {"transactional_ids": ["x"]},
        [NO_TXN_ID],
        [x("DESCRIBE")],
    ),
    Row(
        ApiKey.LIST_TRANSACTIONS,
        1,
        {"duration_filter": -1},
        [],
        [x("DESCRIBE")],
        "transaction_states",
    ),
]

CLUSTERS = [
    of_cluster(ApiKey.UNREGISTER_BROKER, 0, {"broker_id": 7}, "ALTER"),
    of_cluster(ApiKey.DESCRIBE_QUORUM, 2, {}, "DESCRIBE"),
    of_cluster(ApiKey.ADD_RAFT_VOTER, 1, {}, "ALTER"),
    of_cluster(ApiKey.REMOVE_RAFT_VOTER, 0, {}, "ALTER"),
    of_cluster(ApiKey.DESCRIBE_LOG_DIRS, 4, {"topics": None}, "DESCRIBE"),
    of_cluster(
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        2,
        {"dirs": [{"path": "/", "topics": [{"name": "t", "partitions": [0]}]}]},
        "ALTER",
    ),
    of_cluster(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, {"topics": []}, "ALTER"),
    of_cluster(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, {"topics": None}, "DESCRIBE"),
    Row(
        ApiKey.ELECT_LEADERS,
        2,
        {"topic_partitions": [{"topic": "t", "partitions": [0]}], **PATIENT},
        [NO_CLUSTER, NO_CLUSTER],
        [c("ALTER")],
    ),
    of_cluster(ApiKey.UPDATE_FEATURES, 1, {"validate_only": True}, "ALTER"),
    of_cluster(ApiKey.DESCRIBE_CLIENT_QUOTAS, 1, {}, "DESCRIBE_CONFIGS"),
    of_cluster(ApiKey.ALTER_CLIENT_QUOTAS, 1, {"entries": QUOTA}, "ALTER_CONFIGS"),
    of_cluster(ApiKey.LIST_CONFIG_RESOURCES, 1, {}, "DESCRIBE_CONFIGS"),
    of_cluster(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": None}, "DESCRIBE"),
    of_cluster(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        0,
        {"deletions": [{"name": "nobody", "mechanism": 1}]},
        "ALTER",
    ),
    of_cluster(ApiKey.DESCRIBE_ACLS, 3, NO_ACLS, "DESCRIBE"),
    of_cluster(ApiKey.CREATE_ACLS, 3, {"creations": [NEW_ACL]}, "ALTER"),
    of_cluster(ApiKey.DELETE_ACLS, 3, {"filters": [NO_ACLS]}, "ALTER"),
    *options(ApiKey.DESCRIBE_CONFIGS, 4, "DESCRIBE_CONFIGS"),
    *options(ApiKey.ALTER_CONFIGS, 2, "ALTER_CONFIGS", validate_only=True),
    *options(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, "ALTER_CONFIGS", validate_only=True),
]

ROWS = [*RECORDS, *TOPICS, *GROUPS, *SHARE_GROUPS, *TRANSACTIONS, *CLUSTERS]
