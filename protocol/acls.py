"""What access control lists are about: operations, and types of resources.

The numbers are those of the wire, the names those of Kafka's tools. Every API names
them; the entries themselves (`acl_entries`) are for brokers that have some.
"""

from __future__ import annotations

from enum import IntEnum

CLUSTER_NAME = "kafka-cluster"


class Operation(IntEnum):
    """What can be done; each is a bit in the fields of KIP-430."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class ResourceType(IntEnum):
    """What it can be done to."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7
