"""The tables of the catalogue, version by version."""

from .checksums import (
    add_acl_checksums,
    add_checksums,
    add_resource_checksums,
    add_token_checksums,
)

# One script a version; a catalogue of version n runs those from n on.
SCHEMA = (
    """
    CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE topics (
        topic_id BLOB PRIMARY KEY,
        name TEXT NOT NULL,
        partition_count INTEGER NOT NULL,
        leader_epoch INTEGER NOT NULL DEFAULT 0,
        is_deleting INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX live_names ON topics (name) WHERE is_deleting = 0;
    CREATE TABLE topic_options (
        topic_id BLOB NOT NULL REFERENCES topics ON DELETE CASCADE,
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (topic_id, name)
    ) WITHOUT ROWID;
    CREATE TABLE partitions (
        topic_id BLOB NOT NULL REFERENCES topics ON DELETE CASCADE,
        partition INTEGER NOT NULL,
        leader_epoch INTEGER NOT NULL,
        log_dir TEXT,
        written INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (topic_id, partition)
    ) WITHOUT ROWID;
    INSERT INTO facts VALUES ('next_producer_id', 0);
    """,
    add_checksums(),
    f"""
    CREATE TABLE resource_options (
        kind TEXT NOT NULL,
        resource TEXT NOT NULL,
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (kind, resource, name)
    ) WITHOUT ROWID;
    {add_resource_checksums()}
    """,
    f"""
    CREATE TABLE acls (
        resource_type INTEGER NOT NULL,
        resource_name TEXT NOT NULL,
        pattern_type INTEGER NOT NULL,
        principal TEXT NOT NULL,
        host TEXT NOT NULL,
        operation INTEGER NOT NULL,
        permission INTEGER NOT NULL,
        PRIMARY KEY (
            resource_type, resource_name, pattern_type,
            principal, host, operation, permission
        )
    ) WITHOUT ROWID;
    {add_acl_checksums()}
    """,
    f"""
    CREATE TABLE tokens (
        token_id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        requester TEXT NOT NULL,
        renewers TEXT NOT NULL,
        issue_ms INTEGER NOT NULL,
        expiry_ms INTEGER NOT NULL,
        max_ms INTEGER NOT NULL
    ) WITHOUT ROWID;
    {add_token_checksums()}
    """,
)
