from pathlib import Path

import pytest

from broker.metadata.catalog import Catalog
from broker.metadata.features import (
    SUPPORTED,
    TRANSACTION_VERSION,
    UPGRADE,
    Features,
)
from broker.metadata.resource_options import ResourceOptions
from protocol.errors import InvalidUpdateVersion


async def test_a_changed_level_is_kept(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    features = Features(ResourceOptions(catalog), 1)
    assert (features.level_of(TRANSACTION_VERSION), features.epoch) == (1, 0)
    await features.update({TRANSACTION_VERSION: 2})
    await catalog.close()
    catalog = Catalog.open(tmp_path)
    again = Features(ResourceOptions(catalog), 0)
    assert (again.level_of(TRANSACTION_VERSION), again.epoch) == (2, 1)
    await catalog.close()


async def test_levels_have_bounds(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    features = Features(ResourceOptions(catalog), 0)
    for name, level_max in SUPPORTED:
        features.check(name, level_max, UPGRADE)
        with pytest.raises(InvalidUpdateVersion, match="only supports versions 0-"):
            features.check(name, level_max + 1, UPGRADE)
    await catalog.close()
