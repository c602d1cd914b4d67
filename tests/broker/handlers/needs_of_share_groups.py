"""What the APIs of share groups (KIP-932) need: part of Kafka's table."""

from odradek.protocol.api_keys import ApiKey

from .needed_rows import NO_GROUP, Row, g, of_cluster, of_group, t

OF_BROKERS = {
    "group_id": "g",
    "topics": [{"topic_id": bytes(16), "partitions": [{"partition": 0}]}],
}

PLACES = [{"topic_name": "t", "partitions": [{"partition_index": 0}]}]
ASKED = [{"group_id": "g", "topics": [{"topic_name": "t", "partitions": [0]}]}]

_OF_BROKERS = [
    of_cluster(api, 0, OF_BROKERS, "CLUSTER_ACTION")
    for api in (
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE,
        ApiKey.WRITE_SHARE_GROUP_STATE,
        ApiKey.DELETE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    )
]

SHARE_GROUPS = [
    of_group(ApiKey.SHARE_GROUP_HEARTBEAT, 1, member_id="m"),
    Row(
        ApiKey.SHARE_GROUP_DESCRIBE,
        1,
        {"group_ids": ["g"]},
        [NO_GROUP],
        [g("DESCRIBE")],
    ),
    Row(
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        1,
        {"groups": ASKED},
        [NO_GROUP],
        [g("DESCRIBE") + t("DESCRIBE")],
    ),
    Row(
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        0,
        {"group_id": "g", "topics": PLACES},
        [NO_GROUP],
        [g("READ") + t("READ")],
    ),
    Row(
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
        0,
        {"group_id": "g", "topics": [{"topic_name": "t"}]},
        [NO_GROUP],
        [g("DELETE") + t("READ")],
    ),
    *_OF_BROKERS,
]
