"""The handlers of all APIs: one module per family, registered where they are written.

``load`` imports them. A new module is named here, or nobody will find it.
"""

from importlib import import_module
from typing import Final

MODULES: Final = (
    "acls",
    "alter_configs",
    "api_versions",
    "client_quotas",
    "cluster",
    "config_resources",
    "configs",
    "delegation_tokens",
    "delete_records",
    "delete_topics",
    "describe_producers",
    "describe_topic_partitions",
    "elections",
    "features",
    "fetch",
    "find_coordinator",
    "group_admin",
    "groups",
    "init_producer_id",
    "list_offsets",
    "log_dirs",
    "metadata",
    "offset_fetch",
    "offset_for_leader_epoch",
    "offsets",
    "produce",
    "quorum",
    "reassignments",
    "scram",
    "telemetry",
    "topics",
    "transactions",
    "txn_admin",
    "txn_offset_commit",
    "usual_fetch",
    "usual_produce",
    "write_txn_markers",
)


def load() -> None:
    """Import every handler module, so that its handlers are registered."""
    for name in MODULES:
        import_module(f".{name}", __name__)
