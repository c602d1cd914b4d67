from pathlib import Path

import pytest

from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.features import (
    METADATA_LEVEL,
    METADATA_LEVEL_MIN,
    METADATA_VERSION,
    SAFE_DOWNGRADE,
    SUPPORTED,
    TRANSACTION_VERSION,
    UNSAFE_DOWNGRADE,
    UPGRADE,
    Features,
)
from odradek.broker.metadata.resource_options import ResourceOptions
from odradek.protocol.errors import InvalidUpdateVersion


async def test_a_changed_level_is_kept(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    features = Features(ResourceOptions(catalog), 1)
    assert (features.level_of(TRANSACTION_VERSION), features.epoch) == (1, 0)
    before = features.told
    assert before[1] == tuple(features.level_of(name) for name, _, _ in SUPPORTED)
    await features.update({TRANSACTION_VERSION: 2})
    assert features.told != before
    levels = tuple(features.level_of(name) for name, _, _ in SUPPORTED)
    assert features.told == (features.epoch, levels)
    await catalog.close()
    catalog = Catalog.open(tmp_path)
    again = Features(ResourceOptions(catalog), 0)
    assert (again.level_of(TRANSACTION_VERSION), again.epoch) == (2, 1)
    await catalog.close()


async def test_levels_have_bounds(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    features = Features(ResourceOptions(catalog), 0)
    for name, level_min, level_max in SUPPORTED:
        features.check(name, level_max, UPGRADE)
        bounds = f"only supports versions {level_min}-{level_max}"
        with pytest.raises(InvalidUpdateVersion, match=bounds):
            features.check(name, level_max + 1, UPGRADE)
        if level_min:
            with pytest.raises(InvalidUpdateVersion, match=bounds):
                features.check(name, level_min - 1, UNSAFE_DOWNGRADE)
    await catalog.close()


async def test_the_version_of_the_metadata_stays(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    features = Features(ResourceOptions(catalog), 0)
    assert features.level_of(METADATA_VERSION) == METADATA_LEVEL
    for kind in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        features.check(METADATA_VERSION, METADATA_LEVEL, kind)
        why = "needs a safe" if kind == UPGRADE else "no metadata log"
        for level in (METADATA_LEVEL_MIN, METADATA_LEVEL - 1):
            with pytest.raises(InvalidUpdateVersion, match=why):
                features.check(METADATA_VERSION, level, kind)
    await features.update({METADATA_VERSION: METADATA_LEVEL})
    assert features.epoch == 0, "nothing has changed"
    await catalog.close()
