"""The tables of docs/metrics.md, made of what a broker tells Prometheus itself.

Names, kinds and meanings are those of the families that a running broker gathers. The
words between the tables, their order and the labels are the page's own: a family that
has no sample yet shows no labels.
"""

import asyncio
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import HostPort, Listener
from odradek.broker.node.server import Server
from odradek.broker.operate.metrics.broker_families import broker_families
from odradek.broker.operate.metrics.exposition import Family
from odradek.broker.operate.metrics.group_families import group_families
from odradek.broker.operate.metrics.mirror_families import mirror_families
from odradek.broker.operate.metrics.partition_families import PartitionFamilies
from odradek.broker.operate.metrics.share_families import share_families

PAGE = Path(__file__).parent / "metrics.md"
ROW = re.compile(r"\| `(\w+)` \| \w+ \| ([^|]*) \|")
# Told on Linux alone.
OF_THE_SYSTEM = "process_"


def page_with_tables() -> Iterator[str]:
    """The lines of the page; those of the tables are as the families are now.

    Raises:
        ValueError: a family is in no table.
    """
    families = {family.name: family for family in asyncio.run(gathered())}
    shown = set()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        row = ROW.match(line)
        if row is None:
            yield line
        elif family := families.get(row[1]):
            shown.add(row[1])
            yield f"| `{family.name}` | {family.kind} | {row[2]} | {family.meaning} |"
        elif row[1].startswith(OF_THE_SYSTEM):
            yield line
    if missing := sorted(families.keys() - shown):
        raise ValueError(f"in no table of {PAGE.name}: {', '.join(missing)}")


async def gathered() -> list[Family]:
    """All families of a broker that has just started."""
    with tempfile.TemporaryDirectory() as folder:
        local = Listener("PLAINTEXT", "127.0.0.1", 0)
        config = BrokerConfig(
            log_dirs=(Path(folder),),
            listeners=(local,),
            http_listener=HostPort("127.0.0.1", 0),
            log_min_free_bytes=0,
        )
        server = Server(config)
        await server.start()
        try:
            sources = server._metric_sources
            assert sources is not None
            assert sources.cleaning is not None
            found = list(broker_families(sources))
            found += PartitionFamilies(sources.services)
            found += share_families(sources.services)
            found += mirror_families(sources.services)
            for some in group_families(sources.services):
                found += some
        finally:
            await server.stop()
    return found
