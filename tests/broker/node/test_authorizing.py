from pathlib import Path
from types import SimpleNamespace
from typing import Any

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.security.access import read_principals
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.node.authorizing import add_what_is_wanted, authorizer_of
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


async def test_tokens_are_there_with_a_secret_and_no_authorizer(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    for secret in ("hush", None):
        config = BrokerConfig(delegation_token_secret_key=secret)
        services: Any = SimpleNamespace(config=config, clock=FakeClock())
        add_what_is_wanted(services, catalog)
        assert hasattr(services, "tokens") == (secret is not None)
        assert not hasattr(services, "authorizer")
    await catalog.close()
