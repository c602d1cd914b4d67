"""The handlers of all APIs: one module per family, registered where they are written.

A new module is named here, or nobody will find it; then `make docs` notes in `offered`
which APIs it answers. So ApiVersions is answered, and a request finds its handler,
before the others are loaded: the usual ones soon after the start (`late_modules`), the
rest when they are first asked for.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from .offered import OFFERED
from .registry import Handler, registered_handlers

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
