"""The handlers of all APIs: one module per family, registered where they are written.

A new module is named here, or nobody will find it; then `make docs` notes in `offered`
which APIs it answers. So ApiVersions is answered, and a request finds its handler,
before the others are loaded: the usual ones soon after the start (`late_modules`), the
rest when they are first asked for.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from odradek.broker.requests.offered import OFFERED
from odradek.broker.requests.registry import Handler, registered_handlers

MODULES: Final = (
    "cluster.api_versions",
    "cluster.cluster",
    "cluster.elections",
    "cluster.log_dirs",
    "cluster.quorum",
    "cluster.reassignments",
    "groups.classic_groups",
    "groups.consumer_groups",
    "groups.find_coordinator",
    "groups.group_admin",
    "groups.offset_commit",
    "groups.usual_commit",
    "groups.offset_fetch",
    "groups.share_groups",
    "groups.share_offsets",
    "groups.share_state",
    "groups.streams_groups",
    "groups.txn_offset_commit",
    "options.alter_configs",
    "options.client_quotas",
    "options.config_resources",
    "options.describe_configs",
    "options.features",
    "options.telemetry",
    "records.delete_records",
    "records.describe_producers",
    "records.fetch",
    "records.list_offsets",
    "records.offset_for_leader_epoch",
    "records.produce",
    "records.usual_fetch",
    "records.usual_produce",
    "security.acls",
    "security.delegation_tokens",
    "security.sasl",
    "security.scram",
    "share.share_acknowledge",
    "share.share_fetch",
    "topics.create_topics",
    "topics.delete_topics",
    "topics.describe_topic_partitions",
    "topics.metadata",
    "transactions.init_producer_id",
    "transactions.transactions",
    "transactions.txn_admin",
    "transactions.usual_addition",
    "transactions.usual_ending",
    "transactions.write_txn_markers",
)


def load() -> None:
    """Import every handler module, so that its handlers are registered."""
    for name in MODULES:
        import_module(f".{name}", __name__)


class OfferedHandlers(Mapping[int, Handler]):
    """The handlers by API key; asking for one loads its modules."""

    def __getitem__(self, api_key: int) -> Handler:
        """The handler of an API.

        Raises:
            KeyError: it is not offered.
        """
        for name in OFFERED[api_key].modules:
            import_module(f".{name}", __name__)
        return registered_handlers()[api_key]

    def __iter__(self) -> Iterator[int]:
        """The API keys."""
        return iter(OFFERED)

    def __len__(self) -> int:
        """How many APIs there are."""
        return len(OFFERED)
