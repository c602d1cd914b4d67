from pathlib import Path

from odradek.broker.config.options.access import read_principals
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.node.authorizing import authorizer_of
from odradek.protocol.acls import Operation
from tests.fakes.access import TOPIC
from tests.fakes.clock import FakeClock


async def test_it_decides_as_the_options_want_it(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    config = BrokerConfig(
        authorizer_class_name="acl", super_users=read_principals("User:root")
    )
    authorizer = authorizer_of(config, catalog, FakeClock())
    assert authorizer.access_of("User:root", "h").is_super_user
    assert not authorizer.access_of("User:a", "h").may(Operation.READ, TOPIC, "a")
    await catalog.close()
