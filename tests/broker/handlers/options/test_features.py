from pathlib import Path

import pytest

from odradek.protocol.errors import InvalidUpdateVersion
from odradek.protocol.messages.features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.fakes.topics import topic_broker

NAME = "transaction.version"


def to(
    level: int, kind: int = 1, name: str = NAME, *, validate_only: bool = False
) -> UpdateFeaturesRequest:
    update = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
    return UpdateFeaturesRequest(feature_updates=[update], validate_only=validate_only)


async def test_a_level_goes_up_and_down(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        features = broker.services.features
        assert (features.level_of(NAME), features.epoch) == (2, 0)
        await broker.ask(to(1, 2, validate_only=True), 2)
        assert features.level_of(NAME) == 2
        answer = await broker.ask(to(1, 2), 1)
        assert [each.feature for each in answer.results] == [NAME]
        assert (features.level_of(NAME), features.epoch) == (1, 1)
        answer = await broker.ask(to(2), 2)
        assert answer.results == []
        assert (features.level_of(NAME), features.epoch) == (2, 2)
        await broker.ask(to(2), 2)  # changes nothing
        assert features.epoch == 2
    async with topic_broker(tmp_path, transaction_version=0) as broker:
        assert broker.services.features.level_of(NAME) == 2


@pytest.mark.parametrize(
    "request_",
    [to(3), to(-1), to(1), to(2, 9), to(1, name="nope")],
    ids=["too high", "negative", "down without saying so", "an odd type", "unknown"],
)
async def test_what_cannot_be_is_refused(
    tmp_path: Path, request_: UpdateFeaturesRequest
) -> None:
    async with topic_broker(tmp_path) as broker:
        with pytest.raises(InvalidUpdateVersion, match="failed for all features"):
            await broker.ask(request_, 2)


async def test_the_oldest_version_says_downgrade_otherwise(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        update = FeatureUpdateKey(feature=NAME, max_version_level=0)
        request = UpdateFeaturesRequest(feature_updates=[update])
        with pytest.raises(InvalidUpdateVersion):
            await broker.ask(request, 0)
        update.allow_downgrade = True
        await broker.ask(request, 0)
        assert broker.services.features.level_of(NAME) == 0
