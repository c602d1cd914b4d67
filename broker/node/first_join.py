"""What the first start of a broker of a cluster asks, before it writes anything.

Directories keep the ids of their cluster and their node for good. So who has typed one
of another cluster, or that of a controller, can mend it and start again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.adoption.check import has_catalog, with_known_identity
from odradek.broker.cluster.features import why_not_in
from odradek.broker.cluster.images.metadata_log import MetadataLog
from odradek.broker.config.cluster_options import cluster_options
from odradek.broker.runtime.start_error import StartError
from odradek.client.address import Address
from odradek.storage.files.files import OsFiles

from .connecting import connecting_to_controllers

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig


async def see_that_it_fits(config: BrokerConfig) -> None:
    """Return if the controllers are those of the cluster, and may have this broker.

    Raises:
        StartError: they are not, or may not; or nobody can be asked.
    """
    files = OsFiles()
    if has_catalog(config, files):
        return
    config = with_known_identity(config, files)
    assert config.cluster_id is not None
    options = cluster_options(config)
    log = MetadataLog(
        [Address(each.host, each.port) for each in options.controllers],
        config.cluster_id,
        connecting_to_controllers(config, options),
    )
    try:
        await log.catch_up(options.registration_timeout_ms)
    finally:
        log.close()
    asked = log.leader or log.controllers[0]
    why_not = why_not_in(log.newest.image, config.node_id, str(asked))
    if why_not is not None:
        raise StartError(why_not)
